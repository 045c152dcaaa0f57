"""Why a token is here: the steps of a pretoken, the heat map, and tokens that span words."""

import re

import numpy as np
import pytest
from playground_examples import TEXT
from playground_page import search, set_text

import tokenmill
from tokenmill.playground.export import export
from tokenmill.playground.pack import TokenCounts
from tokenmill.tokenizer import Tokenizer
from tokenmill.vocabulary import Vocabulary


def trace(page, name, pretoken):
    [found] = traces(page, name, [pretoken])
    return found


def traces(page, name, pretokens):
    ask = "([pretokens, name]) => Promise.all(pretokens.map((one) => tokenmill.trace(one, name)))"
    return page.evaluate(ask, [pretokens, name])


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
        for word, found in zip(words[:60], traces(page, name, words[:60]), strict=True):
            parts = found["steps"][-1]["parts"] if found["steps"] else found["start"]
            parts = [found["whole"]] if found["whole"] else parts
            ids = [part["id"] for part in parts]
            if -1 not in ids:
                assert ids == tok._core.encode_pretoken(word.encode()), (name, word)
            orders = [step["order"] for step in found["steps"]]
            if vocabulary.order == "events":
                assert orders == sorted(set(orders))  # event by event
            befores = [found["waits"], *(step["waits"] for step in found["steps"])]
            for waits, step in zip(befores, found["steps"], strict=False):  # a merge waits before it is made
                waiting = [one["order"] for one in waits["first"]]
                assert step["kind"] == "remove" or step["order"] in waiting or waits["more"] > 0, (name, word)
            assert befores[-1] == {"first": [], "more": 0}
            for step in found["steps"]:
                waiting = [one["order"] for one in step["waits"]["first"]]
                assert waiting == sorted(waiting) and sum(step["made"]) >= 1
                if vocabulary.order == "events":
                    assert all(order > step["order"] for order in waiting)


def test_the_merges_that_made_a_token_have_their_counts(open_page, serve, tmp_path):
    tok = tokenmill.train_from_counts({"low": 5, "lower": 2, "newer": 6, "wider": 3}, 262, split="gpt2", refine=0.6)
    export([("trained", tok.vocabulary)], tmp_path / "site")
    page = open_page(serve(tmp_path / "site"))
    set_text(page, "lower")
    page.focus("#tokens")
    page.keyboard.press("s")
    page.wait_for_selector("#steps[open] .why-list")
    items = page.locator(".why-list li").all_inner_texts()
    found = [
        re.search(r"\(event (\d+), (?:([\d,]+) times in the training text|IoS ([\d.]+))\)$", item) for item in items
    ]
    assert found and all(found)
    for event, count, ios in (match.groups() for match in found):
        a, b = tok.vocabulary.event_counts[int(event)].tolist()
        assert (int(count), 0) == (a, b) if count else abs(float(ios) - a / b) < 1e-4


def test_a_pretoken_that_is_a_token_tells_its_merges_too(open_page, site, small_tokenizers):
    tok = Tokenizer(small_tokenizers[0][1])
    word = max((token for token in tok.vocabulary.tokens if token.isalpha()), key=len).decode()
    page = open_page(site)
    set_text(page, word)
    page.focus("#tokens")
    page.keyboard.press("s")
    page.wait_for_selector("#steps[open] .why-list")
    assert "looked up before any merge. Merging gives the same token" in page.inner_text("#steps-body")
    assert page.locator(".why-list li").count() == len(word) - 1
    page.keyboard.press("Escape")
    word = "they" * 4
    set_text(page, word)
    more = trace(page, "ranks", word)["waits"]["more"]
    page.focus("#tokens")
    page.keyboard.press("s")
    page.wait_for_selector("#steps[open] .steps-table")
    waits = page.locator(".waits").all_inner_texts()
    assert (f"and {more} more" in waits[0]) == (more > 0) and waits[-1].strip() == "nothing"


def test_a_removal_of_a_picky_tokenizer_is_a_step(open_page, site, small_tokenizers):
    page = open_page(site)
    words = [*dict.fromkeys(TEXT.split())]
    kinds = {step["kind"] for word in words for step in trace(page, "picky", word)["steps"]}
    assert kinds == {"merge", "remove"}


def test_the_steps_of_a_superword_are_those_of_its_pretokens_and_its_own(open_page, site, small_tokenizers):
    vocabulary = dict(small_tokenizers)["boundless"]
    page = open_page(site)
    of = {row[2]: row for row in vocabulary.superwords.tolist()}

    def atoms(id):
        return [atom for half in of[id][:2] for atom in atoms(half)] if id in of else [id]

    tok = Tokenizer(vocabulary)
    for id in list(of)[:20]:
        found = trace(page, "boundless", vocabulary.tokens[id].decode())
        own = [step for step in found["steps"] if step["order"] >= len(vocabulary.events)]
        assert len(own) == len(atoms(id)) - 1 and own[-1]["parts"][0]["id"] == id and len(own[-1]["parts"]) == 1
        befores = [found["waits"], *(step["waits"] for step in found["steps"])]
        for waits, step in zip(befores, found["steps"], strict=False):
            waiting = [one["order"] for one in waits["first"]]
            assert step["kind"] == "remove" or step["order"] in waiting or waits["more"] > 0
        before = found["steps"][-len(own) - 1]["parts"]
        assert [part["id"] for part in before] == atoms(id)
        assert [tok._core.encode_pretoken(vocabulary.tokens[atom]) for atom in atoms(id)] == [
            [atom] for atom in atoms(id)
        ]


def test_superwords_of_whole_pretokens_are_drawn_explained_and_listed(open_page, site):
    page = open_page(site)
    page.select_option("#tokenizer", "boundless")
    page.wait_for_selector("#about:has-text('BoundlessBPE (superwords of whole pretokens, with removals)')")
    set_text(page, "they low lower")
    words = page.locator("#tokens .t.super")
    assert words.count() == 1 and words.locator(".word").all_text_contents() == [" low", " lower"]
    words.click()
    assert "across 2 words" in page.inner_text("#detail") and "pretoken" not in page.inner_text("#detail")
    page.click("#why")
    page.wait_for_selector("#steps[open]")
    assert "is a superword of 2 pretokens" in page.inner_text("#steps-body")
    last = page.locator(".why-list li").last.inner_text()
    assert "·low" in last and "·lower" in last
    page.click("#steps button")
    page.click("#tab-vocabulary")
    page.select_option("#search-where", "is")
    search(page, " low lower")
    page.click(".result:has-text('·low·lower')")
    page.wait_for_selector(".tree")
    assert page.locator(".tree .chip").first.inner_text() == "·low·lower"


@pytest.fixture(scope="module")
def superwords(tmp_path_factory, serve):
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
    export([("super", vocabulary, counts, "")], folder)
    return serve(folder)


def test_the_panel_shows_the_tokens_of_a_long_pretoken_near_the_selected_one(open_page, superwords):
    page = open_page(superwords, viewport={"width": 1280, "height": 720})
    set_text(page, " the cat at" * 60)  # without a split pattern, one pretoken
    page.click("#tokens .t >> nth=90")
    panel, here = page.locator("#detail").bounding_box(), page.locator("#detail .mini.here").bounding_box()
    assert panel["y"] < here["y"] and here["y"] + here["height"] <= panel["y"] + panel["height"]
    minis = page.locator("#detail .mini").all_text_contents()
    tokens = page.locator("#tokens .t").all_text_contents()
    assert minis == [one.replace(" ", "·") for one in tokens[80:101]]
    assert page.inner_text("#detail .pretokens").startswith("…")


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
