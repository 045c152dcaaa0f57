"""Patterns that cover every text are told from those that leave something out."""

import itertools

import pytest
import regex
import tiktoken

from tokenmill.split.compiler import uncovered
from tokenmill.split.patterns import PATTERNS


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_the_named_patterns_cover_every_text(pattern):
    assert uncovered(pattern) == ""


@pytest.mark.parametrize(
    ("pattern", "covers"),
    [
        (r"\p{L}+|\P{L}", True),
        (r"\p{L}+|\p{N}", False),
        (r"ab|a|[^a]", True),
        (r"ab|[^a]", False),
        (r"aab|a|[^a]", True),
        (r"a{2}|[^a]", False),
        (r"a+$|[^a]|a++(?!a)", True),
        (r"a+$|[^a]", False),
        (r"a+(?!b)|[^a]", False),
        (r"a+(?!b)|a|[^a]", True),
        (r"(?s:.)+", True),
        (r".+", False),
        (r"[^\n]+\n|\n", False),
        (r"[^\n]+(?:\n|$)|\n", True),
    ],
)
def test_tiktoken_drops_text_exactly_where_a_pattern_does_not_cover_it(pattern, covers):
    assert (uncovered(pattern) == "") is covers
    encoding = tiktoken.Encoding(
        "bytes", pat_str=pattern, mergeable_ranks={bytes([b]): b for b in range(256)}, special_tokens={}
    )
    texts = ("".join(letters) for length in range(1, 7) for letters in itertools.product("ab\n", repeat=length))
    whole = all(encoding.decode(encoding.encode(text)) == text for text in texts)
    assert whole is covers or pattern == r"\p{L}+|\p{N}"  # no digit in these texts


def test_what_may_match_nothing_or_is_not_regular_is_not_told():
    assert uncovered(r"a*|[^a]") != ""
    assert uncovered(r"\bfoo|.|\n") is None


@pytest.mark.parametrize(
    ("pattern", "characters"),
    [
        (r"\w+|[^\w\n]", "\n"),
        (r"'s|\p{L}+|\p{N}|[^\n\p{L}\p{N}]+", "\n"),
        (r"[^ab]+", "ab"),
        (r"[^ab]b?", None),  # a match contains a b, where another one does not begin
        (r"[^ab]+(?=a)|[^ab]+(?!a)", "ab"),
        (r"[^ab]+(?=a)", None),
    ],
)
def test_what_stands_between_matches(pattern, characters):
    left = uncovered(pattern)
    assert left == characters
    texts = ("".join(letters) for length in range(1, 6) for letters in itertools.product("abc1\n", repeat=length))
    for text in texts if left else ():
        spans = [match.span() for match in regex.finditer(pattern, text)]
        ends = [0, *(end for _, end in spans)]
        between = [text[end:start] for end, (start, _) in zip(ends, [*spans, (len(text), 0)], strict=True)]
        assert {*left} >= {*"".join(between)} and {*left}.isdisjoint("".join(text[a:b] for a, b in spans))
