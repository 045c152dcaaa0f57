"""The steps that change text before it is split, as in Hugging Face tokenizers, on every Python.

    "NFC" "NFD" "NFKC" "NFKD"                 Unicode normalisation, with the tables of Unicode 9.0
    "Lowercase" "StripAccents" "Nmt"          each character in lower case; without marks; Nmt of sentencepiece
    ("Prepend", text)                         text before a text that is not empty
    ("Replace", old, new)                     every `old`; ("ReplaceRegex", pattern, new) every match
    ("Strip", left, right)                    without white space at the start, at the end
    ("Precompiled", base64)                   the character map of a SentencePiece model, as tokenizers applies it
    ("CharacterMap", base64, kept)            the same as sentencepiece applies it; it leaves the texts `kept`, with \\0 between
                                              them, as they are
    ("BertNormalizer", clean_text, handle_chinese_chars, strip_accents, lowercase)

A character that Unicode 9.0 does not assign never changes in a Unicode normalisation there, never moves and never composes,
so it divides the text into parts that are normalised alone. In those parts, all characters are assigned in 9.0, and Unicode
guarantees that their normalisation stays the same in every later version. So Python's own tables, whatever their version,
are right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial, reduce
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from ..split.splitter import finder_of
from ..vocabulary.validation import NORMALIZERS
from .character_map import CharacterMap
from .normalization_table import UNASSIGNED

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
# What Nmt leaves out, and what it replaces by a space (sentencepiece, "nmt_nfkc").
_NMT_DROPPED = "[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
_NMT_SPACES = "[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"
# The blocks of ideographs that BERT puts spaces around.
_IDEOGRAPHS = (  # not compiled yet: that takes 5 ms
    "([\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f\U0002b920-\U0002ceaf"
    "\uf900-\ufaff\U0002f800-\U0002fa1f])"
)


def normalizer_of(steps: Iterable[Step]) -> Change:
    """The function that applies the steps one after the other.

    >>> normalizer_of(["NFC", ("Replace", " ", "_")])("e\\u0301 a")
    'é_a'
    """
    changes = [_change_of(*((step,) if isinstance(step, str) else step)) for step in steps]
    return lambda text: reduce(lambda found, change: change(found), changes, text)


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
    if name in ("Precompiled", "CharacterMap"):
        return CharacterMap(*arguments)
    if name == "BertNormalizer":
        return partial(_bert, options=arguments)
    return {"Lowercase": _lowercase, "StripAccents": _strip_accents, "Nmt": _nmt}[name]


def _replace_matches(pattern: str, new: str) -> Change:
    if (find := finder_of(pattern)) is None:
        from ..split.backtracking import to_regex  # late: the regex module takes long to import

        return partial(to_regex(pattern).sub, lambda _: new)

    def change(text: str) -> str:
        borders = [0, *chain.from_iterable(find(text)), len(text)]
        return new.join(text[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True))

    return change


def _strip(text: str, left: bool, right: bool) -> str:
    text = text.lstrip(STRIPPED) if left else text
    return text.rstrip(STRIPPED) if right else text


def _lowercase(text: str) -> str:
    """Each character alone: a sigma at the end of a word is one like any other."""
    return text.lower() if text.isascii() else "".join(map(str.lower, text))


def _strip_accents(text: str, kind: str = "M") -> str:
    """Without marks of any kind, or without those of one category, as far as Unicode 9.0 has them."""
    if text.isascii():
        return text
    unassigned = unassigned_characters()
    return "".join(c for c in text if not unicodedata.category(c).startswith(kind) or unassigned[ord(c)])


def _nmt(text: str) -> str:
    return re.sub(_NMT_SPACES, " ", re.sub(_NMT_DROPPED, "", text))


def _bert(text: str, options: tuple[bool, bool, bool | None, bool]) -> str:
    clean, ideographs, strip_accents, lowercase = options
    if clean:
        text = "".join(" " if c in STRIPPED else c for c in text if c in "\t\n\r" or not _is_control(c))
    if ideographs and not text.isascii():
        text = re.sub(_IDEOGRAPHS, r" \1 ", text)
    if lowercase if strip_accents is None else strip_accents:
        text = _strip_accents(_normalize(text, "NFD"), "Mn")
    return _lowercase(text) if lowercase else text


def _is_control(character: str) -> bool:
    """Whether BERT's normalizer leaves a character out, by the tables of Unicode 8.0, which lack U+08E2."""
    of_other = unicodedata.category(character) in ("Cc", "Cf", "Co")
    return character == "\ufffd" or (of_other and character != "\u08e2" and not unassigned_characters()[ord(character)])


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
    import zlib
    from base64 import b85decode

    import numpy as np

    borders = accumulate(int(gap, 16) for gap in zlib.decompress(b85decode(UNASSIGNED)).decode().split())
    changes = np.zeros(0x110000 + 1, np.int8)
    changes[[*borders]] = 1
    return np.bitwise_xor.accumulate(changes[:-1]).astype(bool)
