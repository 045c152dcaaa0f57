"""Patterns that cover every text are told from those that leave something out."""

import itertools

import pytest
import tiktoken

from tokenmill.split.compiler import covers_all_text
from tokenmill.split.patterns import PATTERNS


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_the_named_patterns_cover_every_text(pattern):
    assert covers_all_text(pattern)


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
    assert covers_all_text(pattern) is covers
    encoding = tiktoken.Encoding(
        "bytes", pat_str=pattern, mergeable_ranks={bytes([b]): b for b in range(256)}, special_tokens={}
    )
    texts = ("".join(letters) for length in range(1, 7) for letters in itertools.product("ab\n", repeat=length))
    whole = all(encoding.decode(encoding.encode(text)) == text for text in texts)
    assert whole is covers or pattern == r"\p{L}+|\p{N}"  # no digit in these texts


def test_what_may_match_nothing_or_is_not_regular_is_not_told():
    assert not covers_all_text(r"a*|[^a]")
    assert not covers_all_text(r"\bfoo|.|\n")
