"""Short texts are encoded in the key's own event, by the page itself: with the library's ids, before any frame."""

import os
import random

import pytest
from playground_examples import EDGE_CASES as HERE
from playground_examples import TEXT
from playground_page import units, write

from tokenmill.errors import UsageError
from tokenmill.quality.checking import EDGE_CASES
from tokenmill.tokenizer import Tokenizer

# Edits the text to be these texts (as UTF-16 units) one by one, and takes what "Copy ids" gives at once, without letting
# the browser do anything in between.
TYPE = """texts => {
  const message = document.getElementById("message");
  navigator.clipboard.writeText = async (text) => { window.copied = text; };
  return texts.map((units) => {
    tokenmill.text = String.fromCharCode(...units);
    if (message.classList.contains("problem")) return message.textContent;
    document.getElementById("copy-ids").click();
    return JSON.parse(window.copied);
  });
}"""

IS_NEAR = """() => {
  tokenmill.text = tokenmill.text.length > 9 ? "" : tokenmill.text + "1";
  return document.getElementById("count-characters").textContent === String(tokenmill.text.length);
}"""


def edits(text, count, dice):
    for _ in range(count):
        at = dice.randrange(len(text) + 1)
        new = dice.choice(["", "a", " ", "\n", "'", "9", "é", "👍🏽", "new", "<|endoftext|>", "  \n\t ", text[:40]])
        text = text[:at] + new + text[at + dice.choice([0, 0, 1, 1, 2, 9, 60]) :]
        yield text


@pytest.fixture(scope="module")
def page(chromium, site):
    page = chromium.new_page()
    page.set_default_timeout(60_000)
    page.goto(site)
    page.wait_for_selector("#tokens .t")
    yield page
    page.close()


def test_typed_text_has_the_librarys_ids_at_once(page, small_tokenizers):
    """A sample of the texts: test_browser_ids.py has all of them, and the encoder is the same."""
    for seed, (name, vocabulary) in enumerate(small_tokenizers):
        tok, special = Tokenizer(vocabulary), seed % 2 == 0
        page.set_checked("#special", special)
        page.select_option("#tokenizer", name)
        write(page, "1")
        page.wait_for_function(IS_NEAR)
        dice = random.Random(seed)
        some = slice(None) if "TOKENMILL_SWEEP" in os.environ else slice(seed % 4, None, 4)
        texts = [*EDGE_CASES[some], *HERE[some], TEXT, *edits(TEXT[seed * 50 :][:600], 10, dice)]
        for text, ids in zip(texts, page.evaluate(TYPE, [units(text) for text in texts]), strict=True):
            if len(text) > 32_768:
                continue  # the worker's
            try:
                expected = tok.encode(text, allowed_special="all") if special else tok.encode_ordinary(text)
            except UsageError:
                assert "no token for" in ids, (name, text, ids)
            else:
                assert ids == expected, (name, special, text)


def test_what_is_drawn_is_what_was_typed(page, small_tokenizers):
    """Blocks and elements that are kept over edits show the same as a page that draws everything anew."""
    page.set_checked("#special", False)
    page.select_option("#tokenizer", small_tokenizers[0][0])
    write(page, "1")
    page.wait_for_function(IS_NEAR)
    read = (
        """() => Array.from(document.querySelectorAll("#tokens .t"), (token) => [token.textContent, token.ariaLabel])"""
    )
    for text in edits(TEXT[:1000], 8, random.Random(8)):
        page.evaluate(TYPE, [units(text)])
        kept = page.evaluate(read)
        page.evaluate(TYPE, [units(""), units(text)])
        fresh = page.evaluate(read)
        shorter = min(len(kept), len(fresh))
        assert shorter > 0 and kept[:shorter] == fresh[:shorter]


def test_a_long_text_is_the_workers_and_a_short_one_after_it_is_not_overtaken(page, small_tokenizers):
    name = small_tokenizers[0][0]
    page.set_checked("#special", False)
    page.select_option("#tokenizer", name)
    write(page, "1")
    page.wait_for_function(IS_NEAR)
    found = page.evaluate(
        """async () => {
          const type = (text) => { tokenmill.text = text; };
          const count = () => document.getElementById("count-characters").textContent;
          type("low");
          type("low lower ".repeat(5000));
          const waiting = count();
          type("lowest");
          const at_once = count();
          await new Promise((resolve) => setTimeout(resolve, 1000));
          return [waiting, at_once, count()];
        }"""
    )
    assert found == ["3", "6", "6"]
