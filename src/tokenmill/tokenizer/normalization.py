"""Unicode normalisation with the tables of Unicode 9.0, as in Hugging Face tokenizers, on every Python.

A character that Unicode 9.0 does not assign never changes there, never moves and never composes, so it divides the text
into parts that are normalised alone. In those parts, all characters are assigned in 9.0, and Unicode guarantees that
their normalisation stays the same in every later version. So Python's own tables, whatever their version, are right.
"""

from __future__ import annotations

import unicodedata
import zlib
from base64 import b85decode
from collections.abc import Callable, Iterable, Iterator
from functools import cache, reduce
from itertools import accumulate
from typing import TYPE_CHECKING

from .normalization_table import UNASSIGNED

if TYPE_CHECKING:
    import numpy as np

_STEP = 1 << 16  # characters looked up at once


def normalizer_of(forms: Iterable[str]) -> Callable[[str], str]:
    """The function that applies the Unicode normalisations `forms` one after the other.

    >>> normalizer_of(["NFC"])("e\\u0301")
    'é'
    """
    forms = tuple(forms)
    return lambda text: reduce(_normalize, forms, text)


def _normalize(text: str, form: str) -> str:
    # Text that is normalised by later tables is normalised by the tables of 9.0: each of its parts is.
    if unicodedata.is_normalized(form, text):  # type: ignore[arg-type]
        return text
    parts, done = [], 0
    for place in _unassigned_in(text):
        parts += [unicodedata.normalize(form, text[done:place]), text[place]]  # type: ignore[arg-type]
        done = place + 1
    parts.append(unicodedata.normalize(form, text[done:]))  # type: ignore[arg-type]
    return "".join(parts)


def _unassigned_in(text: str) -> Iterator[int]:
    """The places in `text` of characters that Unicode 9.0 does not assign."""
    import numpy as np

    unassigned = _unassigned()
    for start in range(0, len(text), _STEP):
        codes = np.frombuffer(text[start : start + _STEP].encode("utf-32-le", "surrogatepass"), np.uint32)
        yield from (np.flatnonzero(unassigned[codes]) + start).tolist()


@cache
def _unassigned() -> np.ndarray:
    """For each code point, whether Unicode 9.0 does not assign it."""
    import numpy as np

    borders = accumulate(int(gap, 16) for gap in zlib.decompress(b85decode(UNASSIGNED)).decode().split())
    changes = np.zeros(0x110000 + 1, np.int8)
    changes[[*borders]] = 1
    return np.bitwise_xor.accumulate(changes[:-1]).astype(bool)
