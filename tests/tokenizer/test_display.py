"""Tokenizers and tokens for people: their repr, and their HTML in a notebook."""

import re
from html.parser import HTMLParser

import pytest

import tokenmill
from tokenmill.tokenizer.display import visible

TEXT = "low lower lowest\n" * 40


@pytest.fixture(scope="module")
def tok():
    return tokenmill.train_from_iterator([TEXT], 264, special_tokens=["<|end|>", "<b>&"])


def test_repr_names_the_source(tok, tmp_path):
    tok.save(tmp_path / "mine")
    loaded = tokenmill.load(tmp_path / "mine")
    assert repr(loaded) == f"<Tokenizer {str(tmp_path / 'mine')!r}, 264 ids, order 'merges'>"
    assert loaded == tok


def test_a_notebook_shows_coloured_tokens(tok):
    text = "low\n <b>&amp; \x00é<|end|>"
    view = tok.show(text, allowed_special="all")
    assert view.ids == tok.encode(text, allowed_special="all")
    page = view._repr_html_()
    HTMLParser().feed(page)
    assert "<b>" not in page and "⏎" in page and "U+0000" in page
    assert [int(id) for id in re.findall(r">(\d+)</span>", page)] == view.ids
    assert len(set(re.findall(r"background:(#\w+)", page))) == 5
    with pytest.raises(ValueError, match="special token"):
        tok.show(text)


def test_the_tokens_as_text(tok):
    above, below = repr(tok.show("low lower")).split("\n")
    assert above.split() == [label.strip() for label in tok.show("low lower").labels]
    assert [int(id) for id in below.split()] == tok.encode("low lower")
    assert len(tok.show(TEXT).lines(width=40)) > 2 and repr(tok.show("")) == ""


def test_characters_without_a_picture_are_all_shown_as_codes():
    assert visible("\u2000\u0600\u200b\u00a0 ".encode()) == [
        ("escape", "U+2000"), ("escape", "U+0600"), ("escape", "U+200B"), ("space", "⍽"), ("space", "·"),
    ]  # fmt: skip
