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
from ..sources.find import Source, find_sources, ignore_skip, is_url

if TYPE_CHECKING:
    from fractions import Fraction  # it imports decimal, which takes longer than the rest of --help

Weight = str | int | float | Rational
MOST = 2**31  # for the products of weights and the common denominator
OTHERS = "other sources"


class Part(NamedTuple):
    """The share of one weighted source in a count. bytes: its text, before it is weighted."""

    source: str
    weight: str
    bytes: int

    @property
    def weighted(self) -> Fraction:
        """Its bytes times its weight."""
        return _fraction(self.weight) * self.bytes


def checked_weights(weights: Mapping[str, Weight] | Iterable[tuple[str, Weight]]) -> tuple[tuple[str, str], ...]:
    """The weights as (source, "3/2"). UsageError for one that is no number, or not within 1 / MOST and MOST.

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
    """The number that is written; None for what is not one of 1 / MOST to MOST."""
    text = str(value).strip()
    try:  # as a float first: to write out the digits of 1e99999999 takes hours
        return _fraction(text) if "/" in text or 0.5 / MOST <= float(text) <= 2 * MOST else None
    except (ValueError, ZeroDivisionError):
        return None


def scale_of(weights: Iterable[str]) -> int:
    """The common denominator. UsageError if a weight times it is too large."""
    values = [_fraction("1"), *map(_fraction, weights)]
    scale = math.lcm(*(value.denominator for value in values))
    if max(values) * scale > MOST:
        raise UsageError(
            f"the weights have the common denominator {scale:,}, and with it the largest is {int(max(values) * scale):,}; at most "
            f"{MOST:,} is possible. Write them as ratios of smaller numbers, such as 3/2"
        )
    return scale


def scaled(least: int, scale: int) -> int:
    """A least weighted count as it is compared with counts times `scale`. 1 keeps all."""
    return least * scale if least > 1 else least


class Weighing:
    """The weights of the sources of one count.

    sources: what is counted. Those that no weight names count once; they are the last group.
    Raises UsageError for a weight of something that is not among the sources, and for two weights of one source.
    """

    def __init__(
        self, sources: Sequence[Source], given: Mapping[str, Weight] | Iterable[tuple[str, Weight]] = ()
    ) -> None:
        weights = checked_weights(given)
        self.scale = scale_of(weight for _, weight in weights)
        self._groups = [*weights, (OTHERS, "1")]
        self.factors = [int(_fraction(weight) * self.scale) for _, weight in self._groups]
        self._group_of: dict[str, int] = {}
        known = {_key(source) for source in sources} if weights else set()
        for group, (name, _) in enumerate(weights):
            for source in [name] if _key(name) in known else find_sources(name, ignore_skip):
                key = _key(source)
                if key not in known:
                    raise UsageError(f"{name} has a weight, but {source} is not among the sources. Name it there too")
                if key in self._group_of:
                    raise UsageError(f"{source} has two weights, of {weights[self._group_of[key]][0]} and of {name}")
                self._group_of[key] = group

    def group(self, source: Source) -> int:
        """The number of the group that a source belongs to."""
        return self._group_of.get(_key(source), len(self.factors) - 1) if self._group_of else len(self.factors) - 1

    def parts(self, nbytes: Sequence[int]) -> tuple[Part, ...]:
        """Return the share of each group in the count, from the bytes of each; () without weights."""
        found = [Part(*group, size) for group, size in zip(self._groups, nbytes, strict=True)]
        return tuple(found if found[-1].bytes else found[:-1]) if self._group_of else ()


def shares(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """The parts as rows for a report, each with its share of the weighted text."""
    total = sum(part.weighted for part in parts) or 1
    return [{**part._asdict(), "share": round(float(part.weighted / total), 6)} for part in parts]


def _key(source: Source) -> str:
    return str(source) if is_url(source) or source == "-" else str(Path(source).absolute())
