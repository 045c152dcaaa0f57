"""Long str that are not ASCII: they become UTF-8 in windows, where neither a pretoken nor an added token may be cut."""

import random

import pytest

import tokenmill
from tokenmill import AddedToken, Tokenizer, Vocabulary
from tokenmill.errors import SpecialTokenError

WINDOW = 1 << 16  # characters: as in the kernel
BYTES = tuple(bytes([i]) for i in range(256))


def same_in_windows(tok, text, **options):
    """The ids of `text`, the same as of its UTF-8, which is not cut into windows."""
    assert len(text) > WINDOW and not text.isascii()
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
        same_in_windows(tok, "".join(rng.choices(parts, k=6000)) + "é")


@pytest.mark.parametrize("unit", ["é", "漢字", "😀", " é", "é\n", "\né", "é  \n\n", "ab漢 ", "12é3"])
@pytest.mark.parametrize("pattern", ["cl100k", "gpt2", "o200k", "whitespace", r"[^\n]+|\n"])
def test_one_thing_all_along(unit, pattern):
    """With no place to cut for long, or with nothing but such places."""
    tok = Tokenizer(Vocabulary((*BYTES, b"\n\n", b"  ", "é".encode()), (pattern_of(pattern),)))
    same_in_windows(tok, (unit * (3 * WINDOW))[: 3 * WINDOW + 11])


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
        same_in_windows(tok, long, allowed_special=allowed, disallowed_special=())


def test_added_tokens_are_not_cut_where_a_pretoken_begins():
    tok = Tokenizer(
        Vocabulary(BYTES, ("cl100k",), added_tokens=(AddedToken("w low lo", 300), AddedToken("<| |>", 301)))
    )
    for first in range(8):
        same_in_windows(tok, "x" * first + "é low low low low low low low <| |>" * 10_000, allowed_special="all")


def test_forbidden_text_is_found_wherever_it_is(tok, text):
    long = (text + "\n") * 2000
    eot = "<|endoftext|>"
    for at in (0, 7, WINDOW - 13, WINDOW - 7, WINDOW - 1, WINDOW, 2 * WINDOW - 5, len(long)):
        with pytest.raises(SpecialTokenError, match="endoftext"):
            tok.encode(long[:at] + eot + long[at:])
        with pytest.raises(SpecialTokenError, match="endoftext"):
            tok.count_tokens(long[:at] + eot + long[at:])
        ids = same_in_windows(tok, long[:at] + eot + long[at:], allowed_special="all")
        assert ids.count(tok.eot_token) == 1
    same_in_windows(tok, long)


def test_surrogates_late_in_the_text(tok, text):
    long = (text + "\n") * 2000
    for lone in ("\ud800", "\udfff"):
        assert tok.encode(long + lone + long) == tok.encode(long + "\ufffd" + long)
    assert tok.encode(long + "\ud83d\ude00") == tok.encode(long + "😀")
