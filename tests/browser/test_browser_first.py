"""The first screen: the number of tokens, and a token that is chosen."""

import pytest
from playground_page import set_text


@pytest.mark.parametrize("width", [400, 1280])
def test_the_first_screen_shows_the_number_of_tokens_and_a_token(open_page, local, width):
    page = open_page(local.address, viewport={"width": width, "height": 800})
    main = page.locator(".count-main")
    number, word = (main.locator(one).bounding_box() for one in ("dd", "dt"))
    assert number["x"] < word["x"] and number["height"] > 30
    assert main.bounding_box()["y"] < 120
    assert page.locator("#tokens .active").count() == 1
    assert "Step by step" in page.inner_text("#detail")
    assert page.locator("#tokens").bounding_box()["y"] < 750
    boxes = [page.locator(one).bounding_box() for one in ("#detail", "#size-curve")]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]


def test_an_empty_text_has_no_chosen_token(open_page, local):
    page = open_page(local.address)
    set_text(page, "")
    assert page.inner_text("#detail").startswith("Type or paste a text")
    set_text(page, "lower")
    assert "token 1 of" in page.inner_text("#detail")


def test_the_vocabulary_opens_on_words_and_a_search_selects_its_first_hit(open_page, local):
    page = open_page(local.address)
    page.click("#tab-vocabulary")
    page.wait_for_selector("#results .active")
    assert page.inner_text("#results .active code")[1:].isalpha()
    assert page.inner_text("#sheet h2") == page.inner_text("#results .active code")
    page.fill("#search", "newer")
    page.wait_for_selector("#results:not([aria-busy])")
    assert page.get_attribute("#results .active", "data-row") == "0"
    assert "newer" in page.inner_text("#sheet h2")


def test_compare_begins_in_the_first_screen_and_counts_lines(open_page, local):
    page = open_page(local.address, viewport={"width": 400, "height": 800})
    set_text(page, "नमस्ते दुनिया\nnewest\n\nlower")
    page.click("#tab-compare")
    page.wait_for_selector(".line")
    assert page.locator("#compare-lines").bounding_box()["y"] < 800
    assert "4 lines" in page.inner_text("#compare-table tfoot")
    assert " of 4 lines " in page.inner_text("#compare-where")


def test_a_server_that_has_stopped_is_named_and_works_again_later(open_page, site):
    page = open_page(site, viewport={"width": 1200, "height": 800})
    page.raw.context.set_offline(True)
    page.click("#tab-compare")
    page.wait_for_selector("#message.problem")
    assert page.inner_text("#message").startswith("The server of this page does not answer. Start it again")
    page.raw.context.set_offline(False)
    page.click("#tab-tokens")
    page.click("#tab-compare")
    page.wait_for_selector(".line")
    assert page.is_hidden("#message")
    page.problems[:] = [
        p for p in page.problems if "ERR_INTERNET_DISCONNECTED" not in p
    ]  # the browser logs the failures


def test_selected_tokens_are_copied_without_direction_marks(open_page, local):
    page = open_page(local.address)
    set_text(page, "abc עברית 123")
    page.wait_for_selector("#tokens .bidi")
    copied = page.evaluate("""() => {
        getSelection().selectAllChildren(document.querySelector("#tokens .block"));
        const event = new ClipboardEvent("copy", {clipboardData: new DataTransfer(), bubbles: true, cancelable: true});
        document.querySelector("#tokens").dispatchEvent(event);
        return event.clipboardData.getData("text/plain");
    }""")
    assert copied == "abc עברית 123"  # nor with the digits of bytes
