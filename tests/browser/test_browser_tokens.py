"""The Tokens view in a real browser: typing, pasting, long texts, the keyboard, links, and nothing ever as HTML."""

import json
import re

import pytest
from playground_examples import TEXT

from tokenmill.tokenizer import Tokenizer

NAMES = ["ranks", "merges", "picky"]


@pytest.fixture(scope="module")
def toks(small_tokenizers):
    return {name: Tokenizer(vocabulary) for name, vocabulary in small_tokenizers}


def tokens(page):
    return page.locator("#tokens .t").all_text_contents()


def number(page, name):
    return int(page.inner_text(f"#count-{name}").replace(",", ""))


def set_text(page, text):
    page.fill("#text", text)
    size = len(text.encode())
    page.wait_for_function(
        "n => document.getElementById('count-bytes').textContent.replaceAll(',', '') == n", arg=str(size)
    )


def ids(page):
    """What "Copy ids" puts on the clipboard."""
    page.evaluate("() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; }")
    page.click("#copy-ids")
    page.wait_for_function("() => window.copied !== undefined")
    return json.loads(page.evaluate("() => { const c = copied; window.copied = undefined; return c; }"))


def test_tokens_follow_as_you_type(open_page, local, toks):
    page = open_page(local.address)
    page.fill("#text", "")
    page.type("#text", "low lower lowest")
    page.wait_for_function("() => document.getElementById('count-bytes').textContent === '16'")
    expected = toks["ranks"].encode_ordinary("low lower lowest")
    assert tokens(page) == [toks["ranks"].decode([id]) for id in expected]
    assert ids(page) == expected
    assert number(page, "tokens") == len(expected)
    assert number(page, "characters") == 16
    assert page.inner_text("#count-ratio") == f"{16 / len(expected):.2f}"
    page.press("#text", "Backspace")
    page.wait_for_function("() => document.getElementById('count-bytes').textContent === '15'")
    assert ids(page) == toks["ranks"].encode_ordinary("low lower lowes")


def test_each_tokenizer_and_the_copy_buttons(open_page, local, toks):
    page = open_page(local.address)
    text = TEXT.replace("\r\n", "\n")  # a text box has line feeds only
    set_text(page, text)
    for name in NAMES:
        page.select_option("#tokenizer", name)
        expected = toks[name].encode_ordinary(text)
        page.wait_for_function(
            "n => document.getElementById('count-tokens').textContent.replaceAll(',', '') == n", arg=str(len(expected))
        )
        assert ids(page) == expected
    page.evaluate("() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; }")
    set_text(page, 'é "x"\n日')
    page.click("#copy-tokens")
    page.wait_for_function("() => window.copied !== undefined")
    copied = page.evaluate("copied")
    parts = [toks["picky"].decode_bytes([id]) for id in toks["picky"].encode_ordinary('é "x"\n日')]
    for part in parts:
        try:
            assert json.dumps(part.decode(), ensure_ascii=False) in copied
        except UnicodeDecodeError:
            assert "".join(f"\\x{byte:02X}" for byte in part) in copied


def test_special_tokens_are_text_unless_the_switch_says_otherwise(open_page, local, toks):
    page = open_page(local.address)
    text = "low<|endoftext|>low"
    set_text(page, text)
    assert ids(page) == toks["ranks"].encode_ordinary(text)
    page.check("#special")
    page.wait_for_selector("#tokens .added")
    assert ids(page) == toks["ranks"].encode(text, allowed_special="all")
    page.uncheck("#special")
    page.wait_for_selector("#tokens .added", state="detached")


def test_white_space_and_control_characters_show_on_demand(open_page, local):
    page = open_page(local.address)
    set_text(page, "a b\tc\n\u0001\u00a0\u200b\u202e")
    assert "·" not in "".join(tokens(page))
    page.check("#visible")
    page.wait_for_function("() => document.getElementById('tokens').textContent.includes('·')")
    shown = "".join(tokens(page))
    assert shown.startswith("a·b⇥c⏎\n␁")
    page.check("#as-ids")
    page.wait_for_selector("#tokens .id")
    assert "".join(tokens(page)).strip()[0].isdigit()


def test_hover_and_focus_tell_id_bytes_and_pretoken(open_page, local, toks):
    page = open_page(local.address)
    set_text(page, "newest é日 lower")
    page.hover("#tokens .t >> nth=0")
    detail = page.inner_text("#detail")
    first = toks["ranks"].encode_ordinary("newest é日 lower")[0]
    assert str(first) in detail
    assert toks["ranks"].decode_bytes([first]).hex(" ").upper() in detail
    page.focus("#tokens")
    page.keyboard.press("End")
    last = toks["ranks"].encode_ordinary("newest é日 lower")[-1]
    assert str(last) in page.inner_text("#detail")
    active = page.get_attribute("#tokens", "aria-activedescendant")
    assert f"id {last}" in page.get_attribute(f"#{active}", "aria-label")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert "token 2 of" in page.inner_text("#detail")
    page.keyboard.press("ArrowDown")
    place = re.search(r"token (\d+) of", page.inner_text("#detail"))[1]
    assert int(place) > 2
    page.keyboard.press("Enter")  # finds it in the text
    selected = page.evaluate(
        "() => { const b = document.getElementById('text'); return b.value.slice(b.selectionStart, b.selectionEnd); }"
    )
    assert selected and page.evaluate("() => document.activeElement.id") == "text"


def test_tokens_inside_a_character_show_their_bytes(open_page, local, toks):
    page = open_page(local.address)
    set_text(page, "👍🏿")
    parts = toks["ranks"].decode_tokens_bytes(toks["ranks"].encode_ordinary("👍🏿"))
    assert len(parts) > 1
    assert "".join(tokens(page)).replace(" ", "") == "👍🏿".encode().hex().upper() or "👍" in tokens(page)
    for i, part in enumerate(parts):
        page.hover(f"#tokens .t >> nth={i}")
        assert part.hex(" ").upper() in page.inner_text("#detail")


def test_a_megabyte_is_pasted_and_edited(open_page, local, toks, tmp_path):
    page = open_page(local.address)
    line = "The quick brown fox, 日本 and naïve café 12345\tlow lower lowest. "
    text = "".join(f"{i} {line}\n" if i % 3 else f"{i} {line}" for i in range(14_000))
    assert len(text.encode()) > 1_000_000
    page.fill("#text", "")
    page.evaluate(
        """text => {
          const data = new DataTransfer();
          data.setData("text/plain", text);
          const box = document.getElementById("text");
          box.focus();
          box.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
        }""",
        text,
    )
    size = len(text.encode())
    page.wait_for_function(
        "n => document.getElementById('count-bytes').textContent.replaceAll(',', '') == n", arg=str(size)
    )
    assert number(page, "tokens") > 100_000
    assert page.locator("#tokens .t").count() < 5000  # only what is near the window is drawn
    assert page.locator("#text").evaluate("box => box.value.length") < 100_000
    assert page.is_visible("#parts")
    page.evaluate("() => { document.getElementById('tokens').scrollTop = 1e9; }")
    page.wait_for_function("() => document.getElementById('tokens').textContent.includes('13999')")
    # The box holds the end of the text now. Type there, then at the very beginning.
    page.focus("#text")
    page.keyboard.press("Control+End")
    page.keyboard.type("END")
    page.wait_for_function(
        "n => document.getElementById('count-bytes').textContent.replaceAll(',', '') == n", arg=str(size + 3)
    )
    page.keyboard.press("Control+Home")
    page.keyboard.type("NEW ")
    page.wait_for_function(
        "n => document.getElementById('count-bytes').textContent.replaceAll(',', '') == n", arg=str(size + 7)
    )
    edited = f"NEW {text}END"
    page.evaluate("() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; }")
    page.click("#copy-text")
    page.wait_for_function("() => window.copied !== undefined")
    assert page.evaluate("copied") == edited
    head, tail = edited[:2000], edited[-2000:]
    found = ids(page)
    ours = toks["ranks"]
    assert found[:300] == ours.encode_ordinary(head)[:300]
    assert found[-300:] == ours.encode_ordinary(tail)[-300:]
    assert ours.decode(found) == edited


def test_carriage_returns_survive_an_edit(open_page, local, toks, tmp_path):
    page = open_page(local.address)
    file = tmp_path / "dos.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\rfour\n")
    page.set_input_files("#file", file)
    page.wait_for_function("() => document.getElementById('count-bytes').textContent === '21'")
    page.focus("#text")
    page.keyboard.press("Control+End")
    page.keyboard.type("x")
    page.wait_for_function("() => document.getElementById('count-bytes').textContent === '22'")
    assert ids(page) == toks["ranks"].encode_ordinary("one\r\ntwo\r\nthree\rfour\nx")


def test_token_texts_are_never_html(open_page, local):
    page = open_page(local.address)
    before = page.evaluate(
        "() => document.querySelectorAll('*').length - document.querySelectorAll('#tokens *, #detail *').length"
    )
    set_text(page, '<img src=x onerror="window.pwned = 1"><script>window.pwned = 1</script><b>bold</b>&lt;i&gt;')
    page.focus("#tokens")
    for view in ("compare", "vocabulary", "training", "tokens"):
        page.click(f"#tab-{view}")
    assert page.evaluate("() => window.pwned") is None
    assert page.locator("#tokens img, #tokens script, #tokens b, #compare-lines img, #compare-lines b").count() == 0
    after = page.evaluate("() => document.querySelectorAll('script, img, iframe').length")
    assert after == 1 and before > 50  # the page's own script
    assert "".join(tokens(page)).startswith('<img src=x onerror="window.pwned = 1">')


def test_a_link_restores_the_view_the_tokenizers_and_the_text(open_page, local, toks):
    page = open_page(local.address)
    page.evaluate("() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; }")
    text = "Grüße 👍 # & = + % <|endoftext|>\n\tsecond line \u202e"
    set_text(page, text)
    page.select_option("#tokenizer", "picky")
    page.click("#tab-vocabulary")
    page.click("#link")
    page.wait_for_function("() => window.copied !== undefined")
    link = page.evaluate("copied")
    assert link.startswith(local.address + "#")
    other = open_page(link)
    other.wait_for_selector("#panel-vocabulary:not([hidden])")
    assert other.input_value("#tokenizer") == "picky"
    other.click("#tab-tokens")
    assert other.input_value("#text") == text
    assert ids(other) == toks["picky"].encode_ordinary(text)


def test_a_damaged_link_does_no_harm(open_page, local):
    for fragment in ("#view=nothing&with=no,such&text=%%%", "#text=AAAA&words=" + "x" * 3000, "#" + "=" * 50):
        page = open_page(local.address, fragment)
        assert page.is_visible("#panel-tokens")
        assert tokens(page)


def test_views_change_by_keyboard(open_page, local):
    page = open_page(local.address)
    page.focus("#tab-tokens")
    for key, view in (
        ("ArrowRight", "compare"),
        ("End", "training"),
        ("ArrowRight", "tokens"),
        ("ArrowLeft", "training"),
    ):
        page.keyboard.press(key)
        assert page.get_attribute(f"#tab-{view}", "aria-selected") == "true"
        assert page.is_visible(f"#panel-{view}")
    page.keyboard.press("Alt+3")
    assert page.is_visible("#panel-vocabulary")
    page.keyboard.press("Alt+1")
    assert page.is_visible("#panel-tokens")


def test_samples(open_page, local, toks):
    page = open_page(local.address)
    labels = page.locator("#sample option").all_text_contents()
    assert len(labels) > 12
    for label in labels[1:]:
        page.select_option("#sample", label=label)
        text = page.evaluate("() => document.getElementById('text').value")
        page.wait_for_function(
            "n => document.getElementById('count-characters').textContent.replaceAll(',', '') >= n", arg=len(text) // 2
        )
        assert number(page, "tokens") > 0
