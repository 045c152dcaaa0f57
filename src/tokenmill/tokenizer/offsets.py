"""The sections of a text, the span of it that each id stands for, also where it is normalized before, and cuts between tokens.

encoding/_sections_cy.py defines what a text consists of: parts that are split into pretokens, added tokens, and stretches that
are normalized first.
"""

from __future__ import annotations

import itertools
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple, cast

from ..errors import UsageError
from .encoding._spans_cy import character_spans, token_spans
from .normalization import align, encoded, repair

if TYPE_CHECKING:
    import numpy as np

    from .core import Core
    from .library_core import LibraryCore
    from .special import Plan

Memory = bytes | bytearray  # or another object with the buffer protocol, whose items are bytes

# What a row of State.parts is: see _sections_cy.pxd.
PREFIXED_PART, ADDED_TOKEN, CHANGED_STRETCH, IN_CHANGED = 1, 2, 3, 4


class Offsets(NamedTuple):
    """The ids of a text and the span of text that each stands for.

    ids: the ids, as `encode` returns them.
    bytes: int64 array of shape (n, 2): token i is text.encode()[bytes[i, 0]:bytes[i, 1]].
    characters: the same in characters; a character that several tokens share is in the span of each.
    text: the text given, with U+FFFD for lone surrogates, or the normalized text. If the tokenizer
        normalizes text, the span of a token covers the characters that it came from. An added prefix space has an empty span.
    """

    ids: list[int]
    bytes: np.ndarray
    characters: np.ndarray
    text: str


def encode_with_offsets(core: Core, text: str, plan: Plan, normalized: bool = False) -> Offsets:
    """The ids of `text` with their spans, in the text after the normalizers if `normalized`."""
    import numpy as np

    text, data = encoded(text)
    core.added.check(data, plan)
    ids, spans, data = encode_spans(core, data, plan, normalized=normalized)
    text = data.decode() if normalized else text
    shape = (len(spans) // 2, 2)
    of_bytes = np.ndarray(shape, np.int64, spans)
    of_characters = of_bytes if text.isascii() else np.ndarray(shape, np.int64, character_spans(spans, data))
    listed = memoryview(ids).cast("I").tolist() if core.kernel is None else core.kernel.id_list(ids)
    return Offsets(listed, of_bytes, of_characters, text)


def encode_spans(
    core: Core, data: bytes, plan: Plan, limit: int = -1, normalized: bool = False
) -> tuple[Memory, memoryview, bytes]:
    """The ids of a text in UTF-8, where each begins and ends in it, in bytes, and the text, `normalized` or not.

    limit: stop once there are more ids; -1 for no limit.
    """
    if core.kernel is None:
        return cast("LibraryCore", core).encode_spans(data, plan, normalized)
    ids, rows, changes = encode_parts(core, data, plan, limit)
    vocabulary = core.vocabulary
    unknown, several = vocabulary.unknown, vocabulary.fuse_unknown or vocabulary.whole_pretokens
    occurs = several and unknown is not None and unknown.to_bytes(4, sys.byteorder) in bytes(ids)
    occurs = occurs and unknown in memoryview(ids).cast("B").cast("I")  # those bytes may also lie across two ids
    sizes = _unknown_sizes(core, data, rows, changes) if occurs else []
    by_character = vocabulary.alphabet == "characters"
    dropping = core.kernel.merger if vocabulary.dropped else None
    unknown = -1 if unknown is None else unknown
    found = token_spans(ids, rows, vocabulary.packed[1], data, changes, unknown, by_character, sizes, dropping)
    spans = memoryview(found).cast("q")
    if changes and normalized:
        data = _to_normalized(spans, memoryview(rows).cast("Q"), data, changes)
    elif changes:
        _to_original(spans, memoryview(rows).cast("Q"), data, changes, plan)
    return ids, spans, data


def _unknown_sizes(core: Core, data: bytes, rows: Memory, changes: list[bytes]) -> list[int]:
    """The bytes of each unknown id: those of a whole pretoken, of a run of characters without a token; 1 is one character."""
    sizes: list[int] = []
    unknown, fused = core.vocabulary.unknown, core.vocabulary.fuse_unknown
    for _, kind, text in part_texts(data, rows, changes):
        for start, end in itertools.pairwise([0, *core.splitter.ends(text)]) if kind != ADDED_TOKEN else ():
            ids = core.encode_pretoken(text[start:end])
            if ids == [unknown]:
                sizes.append(end - start)
            elif unknown in ids:
                runs = core.unknown_runs.findall(text[start:end].decode()) if fused else ()
                sizes += [len(run.encode()) for run in runs] or [1] * ids.count(unknown)
    return sizes


def _table(rows: memoryview, n_ids: int) -> Iterator[tuple[list[int], int]]:
    """The rows, each with the number of ids before the next one."""
    table = [rows[n : n + 4].tolist() for n in range(0, len(rows), 4)]
    return zip(table, [*(row[0] for row in table[1:]), n_ids], strict=True)


def _to_normalized(spans: memoryview, rows: memoryview, data: bytes, changes: list[bytes]) -> bytes:
    """Replace the spans by spans in the text with its changed stretches, which is returned."""
    pieces, copied, length, move = list[bytes](), 0, 0, 0
    for (first, start, end, kind), after in _table(rows, len(spans) // 2):
        if kind == CHANGED_STRETCH:
            pieces += data[copied:start], changes[len(pieces) // 2]
            move = length + start - copied
            length, copied = move + len(pieces[-1]), end
        for n in range(2 * first, 2 * after):
            spans[n] += move if kind & IN_CHANGED else length - copied
    return b"".join((*pieces, data[copied:]))


def _to_original(spans: memoryview, rows: memoryview, data: bytes, changes: list[bytes], plan: Plan) -> None:
    """Replace the spans in changed stretches by spans in the text."""
    stretch = -1
    for (first, start, end, kind), after in _table(rows, len(spans) // 2):
        if kind == CHANGED_STRETCH:
            stretch += 1
            begins, ends = _original_bytes(data[start:end], changes[stretch], plan)
            offset = start
        elif kind & IN_CHANGED:
            for n in range(2 * first, 2 * after, 2):
                begin, end = spans[n], spans[n + 1]
                spans[n] = offset + begins[begin]
                spans[n + 1] = offset + (ends[end - 1] if begin < end else begins[begin])


def _original_bytes(stretch: bytes, changed: bytes, plan: Plan) -> tuple[list[int], list[int]]:
    """For each byte of a changed stretch, where what it was made of begins and ends in the stretch."""
    original = stretch.decode()
    text, starts, ends = align(plan.steps, original)
    assert text.encode() == changed, "the steps of a normalizer change a text in two ways"
    before = [0, *itertools.accumulate(len(character.encode()) for character in original)]
    sizes = [len(character.encode()) for character in text]
    begins_of_bytes = [before[start] for start, size in zip(starts, sizes, strict=True) for _ in range(size)]
    ends_of_bytes = [before[end] for end, size in zip(ends, sizes, strict=True) for _ in range(size)]
    return [*begins_of_bytes, len(stretch)], ends_of_bytes


def encode_parts(core: Core, data: bytes, plan: Plan, limit: int = -1) -> tuple[Memory, Memory, list[bytes]]:
    """The ids of a text in UTF-8 (uint32), what it consists of, and what each changed stretch became.

    What it consists of is rows of four uint64: the ids before it, where it begins and ends, and what it is.
    """
    by_kernel = core.scanner is not None
    ids, rows, changes = core.kernel.encode_parts(data, plan.sections, limit, by_kernel)
    if by_kernel:
        return ids, rows, changes
    tokens, all_ids = iter(memoryview(ids).cast("I")), array("I")
    fresh_rows = array("Q", bytes(rows))
    for n, kind, text in part_texts(data, rows, changes):
        fresh_rows[4 * n] = len(all_ids)
        all_ids.extend([next(tokens)] if kind == ADDED_TOKEN else core.encode_section(text))
    return all_ids.tobytes(), fresh_rows.tobytes(), changes


def parts(core: Core, text: str) -> Iterator[bytes | int]:
    """Yield the sections of a text: the bytes of each part that is split, and the ids of added tokens that are not special."""
    data = repair(text).encode()
    if core.kernel is None:
        yield data
        return
    ids, rows, changes = core.kernel.encode_parts(data, core.plan((), ()).sections, -1, False)
    tokens = iter(memoryview(ids).cast("I"))
    for _, kind, part in part_texts(data, rows, changes):
        yield next(tokens) if kind == ADDED_TOKEN else part


def part_texts(data: bytes, row_memory: Memory, changes: Sequence[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """The number of each row that stands for ids, what it is, and its bytes as they are encoded."""
    rows = memoryview(row_memory).cast("Q")
    stretch = -1
    for n in range(len(rows) // 4):
        _, start, end, kind = rows[4 * n : 4 * n + 4]
        if kind == CHANGED_STRETCH:
            stretch += 1
            continue
        text = (changes[stretch] if kind & IN_CHANGED else data)[start:end]
        yield n, kind & 3, b" " + text if kind & 3 == PREFIXED_PART else text


def truncate(core: Core, text: str, max_tokens: int, plan: Plan) -> str:
    """The slow path of Core.truncate, by the ends of all tokens."""
    text, data, ends = _token_ends(core, text, max_tokens, plan, 0, max_tokens)
    return text if len(ends) <= max_tokens else _first_that_fits(core, data, 0, ends[:max_tokens], max_tokens, plan)


def chunks(core: Core, text: str, max_tokens: int, plan: Plan) -> list[str]:
    """`text` in chunks that end with a token of the text and take at most `max_tokens` tokens each."""
    text, data, ends = _token_ends(core, text, max_tokens, plan, 1)
    ends[-1:] = [len(data)]  # what a normalizer removes at the end of a text belongs to the last token
    result: list[str] = []
    start = first = 0
    while start < len(data):
        chunk = _first_that_fits(core, data, start, ends[first : first + max_tokens], max_tokens, plan)
        if not chunk:
            character = data[start : start + 4].decode(errors="ignore")[:1]
            raise UsageError(f"{character!r} alone needs more than {max_tokens} tokens; allow more")
        result.append(chunk)
        start += len(chunk.encode())
        while first < len(ends) and ends[first] <= start:
            first += 1
    return result


def _token_ends(
    core: Core, text: str, max_tokens: int, plan: Plan, least: int, limit: int = -1
) -> tuple[str, bytes, list[int]]:
    """The text, its UTF-8 and the ends of its tokens in that. least: the smallest `max_tokens` that is allowed."""
    if not isinstance(max_tokens, Integral) or max_tokens < least:
        raise UsageError(f"max_tokens is {max_tokens!r}; give a number, {least} or more")
    text, data = encoded(text)
    core.added.check(data, plan)
    return text, data, encode_spans(core, data, plan, limit)[1][1::2].tolist()


def _first_that_fits(core: Core, data: bytes, start: int, ends: Iterable[int], max_tokens: int, plan: Plan) -> str:
    """The longest text from `start` to one of `ends` that takes at most `max_tokens` tokens; "" for none."""
    # A stretch may take more tokens alone than it has in the text, because its pretokens are cut short.
    for end in sorted(dict.fromkeys(ends), reverse=True):
        while start < end < len(data) and 0x80 <= data[end] < 0xC0:  # inside a character
            end -= 1
        chunk = data[start:end].decode()
        if chunk and core.count(chunk, plan) <= max_tokens:
            return chunk
    return ""
