"""The Tokens view in a real browser: typing, pasting, long texts, the keyboard, links, and nothing ever as HTML."""

import json
import re

import pytest
from playground_examples import TEXT
from playground_page import copied, ids, search, set_text, text_of, train_on, wait_for_bytes, write

from tokenmill.tokenizer import Tokenizer

NAMES = ["ranks", "merges", "picky"]


@pytest.fixture(scope="module")
def toks(small_tokenizers):
    return {name: Tokenizer(vocabulary) for name, vocabulary in small_tokenizers}


def tokens(page):
    return page.locator("#tokens .t").all_text_contents()


def number(page, name):
    return int(page.inner_text(f"#count-{name}").replace(",", ""))


def test_tokens_follow_as_you_type(open_page, local, toks):
    page = open_page(local.address).raw
    write(page, "")
    page.click("#text")
    page.keyboard.type("low lower lowest")
    wait_for_bytes(page, 16)
    expected = toks["ranks"].encode_ordinary("low lower lowest")
    assert tokens(page) == [toks["ranks"].decode([id]) for id in expected]
    assert ids(page) == expected
    assert number(page, "tokens") == len(expected)
    assert number(page, "characters") == 16
    assert page.inner_text("#count-ratio") == f"{16 / len(expected):.2f}"
    page.press("#text .cm-content", "Backspace")
    wait_for_bytes(page, 15)
    assert ids(page) == toks["ranks"].encode_ordinary("low lower lowes")


def test_each_tokenizer_and_the_copy_buttons(open_page, local, toks):
    page = open_page(local.address)
    text = TEXT
    set_text(page, text)
    for name in NAMES:
        page.select_option("#tokenizer", name)
        expected = toks[name].encode_ordinary(text)
        page.wait_for_function(
            "n => document.getElementById('count-tokens').textContent.replaceAll(',', '') == n", arg=str(len(expected))
        )
        assert ids(page) == expected
    set_text(page, 'é "x"\n日')
    found = copied(page, "#copy-tokens")
    parts = [toks["picky"].decode_bytes([id]) for id in toks["picky"].encode_ordinary('é "x"\n日')]
    for part in parts:
        try:
            assert json.dumps(part.decode(), ensure_ascii=False) in found
        except UnicodeDecodeError:
            assert "".join(f"\\x{byte:02X}" for byte in part) in found


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
    assert shown.startswith("a·b⇥c⏎\n⟨SOH⟩")
    page.check("#as-ids")
    page.wait_for_selector("#tokens .id")
    assert "".join(tokens(page)).strip()[0].isdigit()


def test_a_token_of_invisible_characters_alone_has_a_box_with_their_name(open_page, local):
    page = open_page(local.address)
    page.select_option("#tokenizer", "characters")
    set_text(page, "a\u200db\ufe0fc")
    assert tokens(page) == ["a", "⟨ZWJ⟩", "b", "⟨VS16⟩", "c"]  # and not the character too, which may be drawn as a box
    boxes = [box.bounding_box()["width"] for box in page.locator("#tokens .t").all()]
    assert min(boxes[1], boxes[3]) > boxes[0]
    page.check("#visible")
    page.wait_for_selector("#tokens .t:not(.unseen):has-text('⟨ZWJ⟩')")


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
    assert page.evaluate("document.getElementById('text').shadowRoot.getSelection().toString()")
    assert page.evaluate("() => document.activeElement.id") == "text"


def test_tokens_inside_a_character_show_their_bytes(open_page, local, toks):
    page = open_page(local.address)
    set_text(page, "👍🏿")
    parts = toks["ranks"].decode_tokens_bytes(toks["ranks"].encode_ordinary("👍🏿"))
    assert len(parts) > 1
    assert "".join(tokens(page)).replace(" ", "") == "👍🏿".encode().hex().upper() or "👍" in tokens(page)
    for i, part in enumerate(parts):
        page.hover(f"#tokens .t >> nth={i}")
        assert part.hex(" ").upper() in page.inner_text("#detail")


def paste(page, text):
    page.evaluate(
        """text => {
          const data = new DataTransfer();
          data.setData("text/plain", text);
          const box = document.getElementById("text").shadowRoot.querySelector(".cm-content");
          box.focus();
          box.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
        }""",
        text,
    )


def test_a_megabyte_is_pasted_edited_deleted_and_restored(open_page, local, toks):
    page = open_page(local.address).raw
    line = "The quick brown fox, 日本 and naïve café 12345\tlow lower lowest. "
    text = "".join(f"{i} {line}\n" if i % 3 else f"{i} {line}" for i in range(14_000))
    size = len(text.encode())
    assert size > 1_000_000
    write(page, "")
    paste(page, text)
    wait_for_bytes(page, size)
    assert number(page, "tokens") > 100_000
    assert page.locator("#tokens .t").count() < 5000  # only what is near the window is drawn
    assert page.evaluate("document.getElementById('text').shadowRoot.querySelectorAll('*').length") < 5000
    page.click("#text")
    page.keyboard.press("Control+End")
    page.keyboard.type("END")
    wait_for_bytes(page, size + 3)
    page.keyboard.press("Control+Home")
    page.keyboard.type("NEW ")
    wait_for_bytes(page, size + 7)
    edited = f"NEW {text}END"
    assert copied(page, "#copy-text") == edited
    found = ids(page)
    ours = toks["ranks"]
    assert found[:300] == ours.encode_ordinary(edited[:2000])[:300]
    assert found[-300:] == ours.encode_ordinary(edited[-2000:])[-300:]
    assert ours.decode(found) == edited
    # Select all and delete acts on the whole text, and so does its undo.
    page.click("#text")
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    wait_for_bytes(page, 0)
    assert text_of(page) == ""
    page.keyboard.press("Control+z")
    wait_for_bytes(page, size + 7)
    assert text_of(page) == edited
    page.click("#clear")
    wait_for_bytes(page, 0)
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.press("Control+z")
    wait_for_bytes(page, size + 7)
    paste(page, "x" * 16_000_001)  # more than the page holds
    page.wait_for_selector("#message.problem")
    assert text_of(page) == edited


TOPS = """() => {
  const firstBelow = (pane, words) => {
    const {top} = pane.getBoundingClientRect();
    for (const one of words) {
      const found = /line (\\d+)/.exec(one.textContent);
      if (found && one.getBoundingClientRect().top > top) return [Number(found[1]), one.getBoundingClientRect().top - top];
    }
  };
  const box = document.getElementById("text").shadowRoot;
  const lines = Array.from(document.querySelectorAll("#tokens .t")).map((t, i, all) => ({
    textContent: all.slice(i, i + 9).map((one) => one.textContent).join(""),
    getBoundingClientRect: () => t.getBoundingClientRect(),
  })).filter((t) => t.textContent.startsWith("line"));
  return [firstBelow(box.querySelector(".cm-scroller"), box.querySelectorAll(".cm-line")),
          firstBelow(document.getElementById("tokens"), lines)];
}"""


def test_text_and_tokens_scroll_together(open_page, local):
    """The same place is at the top of both. Further down they may be a line or two apart, as they break lines differently."""
    page = open_page(local.address)
    set_text(page, "".join(f"line {i}\n" + "word and word " * (40 if i % 7 == 0 else 2) + "\n" for i in range(3000)))

    def tops():
        """The first line in both panes, once they agree on it and rest."""
        before = None
        for _ in range(150):
            page.wait_for_timeout(200)
            text, tokens = tops = page.evaluate(TOPS)  # None for a pane that is being redrawn
            if tops == before and all(tops) and text[0] == tokens[0] and abs(text[1] - tokens[1]) < 60:
                return text[0]
            before = tops
        raise AssertionError(tops)

    for pane, way in (("#text", 30_000), ("#tokens", 12_345), ("#text", -20_101), ("#tokens", -7003)):
        page.hover(pane, position={"x": 100, "y": 150})
        before = tops()
        page.mouse.wheel(0, way)
        page.wait_for_function(f"() => ({TOPS})()[{pane == '#tokens':d}]?.[0] !== {before}")
        assert (tops() > before) == (way > 0)
    page.hover("#text", position={"x": 100, "y": 150})
    page.mouse.wheel(0, 1e9)
    page.wait_for_function("() => document.getElementById('tokens').textContent.includes('2999')")


def test_a_text_of_one_long_line_scrolls_with_its_tokens(open_page, local):
    """Its blocks are alike, and the text box draws only a part of the line."""
    page = open_page(local.address)
    page.click("#clear")
    page.keyboard.insert_text("The quick brown fox jumps. " * 4000)  # longer than what the page encodes itself
    text = "document.getElementById('text').shadowRoot.querySelector('.cm-scroller').scrollTop"
    tokens = "document.getElementById('tokens').scrollTop"
    at_end = "() => { const t = document.getElementById('tokens'); return t.scrollTop + t.clientHeight > t.scrollHeight - 60; }"
    page.wait_for_function(f"() => {text} > 1000")
    page.wait_for_function(at_end)  # the tokens come later than the scrolling
    page.keyboard.press("Control+Home")
    page.wait_for_function(f"() => {tokens} < 100")
    page.hover("#text", position={"x": 100, "y": 150})
    page.mouse.wheel(0, 3000)
    page.wait_for_function(f"() => {text} > 2900")
    page.wait_for_function(f"() => {tokens} > 2000")
    page.wait_for_function(  # it rests, and does not scroll on by itself
        f"""async () => {{
          const before = {tokens};
          await new Promise((resolve) => setTimeout(resolve, 500));
          return {tokens} === before;
        }}"""
    )
    assert page.evaluate(tokens) < 5000


def test_carriage_returns_survive_an_edit(open_page, local, toks, tmp_path):
    page = open_page(local.address)
    file = tmp_path / "dos.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\rfour\n")
    page.set_input_files("#file", file)
    wait_for_bytes(page, 21)
    assert page.locator("#text .cm-specialChar").all_inner_texts() == ["⟨CR⟩"] * 3
    page.click("#text")
    page.keyboard.press("Control+End")
    page.keyboard.type("x")
    wait_for_bytes(page, 22)
    assert text_of(page) == "one\r\ntwo\r\nthree\rfour\nx"
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
    assert after == 2 and before > 50  # the page's own scripts
    assert "".join(tokens(page)).startswith('<img src=x onerror="window.pwned = 1">')


def test_a_link_restores_everything(open_page, local, toks):
    page = open_page(local.address)
    text = "Grüße 👍 # & = + % <|endoftext|>\n\tsecond line \u202e"
    set_text(page, text)
    page.select_option("#tokenizer", "picky")
    for switch in ("special", "visible", "as-ids"):
        page.check(f"#{switch}")
    page.click("#tab-training")
    train_on(page, "banana x3, bandana x2")
    page.fill("#threshold", "0.7")
    page.dispatch_event("#threshold", "change")
    page.fill("#step", "3")
    page.click("#tab-compare")
    page.press("#compare-only", "Space")  # a click may miss it while the rows arrive
    page.click("[aria-label='Remove tokenizer A']")
    page.select_option("[aria-label='Tokenizer B']", "prefix")
    page.click("#tab-vocabulary")
    page.select_option("#search-where", "begins")
    page.select_option("#search-order", "longest")
    search(page, "n")
    page.click(".result >> nth=1")
    page.wait_for_selector(".tree")
    sheet = page.inner_text("#sheet")
    link = copied(page, "#link")
    assert link.startswith(local.address + "#")

    other = open_page(link)
    other.wait_for_selector("#panel-vocabulary:not([hidden]) .tree")
    assert other.inner_text("#sheet") == sheet
    assert other.is_hidden("#link-note")  # it has the tokenizers of the link
    assert [other.input_value(f"#search{part}") for part in ("", "-where", "-order")] == ["n", "begins", "longest"]
    assert other.input_value("#tokenizer") == "picky"
    other.click("#tab-tokens")
    assert text_of(other) == text
    wait_for_bytes(other, len(text.encode()))
    other.wait_for_selector("#tokens .added")
    assert all(other.is_checked(f"#{switch}") for switch in ("special", "visible", "as-ids"))
    assert ids(other) == toks["picky"].encode(text, allowed_special="all")
    other.click("#tab-compare")
    assert other.is_checked("#compare-only")
    assert [other.input_value(f"[aria-label='Tokenizer {letter}']") for letter in "ABC"] == [
        "merges",
        "prefix",
        "shuffled",
    ]
    other.click("#tab-training")
    assert other.input_value("#words") == "banana x3, bandana x2"
    assert other.is_checked("#picky") and other.input_value("#threshold") == "0.7"
    assert other.inner_text("#step-of").startswith("3 of ")


def test_the_keys_are_listed(open_page, local):
    page = open_page(local.address)
    page.click("#text")
    page.keyboard.type("?")
    assert page.locator("dialog[open]").count() == 0 and "?" in text_of(page)
    page.focus("#tokens")
    page.keyboard.press("?")
    assert "copy the token's id" in page.inner_text("dialog[open]")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.click("#help-open")
    assert page.locator("dialog[open]").count() == 1


def test_paper_shows_the_whole_view_without_controls(open_page, local):
    page = open_page(local.address)
    set_text(page, TEXT * 4)
    count = number(page, "tokens")
    assert page.locator("#tokens .t").count() < count
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#tokens .t").count() == count
    assert page.is_hidden(".tools") and page.is_hidden("#detail") and page.is_visible("#count-tokens")
    clipped = "() => { const t = document.getElementById('tokens'); return t.scrollHeight > t.clientHeight + 2; }"
    assert not page.evaluate(clipped)
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="null")
    page.wait_for_function("count => document.querySelectorAll('#tokens .t').length < count", arg=count)
    assert page.pdf().count(b"/Type /Page\n") > 1


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
        assert page.is_checked("#special") == ("special" in label)
        page.uncheck("#special")
        text = text_of(page)
        page.wait_for_function(
            "n => document.getElementById('count-characters').textContent.replaceAll(',', '') >= n", arg=len(text) // 2
        )
        assert number(page, "tokens") > 0
