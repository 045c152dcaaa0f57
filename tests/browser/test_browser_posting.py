"""What people post: pictures and HTML of the tokens, links that name their tokenizer, copying without a clipboard."""

import re
import xml.etree.ElementTree as ET

from playground_page import copied, ids, set_text

from tokenmill.tokenizer import Tokenizer

SVG = "{http://www.w3.org/2000/svg}"


def test_the_tokens_are_copied_as_svg_html_and_png(open_page, local):
    page = open_page(local.address)
    set_text(page, "newest <b>& ]]>\x01 lower\nlow" + 12 * "\nnewest")  # a little more than the window shows
    shown = page.locator("#tokens .t").all_text_contents()
    picture = ET.fromstring(copied(page, "#copy-svg"))
    texts = [one.text for one in picture.iter(f"{SVG}text")]
    assert "".join(texts).replace(" ", "") == re.sub("[ \n]", "", "".join(shown)) and "⟨SOH⟩" in shown
    assert len(list(picture.iter(f"{SVG}rect"))) > sum(text != "\n" for text in shown)
    html = copied(page, "#copy-html")
    assert html.startswith("<pre ") and "&lt;" in html and html.count("<span") == len(shown)
    page.evaluate("""() => { navigator.clipboard.write = async ([item]) => {
        const image = await createImageBitmap(await item.getType("image/png"));
        window.size = [image.width, image.height]; }; }""")
    page.click("#copy-png")
    page.wait_for_function("() => window.size")
    width, height = page.evaluate("size")
    assert width > 400 and height > 60


def test_without_a_clipboard_text_is_copied_all_the_same(open_page, local):
    page = open_page(local.address)
    set_text(page, "newest lower")
    page.evaluate("""() => {
        Object.defineProperty(navigator, "clipboard", {value: undefined});
        document.addEventListener("copy", (event) => { window.last = event.clipboardData.getData("text/plain"); });
        document.execCommand = () => {
            const event = new ClipboardEvent("copy", {clipboardData: new DataTransfer(), bubbles: true, cancelable: true});
            event.stopImmediatePropagation = () => {};
            return !document.dispatchEvent(event); }; }""")
    page.click("#copy-text")
    page.wait_for_selector("#copy-text:text('Copied')")
    assert page.evaluate("last") == "newest lower"


def test_a_link_that_needs_another_tokenizer_says_so(open_page, local):
    page = open_page(local.address)
    link = copied(page, "#link")
    digits = re.search(r"fingerprint=([0-9a-f]{12})", link)[1]
    assert digits in page.inner_text("#about")
    other = open_page(local.address, "#" + link.split("#")[1].replace(digits, "0123456789ab"))
    other.wait_for_selector("#link-note:visible")
    assert "another ranks (fingerprint 0123456789ab)" in other.inner_text("#link-note")
    missing = open_page(local.address, "#view=tokens&tokenizer=mine%2315&with=mine%2315&text=")
    missing.wait_for_selector("#link-note:visible")
    assert "made with mine, which this page does not have" in missing.inner_text("#link-note")


def test_a_link_that_compares_another_tokenizer_says_so(open_page, local):
    page = open_page(local.address)
    page.click("#tab-compare")
    page.wait_for_selector(".line")
    link = copied(page, "#link").split("#")[1]
    (given,) = re.findall("fingerprints=([^&]*)", link)
    digits = given.split("%2C")
    assert [len(each) for each in digits] == [12] * 4
    page = open_page(local.address, "#" + link.replace(digits[1], "0123456789ab"))
    page.wait_for_selector("#link-note:visible")
    assert "another merges (fingerprint 0123456789ab)" in page.inner_text("#link-note")


def test_a_link_that_was_cut_off_says_so(open_page, local):
    page = open_page(local.address)
    set_text(page, "The text of a link, which a program for messages cut off. " * 4)
    link = re.sub(r"&set\..*", "", copied(page, "#link"))
    page = open_page(local.address, "#" + link.split("#")[1][:-20])
    page.wait_for_selector("#link-note:visible")
    assert "is damaged or cut off" in page.inner_text("#link-note")


def test_an_export_as_one_file_opens_as_a_file(open_page, small_tokenizers, tmp_path):
    from tokenmill.playground.export import export

    sizes = export(small_tokenizers[:2], tmp_path / "page.html")
    assert sizes == {"page.html": (tmp_path / "page.html").stat().st_size}
    page = open_page((tmp_path / "page.html").as_uri())
    set_text(page, "newest lower")
    assert ids(page) == Tokenizer(small_tokenizers[0][1]).encode_ordinary("newest lower")
    page.select_option("#tokenizer", "merges")
    page.click("#tab-compare")
    page.wait_for_selector(".line")
    assert page.is_hidden("#message")
