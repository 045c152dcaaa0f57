"""Pretokens end where tiktoken's do, for every code point beside letters, digits, spaces, punctuation and itself.

tiktoken does not show its pretokens, but a vocabulary can: it has the single bytes and, of pairs of bytes, those in which
one is ASCII and those of a last and a first byte of UTF-8 characters. Two bytes on both sides of a pretoken's end never
merge, the same two inside of a pretoken do, so the ids tell the ends of the pretokens.
"""

import os

import pytest

from code_points import code_points
from tokenmill import Tokenizer, Vocabulary
from tokenmill.split.patterns import PATTERNS
from tokenmill.split.splitter import finder_of
from tokenmill.split.syntax import POSIX

tiktoken = pytest.importorskip("tiktoken")

SWEEP = "TOKENMILL_SWEEP" in os.environ
NAMES = list(PATTERNS) if SWEEP else ["gpt2", "cl100k", "o200k"]
CODE_POINTS = code_points()
CHUNK = 20_000


def showing_ends(name):
    """tiktoken's encoding and ours, with the vocabulary that shows where pretokens end."""
    pairs = [(a, b) for a in range(256) for b in range(256) if a < 128 or b < 128 or (a < 192 <= b)]
    tokens = [bytes([a]) for a in range(256)] + [bytes(pair) for pair in pairs]
    pattern = PATTERNS[name]
    theirs = tiktoken.Encoding(
        name, pat_str=pattern, mergeable_ranks={t: i for i, t in enumerate(tokens)}, special_tokens={}
    )
    return theirs, Tokenizer(Vocabulary(tuple(tokens), (pattern,)))


@pytest.mark.parametrize("name", NAMES)
def test_every_code_point_in_context(name):
    theirs, ours = showing_ends(name)
    for first in range(0, len(CODE_POINTS), CHUNK):
        lines = [f"a{c}b 1{c}2.{c}! {c} {c}{c}'{c}\n{c}\n" for c in CODE_POINTS[first : first + CHUNK]]
        if ours.encode_ordinary("".join(lines)) != theirs.encode_ordinary("".join(lines)):
            for line in lines:
                assert ours.encode_ordinary(line) == theirs.encode_ordinary(line), repr(line)
            pytest.fail(f"lines from {first} differ only where they stand together")


@pytest.mark.parametrize("before", ["a", "1", " ", ".", "\n", ""])
def test_every_code_point_at_the_end_of_a_text(before):
    theirs, ours = showing_ends("cl100k")
    texts = [before + c + c for c in CODE_POINTS]
    for text, expected in zip(texts, theirs.encode_ordinary_batch(texts, num_threads=2), strict=True):
        assert ours.encode_ordinary(text) == expected, repr(text)


PROPERTIES = "L N P Lu M S Z C Han Alphabetic Letter Upper Lower Greek Cyrillic Nd Sc White_Space Punct".split()
CLASSES = [
    *(rf"\{char}" for char in "wWdDsS"),
    *(rf"[[:{name}:]]" for name in POSIX),
    *(rf"[^[:^{name}:]x]" for name in ("alpha", "word", "space")),
    *(rf"\p{{{name}}}" for name in PROPERTIES),
    *(r"\PL", r"[^\w\s]", r"[\w&&[^\p{L}]]", r"[\w--\d]", r"(?i:\p{Lu})", r"(?i:[\p{Lu}1])", "(?i:k)", "(?i:\u00df)"),
    *("(?i:[^a-z])", "(?i:\\P{Ll})", "."),
]


@pytest.mark.parametrize("pattern", CLASSES)
def test_a_class_holds_the_same_code_points(pattern):
    """tiktoken drops what its pattern leaves out."""
    text = "".join(CODE_POINTS)
    ranks = {bytes([byte]): byte for byte in range(256)}
    theirs = tiktoken.Encoding("class", pat_str=f"(?:{pattern})+", mergeable_ranks=ranks, special_tokens={})
    spans = finder_of(f"(?:{pattern})+")(text)
    assert bytes(theirs.encode_ordinary(text)).decode() == "".join(text[start:end] for start, end in spans)


@pytest.mark.parametrize(
    "pattern",
    [
        "a{1, 2}|.",
        "a{ 2}|.",
        "a{2 }(?!b)|.",
        "(?x)a{ 1 , 2 } | .",
        "a{,2}b|.",
        "a(?#two){2}|.",
        "(?x)a(?#a) + # b\n|.",
        "a(?#b)*?b|.",
    ],
)
def test_spaces_and_comments_in_a_pattern(pattern):
    """A pretoken of several letters is a token, so the ids tell the pretokens."""
    texts = ["aaab", "a{1, 2}b", "a{ 2}", "ab a", "aab"]
    parts = {text[i:j].encode() for text in texts for i in range(len(text)) for j in range(i + 2, len(text) + 1)}
    tokens = [bytes([byte]) for byte in range(256)] + sorted(parts, key=len)
    ranks = {token: id for id, token in enumerate(tokens)}
    theirs = tiktoken.Encoding("spaces", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    ours = Tokenizer(Vocabulary(tuple(tokens), (pattern,)))
    assert [ours.encode(text) for text in texts] == [theirs.encode(text) for text in texts]
