"""The steps that change text before it is split, as in Hugging Face tokenizers, on every Python.

    "NFC" "NFD" "NFKC" "NFKD"                 Unicode normalisation, with the tables of Unicode 9.0
    "Lowercase" "StripAccents"                each character in lower case; without marks
    ("Prepend", text)                         text before a text that is not empty
    ("Replace", old, new)                     every `old`; ("ReplaceRegex", pattern, new) every match
    ("Strip", left, right)                    without white space at the start, at the end
    ("CharacterMap", base64, kept)            the character map of a SentencePiece model; it leaves the texts `kept`, with \\0
                                              between them, as they are

A character that Unicode 9.0 does not assign never changes in a Unicode normalisation there, never moves and never composes,
so it divides the text into parts that are normalised alone. In those parts, all characters are assigned in 9.0, and Unicode
guarantees that their normalisation stays the same in every later version. So Python's own tables, whatever their version,
are right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial, reduce
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING

from ..split.alphabet import table
from ..split.splitter import finder_of
from ..vocabulary.validation import NORMALIZERS
from .character_map import CharacterMap

if TYPE_CHECKING:
    import numpy as np

    from ..vocabulary.vocabulary import Step

Change = Callable[[str], str]

# Steps that change characters one by one or, in Unicode's forms, with their neighbours: see `character_classes`.
CHARACTER_STEPS = {*NORMALIZERS, "Lowercase", "StripAccents"}
# The characters up to Unicode 9.0 that may compose with the one before, beside the vowels and the final consonants of Hangul.
_COMPOSES = (
    "\u0300-\u0304\u0306-\u030c\u030f\u0311\u0313-\u0314\u031b\u0323-\u0328\u032d-\u032e\u0330-\u0331\u0338\u0342\u0345"
    "\u0653-\u0655\u093c\u09be\u09d7\u0b3e\u0b56-\u0b57\u0bbe\u0bd7\u0c56\u0cc2\u0cd5-\u0cd6\u0d3e\u0d57\u0dca\u0dcf\u0ddf"
    "\u102e\u1b35\u3099-\u309a\U000110ba\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd\U000115af"
    "\u1161-\u1175\u11a8-\u11c2"
)

_STEP = 1 << 16  # characters looked up at once
# Unicode's White_Space, as `\s` in Rust; Python's str.isspace() also has U+001C to U+001F.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
STRIPPED = WHITE_SPACE.replace("-", "".join(map(chr, range(0x2001, 0x200A))))


def normalizer_of(steps: Iterable[Step]) -> Change:
    """The function that applies the steps one after the other.

    >>> normalizer_of(["NFC", ("Replace", " ", "_")])("e\\u0301 a")
    'é_a'
    """
    changes = [_change_of(*((step,) if isinstance(step, str) else step)) for step in steps]
    return lambda text: reduce(lambda found, change: change(found), changes, text)


def align(steps: Iterable[Step], text: str) -> tuple[str, list[int], list[int]]:
    """What the steps make of `text`, and for each character of that, where the characters that it was made of begin and end.

    >>> align(["NFC", ("Prepend", "_")], "e\\u0301a")
    ('_éa', [0, 0, 2], [0, 2, 3])
    """
    starts, ends = [*range(len(text))], [*range(1, len(text) + 1)]
    for step in steps:
        fresh, new_starts, new_ends, done = [], [], [], 0
        for start, end, new in _edits(text, *((step,) if isinstance(step, str) else step)):
            fresh += [text[done:start], new]
            begin = starts[start]
            new_starts += starts[done:start] + [begin] * len(new)
            new_ends += ends[done:start] + [ends[end - 1] if start < end else begin] * len(new)
            done = end
        text = "".join([*fresh, text[done:]])
        starts, ends = new_starts + starts[done:], new_ends + ends[done:]
    return text, starts, ends


def _edits(text: str, name: str, *arguments) -> Iterable[tuple[int, int, str]]:
    """What a step replaces: text[start:end] by another text."""
    if name == "Prepend":
        return [(0, 0, arguments[0])] if text else []
    if name == "Replace":
        old, new = arguments
        return [(found.start(), found.end(), new) for found in re.finditer(re.escape(old), text)]
    if name == "ReplaceRegex":
        return [(start, end, arguments[1]) for start, end in _matches(arguments[0], text)]
    if name == "Strip":
        stripped = _strip(text, *arguments)
        start = len(text) - len(text.lstrip(STRIPPED)) if arguments[0] else 0
        end = start + len(stripped)
        return [*([(0, start, "")] if start else []), *([(end, len(text), "")] if end < len(text) else [])]
    if name == "CharacterMap":
        return CharacterMap(*arguments).edits(text)
    change = _change_of(name)
    starts = [n for n, character in enumerate(text) if n == 0 or name not in NORMALIZERS or not _joins(character)]
    spans = pairwise([*starts, len(text)])
    return [(start, end, new) for start, end in spans if (new := change(text[start:end])) != text[start:end]]


@lru_cache(1 << 16)
def _joins(character: str) -> bool:
    """Whether a character may change, in Unicode's forms, together with the one before it."""
    first = unicodedata.normalize("NFD", character)[0]
    return unicodedata.combining(first) > 0 or re.match(f"[{_COMPOSES}]", first) is not None


def _matches(pattern: str, text: str) -> Iterable[tuple[int, int]]:
    if (find := finder_of(pattern)) is not None:
        return find(text)
    from ..split.backtracking import to_regex  # late: the regex module takes long to import

    return (found.span() for found in to_regex(pattern).finditer(text))


def character_classes(change: Change, steps: Iterable[Step], mark: str, number: int) -> bytes:
    """Return the classes of the 128 code points from 128 * `number` on, as `NormalizationCheck` takes them.

    change: applies `steps`, which are CHARACTER_STEPS. mark: a character that always changes; "" for none.
    """
    composes = re.compile(f"[{_COMPOSES}]") if any(step in NORMALIZERS for step in steps) else None
    classes = bytearray()
    for character in map(chr, range(128 * number, 128 * number + 128)):
        if character == mark or change(character) != character or (composes and composes.match(character)):
            classes.append(255)
        else:
            classes.append(1 + unicodedata.combining(character) if composes else 1)
    return bytes(classes)


def _change_of(name: str, *arguments) -> Change:
    if name in NORMALIZERS:
        return partial(_normalize, form=name)
    if name == "Prepend":
        return lambda text: text and arguments[0] + text
    if name == "Replace":
        return lambda text: text.replace(*arguments)
    if name == "ReplaceRegex":
        return _replace_matches(*arguments)
    if name == "Strip":
        return partial(_strip, left=arguments[0], right=arguments[1])
    if name == "CharacterMap":
        return CharacterMap(*arguments)
    return {"Lowercase": _lowercase, "StripAccents": _strip_accents}[name]


def _replace_matches(pattern: str, new: str) -> Change:
    def change(text: str) -> str:
        borders = [0, *chain.from_iterable(_matches(pattern, text)), len(text)]
        return new.join(text[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True))

    return change


def _strip(text: str, left: bool, right: bool) -> str:
    text = text.lstrip(STRIPPED) if left else text
    return text.rstrip(STRIPPED) if right else text


def _lowercase(text: str) -> str:
    """Each character alone: a sigma at the end of a word is one like any other."""
    return text.lower() if text.isascii() else "".join(map(str.lower, text))


def _strip_accents(text: str) -> str:
    """Without marks, as far as Unicode 9.0 has them."""
    if text.isascii():
        return text
    unassigned = unassigned_characters()
    return "".join(c for c in text if not unicodedata.category(c).startswith("M") or unassigned[ord(c)])


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

    unassigned = unassigned_characters()
    for start in range(0, len(text), _STEP):
        codes = np.frombuffer(text[start : start + _STEP].encode("utf-32-le", "surrogatepass"), np.uint32)
        yield from (np.flatnonzero(unassigned[codes]) + start).tolist()


@cache
def unassigned_characters() -> np.ndarray:
    """For each code point, whether Unicode 9.0 does not assign it."""

    import numpy as np

    borders = accumulate(int(gap, 16) for gap in table("unassigned").decode().split())
    changes = np.zeros(0x110000 + 1, np.int8)
    changes[[*borders]] = 1
    return np.bitwise_xor.accumulate(changes[:-1]).astype(bool)
