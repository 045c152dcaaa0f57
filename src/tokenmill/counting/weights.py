"""Weights of sources: how much the text of each counts.

A weight is an exact positive rational. Counts stay integers: each occurrence counts as its source's weight times the common
denominator of all weights, the `scale`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Rational
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError
from ..sources.find import Source, find_sources, ignore_skip, is_url, shown

if TYPE_CHECKING:
    from fractions import Fraction  # it imports decimal, which takes longer than the rest of --help

Weight = str | int | float | Rational
MOST = 2**31  # for the products of weights and the common denominator
OTHERS = "other sources"


class WeightedSource(NamedTuple):
    """A source in a weighted count: its weight, and the bytes of its text before weighting."""

    source: str
    weight: str
    bytes: int

    @property
    def weighted(self) -> Fraction:
        """The bytes times the weight."""
        return _fraction(self.weight) * self.bytes


def checked_weights(weights: Mapping[str, Weight] | Iterable[tuple[str, Weight]]) -> tuple[tuple[str, str], ...]:
    """The weights as (source, "3/2"). UsageError for a value that is not a number from 1 / MOST to MOST.

    >>> checked_weights({"a.txt": 1.5, "b.txt": "2/4"})
    (('a.txt', '3/2'), ('b.txt', '1/2'))
    """
    checked = []
    for source, weight in weights.items() if isinstance(weights, Mapping) else weights:
        value = exact_number(weight)
        if value is None or not 1 <= value * MOST <= MOST**2:
            raise UsageError(
                f"the weight of {source} is {weight!r}; write a number from 1/{MOST:,} to {MOST:,}, such as 2, 0.5 or 3/2. "
                "To leave a source out, do not name it"
            )
        checked.append((os.fspath(source), str(value)))
    return tuple(checked)


def _fraction(text: str) -> Fraction:
    from fractions import Fraction

    return Fraction(text)


def exact_number(value: object) -> Fraction | None:
    """The exact value of a number, also written like "3/2"; None if it is not a number from about 1 / MOST to MOST."""
    text = str(value).strip()
    try:  # first as a float: the digits of 1e99999999 take hours
        return _fraction(text) if "/" in text or 0.5 / MOST <= float(text) <= 2 * MOST else None
    except (ValueError, ZeroDivisionError):
        return None


def scale_of(weights: Iterable[str]) -> int:
    """The common denominator of the weights. UsageError if it times a weight is too large."""
    values = [_fraction("1"), *map(_fraction, weights)]
    scale = math.lcm(*(value.denominator for value in values))
    if max(values) * scale > MOST:
        raise UsageError(
            f"the weights have the common denominator {scale:,}, and with it the largest is {int(max(values) * scale):,}; at most "
            f"{MOST:,} is possible. Write them as ratios of smaller numbers, such as 3/2"
        )
    return scale


def scaled(least: int, scale: int) -> int:
    """The least weighted count, `least`, times `scale`; 1 stays 1, which keeps all."""
    return least * scale if least > 1 else least


class Weighing:
    """The weights of the sources of one count.

    sources: all sources of the count. Those without a weight count once; they are the last group.
    Raises UsageError for a weight of something that is not among the sources, and for two weights of one source.
    """

    def __init__(
        self, sources: Sequence[Source], weights: Mapping[str, Weight] | Iterable[tuple[str, Weight]] = ()
    ) -> None:
        checked = checked_weights(weights)
        scale = scale_of(weight for _, weight in checked)
        self._groups = [*((shown(name), weight) for name, weight in checked), (OTHERS, "1")]
        self.factors = [int(_fraction(weight) * scale) for _, weight in self._groups]
        self._group_of: dict[str, int] = {}
        known = {_key(source) for source in sources} if checked else set()
        for group, (name, _) in enumerate(checked):
            for source in [name] if _key(name) in known else find_sources(name, ignore_skip):
                key = _key(source)
                if key not in known:
                    raise UsageError(f"{name} has a weight, but {source} is not among the sources. Name it there too")
                if key in self._group_of:
                    raise UsageError(f"{source} has two weights, of {checked[self._group_of[key]][0]} and of {name}")
                self._group_of[key] = group

    def group(self, source: Source) -> int:
        """The index of the group that a source belongs to."""
        return self._group_of.get(_key(source), len(self.factors) - 1)

    def mixture(self, nbytes: Sequence[int]) -> tuple[WeightedSource, ...]:
        """The weighted sources, from the bytes of each group; () without weights."""
        sources = [WeightedSource(*group, size) for group, size in zip(self._groups, nbytes, strict=True)]
        return tuple(sources if sources[-1].bytes else sources[:-1]) if self._group_of else ()


def shares(mixture: Sequence[WeightedSource]) -> list[dict[str, Any]]:
    """The weighted sources as rows for a report, each with its share of the weighted text."""
    total = sum(source.weighted for source in mixture) or 1
    return [{**source._asdict(), "share": round(float(source.weighted / total), 6)} for source in mixture]


def _key(source: Source) -> str:
    return str(source) if is_url(source) or source == "-" else str(Path(source).absolute())
