"""The normalization steps before text is split, as in Hugging Face tokenizers, the same in every Python version.

    "NFC" "NFD" "NFKC" "NFKD"                 Unicode normalization, with the tables of Unicode 9.0
    "Lowercase" "StripAccents"                each character in lower case; without marks
    ("Prepend", text)                         text before a text that is not empty
    ("Replace", old, new)                     every `old`; ("ReplaceRegex", pattern, new) every match
    ("Strip", left, right)                    without white space at the start, at the end
    ("CharacterMap", base64, kept)            the character map of a SentencePiece model; the texts in `kept`, with \\0 between
                                              them, do not change

A character that Unicode 9.0 does not assign never changes in its normalizations, never moves and never composes.
So the texts between such characters are normalized separately. All their characters are assigned in 9.0, and Unicode
guarantees that their normalization is the same in every later version. So the tables of every Python version are right.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial, reduce
from itertools import accumulate, chain, pairwise

from ..errors import FormatError, WrongTypeError
from ..split.splitter import finder_of
from ..vocabulary import NORMALIZERS
from ..vocabulary.lazy import lazy
from ..vocabulary.normalization import EXTRA_SPACES, MARK, Step
from .encoding._sections_cy import key_pairs

Change = Callable[[str], str]

# Steps that change characters one by one or, in Unicode's forms, with their neighbours: see `class_page`.
CHARACTER_STEPS = {*NORMALIZERS, "Lowercase", "StripAccents"}
MAY_JOIN, MAY_CHANGE = 254, 255  # see `class_page`
_NO_POINT = 0xFFFFFFFF
# Unicode's White_Space, as `\s` in Rust; Python's str.isspace() also has U+001C to U+001F.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
STRIPPED = WHITE_SPACE.replace("-", "".join(map(chr, range(0x2001, 0x200A))))


def encoded(text: str) -> tuple[str, bytes]:
    """The text and its UTF-8, with U+FFFD for lone surrogates. Raises WrongTypeError for an object that is not a str."""
    if not isinstance(text, str):
        raise WrongTypeError(f"text is str, not {type(text).__name__}")
    text = repair(text)
    return text, text.encode()


def leading_spaces(text: str, most: int) -> int:
    """The number of spaces that `text` begins with, at most `most`."""
    start = text[:most]
    return len(start) - len(start.lstrip(" "))


def repair(text: str | bytes) -> str:
    """Return a text that UTF-8 can encode: surrogate pairs become one character, lone surrogates U+FFFD, as in tiktoken."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def normalizer_of(steps: Iterable[Step]) -> Change:
    """Return the function that applies the steps in turn.

    >>> normalizer_of(["NFC", ("Replace", " ", "_")])("e\\u0301 a")
    'é_a'
    """
    changes = [_change_of(*((step,) if isinstance(step, str) else step)) for step in steps]
    return lambda text: reduce(lambda changed, change: change(changed), changes, text)


def align(steps: Iterable[Step], text: str) -> tuple[str, list[int], list[int]]:
    """Return the normalized text, and for each of its characters the start and end of the characters that it comes from.

    >>> align(["NFC", ("Prepend", "_")], "e\\u0301a")
    ('_éa', [0, 0, 2], [0, 2, 3])
    """
    starts, ends = [*range(len(text))], [*range(1, len(text) + 1)]
    for step in steps:
        fresh, new_starts, new_ends, done = [], [], [], 0
        for start, end, new in _edits(text, *((step,) if isinstance(step, str) else step)):
            fresh += [text[done:start], new]
            begin = starts[start] if start < len(text) else ends[-1] if ends else 0
            new_starts += starts[done:start] + [begin] * len(new)
            new_ends += ends[done:start] + [ends[end - 1] if start < end else begin] * len(new)
            done = end
        text = "".join([*fresh, text[done:]])
        starts, ends = new_starts + starts[done:], new_ends + ends[done:]
    return text, starts, ends


def _edits(text: str, name: str, *arguments) -> Iterable[tuple[int, int, str]]:
    """Return the replacements of a step: text[start:end] by another text."""
    if name == "Prepend":
        return [(0, 0, arguments[0])] if text else []
    if name == "Replace":
        old, new = arguments
        return [(*match.span(), new) for match in re.finditer(re.escape(old), text)]
    if name == "ReplaceRegex":
        return [(start, end, arguments[1]) for start, end in finder_of(arguments[0])(text)]
    if name == "Strip":
        left, right = arguments
        start = len(text) - len(text.lstrip(STRIPPED)) if left else 0
        end = max(start, len(text.rstrip(STRIPPED))) if right else len(text)
        return [*([(0, start, "")] if start else []), *([(end, len(text), "")] if end < len(text) else [])]
    if name == "CharacterMap":
        return character_map(*arguments).edits(text)
    change = _change_of(name)
    form = name.replace("C", "D") if name in NORMALIZERS else ""  # decomposes the results of the step
    starts = [n for n, character in enumerate(text) if n == 0 or not form or not _joins(character, form)]
    spans = pairwise([*starts, len(text)])
    return [(start, end, new) for start, end in spans if (new := change(text[start:end])) != text[start:end]]


@lru_cache(1 << 16)
def _joins(character: str, form: str) -> bool:
    """True if a character may combine with the one before it. form: NFD, or NFKD if the step is NFKC or NFKD."""
    first = unicodedata.normalize(form, character)[0]  # type: ignore[arg-type]
    return unicodedata.combining(first) > 0 or first in _joining()


@cache
def _compositions() -> list[tuple[str, str]]:
    """The pairs of characters that NFC composes, without those of Hangul and those that are younger than Unicode 9.0."""
    pairs = []
    for character in map(chr, chain(range(0xC0, 0x3100), range(0x11080, 0x11600))):
        points = unicodedata.decomposition(character).split()
        if len(points) == 2 and points[0][0] != "<" and unicodedata.normalize("NFC", character) == character:
            pairs.append((chr(int(points[0], 16)), chr(int(points[1], 16))))
    return pairs


@cache
def _joining() -> frozenset[str]:
    """The characters that may compose with the one before."""
    hangul = map(chr, chain(range(0x1161, 0x1176), range(0x11A8, 0x11C3)))
    return frozenset(mark for _, mark in _compositions()).union(hangul)


def joined_pairs(steps: Sequence[Step]) -> list[tuple[int, int, int]]:
    """Return the rows (starter, mark, 0) of pairs that the steps change together, (starter, NO_POINT, 0) of starters that decompose, and
    (NO_POINT, mark, class + 1).

    A mark in a row does not change after a starter that is in no row with it or with NO_POINT: nothing composes with it then.
    """
    if charmap := _map_of(steps):
        return [(*pair, 0) for pair in charmap.pairs] + [(_NO_POINT, ord(second), 1) for second in charmap.firsts]
    rows = [(ord(starter), ord(mark), 0) for starter, mark in _compositions()]
    rows += [(ord(unicodedata.normalize("NFC", starter + mark)), _NO_POINT, 0) for starter, mark in _compositions()]
    return rows + [(_NO_POINT, ord(mark), 1 + unicodedata.combining(mark)) for mark in _joining()]


def class_page(steps: Sequence[Step], space: str, number: int) -> tuple[bytes, bytes]:
    """Return the classes of the 128 code points from 128 * `number` on, and the texts that those of MAY_CHANGE become alone.

    A class is MAY_CHANGE if the character may change alone, or with the text before it; MAY_JOIN if it may compose with the starter
    before it, see `joined_pairs`; otherwise the combining class + 1, or 1 without a step that is one of Unicode's forms.
    The texts are UTF-8 after 129 offsets, uint16: code point n becomes the text from offset n to n + 1. They are empty if
    characters of the page may change together in another way.
    steps: CHARACTER_STEPS or a character map, then perhaps EXTRA_SPACES. space: becomes a space after all of them; "" for nothing.
    """
    trimmed, charmap = removes_spaces(steps), _map_of(steps)
    steps = steps[:-2] if trimmed else steps
    forms = any(step in NORMALIZERS for step in steps)
    joining = charmap.firsts.keys() if charmap else _joining() if number and forms else frozenset()
    mixed = trimmed and space and normalizer_of(steps)(space) == space  # the space that it becomes is not removed
    change = normalizer_of((*steps, ("Replace", space, " ")) if space else steps)
    classes, alone = bytearray(), []
    page = "".join(map(chr, range(128 * number, 128 * number + 128)))
    together = (mixed and space in page) or (charmap and not charmap.by_characters)
    if change(page) == page and joining.isdisjoint(page) and not any(map(unicodedata.combining, page)):
        return b"\1" * 128, b"" if together else array("H", [258] * 129).tobytes()
    for character in page:
        new = change(character)
        alone.append(b"")
        if new != character or (character in joining and "\u1100" <= character <= "\u11ff"):
            classes.append(MAY_CHANGE)
            alone[-1] = new.encode()
            together = together or (len(steps) > 1 and not _changes_alone(steps, character))
        elif character in joining:
            classes.append(MAY_JOIN)
        else:
            mark = forms and joining and unicodedata.combining(character)
            classes.append(1 + mark if mark and not _unassigned().match(character) else 1)
    if together:
        return bytes(classes), b""
    return bytes(classes), array("H", accumulate(map(len, alone), initial=258)).tobytes() + b"".join(alone)


def _changes_alone(steps: Sequence[Step], character: str) -> bool:
    """True if CHARACTER_STEPS change a character in the same way alone and in a text in which no other character can combine with it."""
    composes = not {"NFC", "NFKC"}.isdisjoint(steps)
    for n, step in enumerate(steps):
        character = normalizer_of([step])(character)
        if step not in NORMALIZERS or not character or ("StripAccents" in steps[n:] and not composes):
            continue
        if unicodedata.combining(character[0]) or character[0] in _joining():
            return False
    return True


def removes_spaces(steps: Sequence[Step]) -> bool:
    """True if the steps end with EXTRA_SPACES."""
    return (*steps[-2:],) == EXTRA_SPACES


def only_characters(steps: Sequence[Step]) -> bool:
    """True if the steps change characters one by one, or with their neighbours."""
    return len(steps) == 1 if has_map(steps) else all(step in CHARACTER_STEPS for step in steps)


def keeps_mark(steps: Sequence[Step]) -> bool:
    """True if a MARK before any text stays there, or becomes a space. steps: see `only_characters`."""
    charmap = _map_of(steps)
    joins = charmap is not None and any(MARK in firsts for firsts in charmap.firsts.values())
    return not joins and normalizer_of(steps)(MARK) in (MARK, " ")


def has_map(steps: Sequence[Step]) -> bool:
    """True if the first step is a character map."""
    return bool(steps) and steps[0][0] == "CharacterMap"


def _map_of(steps: Sequence[Step]) -> CharacterMap | None:
    """The character map that the steps begin with."""
    return character_map(*steps[0][1:]) if has_map(steps) else None


def _change_of(name: str, *arguments) -> Change:
    if name in NORMALIZERS:
        return partial(_normalize, form=name)
    if name == "Replace":
        return lambda text: text.replace(*arguments)
    if name == "Lowercase":  # each character alone: a sigma at the end of a word is one like any other
        return lambda text: text.lower() if text.isascii() else "".join(map(str.lower, text)).translate(_capitals())
    if name == "StripAccents":
        return _strip_accents
    return lambda text: _edited(text, _edits(text, name, *arguments))


def _edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    texts, done = [], 0
    for start, end, new in edits:
        texts += [text[done:start], new]
        done = end
    return "".join([*texts, text[done:]])


@cache
def _capitals() -> dict[int, int]:
    """The small letters of the capital letters that Unicode 14 to 17 have and an older Python does not know."""
    small = {0x1C89: 0x1C8A, 0x2C2F: 0x2C5F, 0xA7CB: 0x264, 0xA7DC: 0x19B}
    pairs = (0xA7C0, 0xA7CC, 0xA7CE, 0xA7D0, 0xA7D2, 0xA7D4, 0xA7D6, 0xA7D8, 0xA7DA)
    vithkuqi = [n for n in range(0x10570, 0x10596) if n not in (0x1057B, 0x1058B, 0x10593)]
    for capitals, distance in (
        (pairs, 1),
        (vithkuqi, 39),
        (range(0x10D50, 0x10D66), 32),
        (range(0x16EA0, 0x16EB9), 27),
    ):
        small |= {n: n + distance for n in capitals}
    return small


def _strip_accents(text: str) -> str:
    """Remove the marks of Unicode 9.0. Two of them are letters now, and one mark is punctuation there."""
    if text.isascii():
        return text
    letters, unassigned = "\u1cf2\u1cf3", _unassigned()
    marks = {c for c in {*text} if unicodedata.category(c).startswith("M") and not unassigned.match(c)}
    return "".join(c for c in text if c not in letters and (c not in marks or c == "\U000111c9"))


def _normalize(text: str, form: str) -> str:
    # Text that is normalized by later tables is normalized by the tables of 9.0.
    if unicodedata.is_normalized(form, text):  # type: ignore[arg-type]
        return text
    texts = _unassigned().split(text)  # with the unassigned characters between them
    texts[::2] = (unicodedata.normalize(form, text) for text in texts[::2])  # type: ignore[arg-type]
    return "".join(texts)


@cache
def _unassigned() -> re.Pattern[str]:
    """Matches a character that Unicode 9.0 does not assign, in a group."""
    from ..split.alphabet import table  # late: most text is ASCII or in no need of it

    borders = [*accumulate(int(gap, 16) for gap in table("unassigned").decode().split())]
    spans = [*zip(borders[::2], borders[1::2], strict=True)]
    low, high = (
        "".join(f"{chr(first)}-{chr(end - 1)}" for first, end in spans if (first > 0xFFFF) == is_high)
        for is_high in (False, True)
    )
    # Two sets: `re` has a table of 16 bits, and searches a list of ranges for other characters.
    return re.compile(f"([{low}]|(?=[\U00010000-\U0010ffff])[{high}])")


@lru_cache(16)
def character_map(data: str, kept: str) -> CharacterMap:
    """Return the CharacterMap of a step. The cache saves building it, which takes far longer than applying it to a short text."""
    return CharacterMap(data, kept)


class CharacterMap:
    """The character map of a SentencePiece model (`precompiled_charsmap`): replaces texts of a few characters.

    data: the map, in base64: a double array (Darts) of keys, then the replacements, which end with a zero byte. At each
        position the longest key is replaced.
    kept: texts that do not change, with \\0 between them.
    """

    def __init__(self, data: str, kept: str = ""):
        try:
            raw = binascii.a2b_base64(data, strict_mode=True)
        except binascii.Error as error:
            raise FormatError(f"the character map is not base64 ({error})") from error
        size = int.from_bytes(raw[:4], "little")
        if len(raw) < 4 + size or size % 4 or not size:
            raise FormatError("the character map is cut short")
        self.units = array("I", raw[4 : 4 + size])
        self.replacements = raw[4 + size :]
        self.kept = dict.fromkeys(kept.split("\0") if kept else ())

    @lazy
    def pairs(self) -> list[tuple[int, int]]:
        """The code points of the first two characters of each key of two or more."""
        return key_pairs(self.units)

    @lazy
    def firsts(self) -> dict[str, str]:
        """By the second character of a key, the characters that keys begin with before it."""
        firsts: dict[str, str] = {}
        for first, second in self.pairs:
            firsts[chr(second)] = firsts.get(chr(second), "") + chr(first)
        return firsts

    @lazy
    def by_characters(self) -> bool:
        """True if each character changes alone in a text in which no key of two or more characters can match."""
        spaces = MARK.encode() in self.replacements or b"  " in self.replacements
        several = "".join(kept for kept in self.kept if len(kept) > 1)
        return not spaces and all(self._replaced(character) is None for character in several)

    def _replaced(self, character: str) -> str | None:
        return self._replacement(unit) if (unit := self._next(0, character)) else None

    def edits(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield replacements: text[start:end] by another text."""
        characters = {*text}
        alone = "".join(character for character in characters if self._replaced(character) is not None)
        begins = [re.escape(kept) for kept in self.kept]
        begins += [f"[{re.escape(alone)}]"] * bool(alone)
        if seconds := "".join(self.firsts.keys() & characters):
            firsts = "".join(map(self.firsts.__getitem__, seconds))
            begins.append(f"[{re.escape(firsts)}](?=[{re.escape(seconds)}])")
        if not begins:
            return
        done = 0
        begins_key = re.compile("|".join(begins))
        longest = max(map(len, self.kept), default=0)
        while (match := begins_key.search(text, done)) is not None:
            start = match.start()
            candidates = (text[start:end] for end in range(min(len(text), start + longest), start, -1))
            if old := next((old for old in candidates if old in self.kept), ""):
                done = start + len(old)
                continue
            new, done, unit = text[start], start + 1, 0
            for end in range(start, len(text)):
                if not (unit := self._next(unit, text[end])):
                    break
                if (replacement := self._replacement(unit)) is not None:
                    new, done = replacement, end + 1
            if new != text[start:done]:
                yield start, done, new

    def _next(self, unit: int, character: str) -> int:
        """The unit that follows another by a character; 0 for none. The unit at the start of a key is 0."""
        for byte in character.encode("utf-8", "surrogatepass"):
            unit ^= _offset(self.units[unit]) ^ byte
            if not byte or unit >= len(self.units) or self.units[unit] & 0x800000FF != byte:
                return 0
        return unit

    def _replacement(self, unit: int) -> str | None:
        """Return the replacement of the key that ends at a unit; None if none ends there."""
        value = self.units[unit]
        if not value >> 8 & 1:
            return None
        try:
            start = self.units[unit ^ _offset(value)] & 0x7FFFFFFF
            return self.replacements[start : self.replacements.index(b"\0", start)].decode()
        except (IndexError, ValueError):
            raise FormatError("the character map is damaged: a replacement is not there or not UTF-8") from None


def _offset(value: int) -> int:
    return value >> 10 << ((value & 1 << 9) >> 6)
