"""Patterns that are not regular, run by the `regex` module.

Two bounds stop hostile patterns. One with too many nodes is refused before it is compiled, and a search that backtracks for
too long raises a PatternError, as in tiktoken.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator

import regex

from ..errors import PatternError
from .spelling import Spelling
from .syntax import parse, shown
from .tree import Alternate, Concat, Repeat, TreeNode

MOST_NODES = 100_000  # of a pattern with its repetitions written out; `regex` takes 0.3 kB for each
SECONDS = 5.0  # of processor time for splitting a text, and more for each of its characters: 20 times what most need
SECONDS_PER_CHARACTER = 20e-6


def count_nodes(node: object) -> int:
    """Return the number of nodes of a tree, its repetitions written out."""
    if isinstance(node, Alternate | Concat):
        return sum(map(count_nodes, node.children))
    if isinstance(node, Repeat):
        return count_nodes(node.node) * max(1, node.least, node.most or 0)
    return max(1, count_nodes(getattr(node, "node", None))) if isinstance(node, TreeNode) else 0


@functools.cache
def to_regex(pattern: str) -> regex.Pattern:
    """Return the pattern, compiled by `regex` with the meaning it has in Rust's engine."""
    tree = parse(pattern)
    if count_nodes(tree) > MOST_NODES:
        raise PatternError(
            f"the split pattern {shown(pattern)} has more than {MOST_NODES:,} parts when its repetitions are "
            "written out. Use a smaller number, or * or + for any number."
        )
    try:
        return regex.compile(Spelling("regex").alternatives(tree), regex.V1)
    except RecursionError:
        raise PatternError(f"the split pattern {shown(pattern)} has groups nested too deep") from None
    except regex.error as error:
        raise PatternError(f"the split pattern {shown(pattern)} is not a regular expression: {error}") from None


def matches(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the matches, as Rust's find_iter does.

    After an empty match, the search continues one character later. No empty match is directly after another match.
    PatternError after the processor time that SECONDS and SECONDS_PER_CHARACTER allow.
    """
    compiled, last, at = to_regex(pattern), 0, 0
    end = time.process_time() + SECONDS + SECONDS_PER_CHARACTER * len(text)
    try:
        while at <= len(text):
            for match in compiled.finditer(text, at, timeout=max(1e-6, end - time.process_time())):
                if match.end() > last or not last:
                    yield match.span()
                last = match.end()
                if match.end() == match.start():
                    at = match.end() + 1
                    break
            else:
                return
    except TimeoutError:
        raise PatternError(
            f"the split pattern {shown(pattern)} takes too long on a text of {len(text):,} characters, cut up to "
            f"character {last:,}: it can match there in too many ways. Rewrite it without "
            "nested repetitions or alternatives that match the same text."
        ) from None


def pretokens_of(patterns: tuple[str, ...], text: str) -> list[str]:
    """Return the pretokens of a text; each pattern cuts the pretokens of the one before it.

    >>> pretokens_of((r"\\\\p{N}", r"\\\\s?\\\\S+"), "see 42!")
    ['see', ' ', '4', '2', '!']
    """
    pretokens = [text] if text else []
    for pattern in patterns:
        outer, pretokens = pretokens, []
        for pretoken in outer:
            cuts = sorted({0, *itertools.chain(*matches(pattern, pretoken)), len(pretoken)})
            pretokens += [pretoken[a:b] for a, b in itertools.pairwise(cuts)]
    return pretokens
