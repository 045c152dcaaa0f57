"""Long str that are not ASCII, which become UTF-8, have the ids of that UTF-8."""

import random

import pytest

import tokenmill
from tokenmill import AddedToken, Tokenizer, Vocabulary
from tokenmill.errors import SpecialTokenError
from tokenmill.tokenizer import batches
from tokenmill.vocabulary import Normalization

LONG = 1 << 16  # characters
BYTES = tuple(bytes([i]) for i in range(256))


def same_as_bytes(tok, text, **options):
    """The ids of `text`, the same as of its UTF-8."""
    assert len(text) > LONG and not text.isascii()
    expected = tok.encode_to_numpy(text.encode(), **options).tolist()
    assert tok.encode(text, **options) == expected
    assert tok.encode_to_numpy(text, **options).tolist() == expected
    assert tok.count_tokens(text, **options) == len(expected)
    return expected


@pytest.mark.parametrize("special", ["", "漢", "😀"])
def test_pretokens_are_not_cut(tok, text, special):
    rng = random.Random(1)
    parts = [text, text.lower(), "\n\n", "   ", "\r\n", "\t", "x" * 300, " 漢字" * 40, "é" * 5, special]
    for _ in range(4):
        same_as_bytes(tok, "".join(rng.choices(parts, k=6000)) + "é")


@pytest.mark.parametrize("unit", ["é", "漢字", "😀", " é", "é\n", "\né", "é  \n\n", "ab漢 ", "12é3"])
@pytest.mark.parametrize("pattern", ["cl100k", "gpt2", "o200k", "whitespace", r"[^\n]+|\n"])
def test_one_thing_all_along(unit, pattern):
    """With no place to cut for long, or with nothing but such places."""
    tok = Tokenizer(Vocabulary((*BYTES, b"\n\n", b"  ", "é".encode()), (pattern_of(pattern),)))
    same_as_bytes(tok, (unit * (3 * LONG))[: 3 * LONG + 11])


def pattern_of(name):
    return tokenmill.Splitter(name).patterns[0]


def test_added_tokens_are_not_cut(text):
    contents = ["\n", "\nlow", "low\nlow", "\n\n\n", "é\ne", "<|x|>", "e\né\nThe"]
    added = tuple(AddedToken(content, 300 + i) for i, content in enumerate(contents))
    tok = Tokenizer(Vocabulary(BYTES, ("cl100k",), added_tokens=added))
    rng = random.Random(2)
    for allowed in ("all", {"\nlow", "low\nlow"}, {"\n\n\n"}, {"é\ne", "e\né\nThe"}):
        pretokens = [*contents, text, "low", "\n", "é\n", "e", "\n\n", "The low\n"]
        long = "".join(rng.choices(pretokens, k=20_000))
        same_as_bytes(tok, long, allowed_special=allowed, disallowed_special=())


def test_forbidden_text_is_found_wherever_it_is(tok, text):
    long = (text + "\n") * 2000
    eot = "<|endoftext|>"
    for at in (0, 7, LONG - 13, LONG - 7, LONG - 1, LONG, 2 * LONG - 5, len(long)):
        with pytest.raises(SpecialTokenError, match="endoftext"):
            tok.encode(long[:at] + eot + long[at:])
        with pytest.raises(SpecialTokenError, match="endoftext"):
            tok.count_tokens(long[:at] + eot + long[at:])
        ids = same_as_bytes(tok, long[:at] + eot + long[at:], allowed_special="all")
        assert ids.count(tok.eot_token) == 1
    same_as_bytes(tok, long)


def test_surrogates_late_in_the_text(tok, text):
    long = (text + "\n") * 2000
    for lone in ("\ud800", "\udfff"):
        assert tok.encode(long + lone + long) == tok.encode(long + "\ufffd" + long)
    assert tok.encode(long + "\ud83d\ude00") == tok.encode(long + "😀")


@pytest.mark.parametrize("step, text", [("NFC", "te\u0301"), ("Lowercase", "tT"), ("NFC", "été, ")])
def test_a_long_text_is_divided_where_normalization_changes_nothing(monkeypatch, step, text):
    monkeypatch.setattr(batches, "LONG_TEXT", 100)
    monkeypatch.setattr(batches, "PIECE", 3000)
    tokens = (*BYTES, "é".encode(), "té".encode(), b"tt")
    merges = [(0xC3, 0xA9, 256), (ord("t"), 256, 257), (ord("t"), ord("t"), 258)]
    tok = Tokenizer(
        Vocabulary(tokens, ("e|T|[^eT]+",), "merges", merges, (), False, normalization=Normalization((step,)))
    )
    for k in range(20):
        long = "." * k + text * 3000
        assert tok.encode(long, num_threads=2) == tok.encode(long, num_threads=1) == tok.to_hf().encode(long).ids


def test_a_long_text_is_not_divided_beside_a_mark_of_ascii(monkeypatch):
    monkeypatch.setattr(batches, "LONG_TEXT", 100)
    monkeypatch.setattr(batches, "PIECE", 3000)
    changes = Normalization(add_prefix_space="first", space_mark="_")
    merges = [(0, 1, 2)]
    tok = Tokenizer(
        Vocabulary((b" ", b"a", b" a", b"b"), (), "merges", merges, (), False, "characters", normalization=changes)
    )
    for k in range(20):
        text = "b" * k + "_ab_a" * 2000
        assert tok.encode(text, num_threads=2) == tok.encode(text, num_threads=1)
