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
