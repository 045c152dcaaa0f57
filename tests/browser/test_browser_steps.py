"""Why a token is here: the steps of a pretoken, the heat map, and tokens that span words."""

import numpy as np
import pytest
from playground_examples import TEXT
from playground_page import set_text
from static_server import file_server

from tokenmill.playground.export import export
from tokenmill.playground.pack import TokenCounts
from tokenmill.tokenizer import Tokenizer
from tokenmill.vocabulary import Vocabulary


def trace(page, name, pretoken):
    return page.evaluate("([pretoken, name]) => tokenmill.trace(pretoken, name)", [pretoken, name])


def test_the_steps_end_in_the_librarys_ids(open_page, site, small_tokenizers):
    page = open_page(site)
    words = [
        *dict.fromkeys(word for word in TEXT.split()),
        " newest",
        " lower",
        "aaaaaaa",
        "abababab",
        " lazy",
        "日本語",
    ]
    for name, vocabulary in small_tokenizers:
        tok = Tokenizer(vocabulary)
        for word in words[:60]:
            found = trace(page, name, word)
            parts = (
                found["steps"][-1]["parts"]
                if found["steps"]
                else [found["whole"]]
                if found["whole"]
                else found["start"]
            )
            ids = [part["id"] for part in parts]
            if -1 not in ids:
                assert ids == tok._core.encode_pretoken(word.encode()), (name, word)
            orders = [step["order"] for step in found["steps"]]
            if vocabulary.order == "events":
                assert orders == sorted(set(orders))  # event by event
            for step in found["steps"]:
                waiting = [one["order"] for one in step["waiting"]]
                assert waiting == sorted(waiting) and sum(step["made"]) >= 1
                if vocabulary.order == "events":
                    assert all(order > step["order"] for order in waiting)


def test_a_removal_of_a_picky_tokenizer_is_a_step(open_page, site, small_tokenizers):
    page = open_page(site)
    words = [*dict.fromkeys(TEXT.split())]
    kinds = {step["kind"] for word in words for step in trace(page, "picky", word)["steps"]}
    assert kinds == {"merge", "remove"}


@pytest.fixture(scope="module")
def superwords(tmp_path_factory):
    """The address of a site with one tokenizer, whose last token is " the cat", and the counts of its tokens."""
    tokens = [bytes([b]) for b in range(256)]
    ids, rows = {token: i for i, token in enumerate(tokens)}, []
    for left, right in ((" ", "t"), (" t", "h"), (" th", "e"), ("a", "t"), (" ", "c"), (" c", "at"), (" the", " cat")):
        rows.append((ids[left.encode()], ids[right.encode()], len(tokens)))
        tokens.append((left + right).encode())
        ids[tokens[-1]] = len(tokens) - 1
    vocabulary = Vocabulary(tuple(tokens), (), "merges", np.array(rows, np.int32), whole_pretokens=False)
    folder = tmp_path_factory.mktemp("super") / "site"
    counts = TokenCounts(np.arange(len(tokens)), None, "some words")
    export([("super", vocabulary)], folder, {"super": counts})
    with file_server(folder) as address:
        yield address


def test_why_a_token_is_here_superwords_and_the_heat_map(open_page, superwords):
    page = open_page(superwords)
    set_text(page, " the cat at")
    words = page.locator("#tokens .t.super")
    assert words.count() == 1 and words.locator(".word").all_text_contents() == [" the", " cat"]
    words.click()
    assert "across 2 words" in page.inner_text("#detail")
    page.hover("#tokens .t >> nth=1")  # a click keeps it selected
    assert "across 2 words" in page.inner_text("#detail")
    page.click("#why")
    page.wait_for_selector("#steps[open]")
    body = page.inner_text("#steps-body")
    assert "·the·cat" in body and "occurs 262 times in some words" in body
    own = page.locator(".why-list li").all_inner_texts()
    assert [one.split("(")[1] for one in own] == [f"rank {rank})" for rank in (0, 1, 2, 3, 4, 5, 6)]
    rows = page.locator(".steps-table tbody tr").all_inner_texts()
    assert len(rows) == 8 and "the beginning" in rows[0]
    assert "nothing" in rows[-1]
    waits = page.locator(".steps-table tbody tr:nth-child(2) td:last-child").inner_text()
    assert "h" in waits and " 1" in waits
    page.keyboard.press("Escape")
    page.focus("#tokens")
    page.keyboard.press("End")
    page.keyboard.press("s")
    page.wait_for_selector("#steps[open]")
    page.keyboard.press("Escape")
    page.check("#heat")
    page.wait_for_selector("#tokens .t.h4.super")
    assert page.is_visible("#heat-legend")
    assert page.locator("#tokens .t.h1").count() == 1 and page.locator("#tokens .c0, #tokens .c1").count() == 0
