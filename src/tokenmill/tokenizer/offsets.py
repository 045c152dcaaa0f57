"""The sections of a text, the span of each id in the text before or after normalization, and cuts between tokens.

encoding/_sections_cy.py defines stretches and sections.
"""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple, cast

from ..errors import UsageError
from .core import ADDED_TOKEN, CHANGED_STRETCH, IN_CHANGED, Core, Memory, section_texts
from .encoding._spans_cy import character_spans, token_spans
from .normalization import align, encoded, repair

if TYPE_CHECKING:
    import numpy as np

    from .library_core import LibraryCore
    from .special import Plan


class Offsets(NamedTuple):
    """The ids of a text and their spans.

    ids: the ids, as `encode` returns them.
    bytes: int64 array of shape (n, 2): token i is text.encode()[bytes[i, 0]:bytes[i, 1]].
    characters: the spans in characters. A character that several tokens share is in the span of each.
    text: the text with U+FFFD for lone surrogates, or the normalized text. If the tokenizer normalizes text, the span of a token
        covers the characters that it came from. An added prefix space has an empty span.
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
    bytes = np.ndarray(shape, np.int64, spans)
    characters = bytes if text.isascii() else np.ndarray(shape, np.int64, character_spans(spans, data))
    id_list = memoryview(ids).cast("I").tolist() if core.kernel is None else core.kernel.id_list(ids)
    return Offsets(id_list, bytes, characters, text)


def encode_spans(
    core: Core, data: bytes, plan: Plan, limit: int = -1, normalized: bool = False
) -> tuple[Memory, memoryview, bytes]:
    """The ids of a text in UTF-8 (uint32), the start and the end of each in bytes (int64), and the text, `normalized` or not.

    limit: stop once there are more ids; -1 for no limit.
    """
    import numpy as np

    if core.kernel is None:
        return cast("LibraryCore", core).encode_spans(data, plan, normalized)
    ids, rows, changes = core.encode_sections(data, plan, limit)
    vocabulary = core.vocabulary
    unknown = -1 if vocabulary.unknown is None else vocabulary.unknown
    of_several = vocabulary.fuse_unknown or vocabulary.whole_pretokens
    occurs = of_several and unknown in np.asarray(memoryview(ids).cast("B").cast("I"))
    sizes = _unknown_sizes(core, data, rows, changes) if occurs else []
    by_character = vocabulary.alphabet == "characters"
    dropping = core.kernel.merger if vocabulary.dropped else None
    memory = token_spans(ids, rows, vocabulary.packed[1], data, changes, unknown, by_character, sizes, dropping)
    spans = memoryview(memory).cast("q")
    if changes and normalized:
        data = _to_normalized(spans, memoryview(rows).cast("Q"), data, changes)
    elif changes:
        _to_original(spans, memoryview(rows).cast("Q"), data, changes, plan)
    return ids, spans, data


def _unknown_sizes(core: Core, data: bytes, rows: Memory, changes: list[bytes]) -> list[int]:
    """The bytes of each unknown id: of a whole pretoken, or of neighbouring characters without a token; 1 for one character."""
    sizes: list[int] = []
    unknown, fused = core.vocabulary.unknown, core.vocabulary.fuse_unknown
    for _, kind, text in section_texts(data, rows, changes):
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
    """Replace the spans by spans in the text with its changed stretches. Return that text."""
    texts, copied, length, move = list[bytes](), 0, 0, 0
    for (first, start, end, kind), after in _table(rows, len(spans) // 2):
        if kind == CHANGED_STRETCH:
            texts += data[copied:start], changes[len(texts) // 2]
            move = length + start - copied
            length, copied = move + len(texts[-1]), end
        for n in range(2 * first, 2 * after):
            spans[n] += move if kind & IN_CHANGED else length - copied
    return b"".join((*texts, data[copied:]))


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
    """For each byte of a changed stretch, the start and the end in `stretch` of the characters that it comes from."""
    original = stretch.decode()
    text, starts, ends = align(plan.steps, original)
    assert text.encode() == changed, "the steps of a normalizer change a text in two ways"
    before = [0, *itertools.accumulate(len(character.encode()) for character in original)]
    sizes = [len(character.encode()) for character in text]
    byte_starts = [before[start] for start, size in zip(starts, sizes, strict=True) for _ in range(size)]
    byte_ends = [before[end] for end, size in zip(ends, sizes, strict=True) for _ in range(size)]
    return [*byte_starts, len(stretch)], byte_ends


def text_sections(core: Core, text: str) -> Iterator[bytes | int]:
    """Yield the bytes of each section of a text, and the ids of the added tokens between them that are not special."""
    data = repair(text).encode()
    if core.kernel is None:
        yield data
        return
    ids, rows, changes = core.kernel.encode_sections(data, core.plan((), ()).sections, -1, False)
    tokens = iter(memoryview(ids).cast("I"))
    for _, kind, section in section_texts(data, rows, changes):
        yield next(tokens) if kind == ADDED_TOKEN else section


def truncate(core: Core, text: str, max_tokens: int, plan: Plan) -> str:
    """The slow way of Core.truncate, by the ends of all tokens."""
    text, data, ends = _token_ends(core, text, max_tokens, plan, 0, max_tokens)
    return text if len(ends) <= max_tokens else _longest_that_fits(core, data, 0, ends, 0, max_tokens, plan)


def chunks(core: Core, text: str, max_tokens: int, plan: Plan) -> list[str]:
    """Cut `text` into chunks that end with a token of the text and have at most `max_tokens` tokens each."""
    text, data, ends = _token_ends(core, text, max_tokens, plan, 1)
    ends = ends or memoryview(array("q", [0]))
    ends[-1] = len(data)  # the last token includes the text that a normalizer removes at the end
    result: list[str] = []
    start = first = 0
    while start < len(data):
        chunk = _longest_that_fits(core, data, start, ends, first, max_tokens, plan)
        if not chunk:
            character = data[start : start + 4].decode(errors="ignore")[:1]
            raise UsageError(f"{character!r} alone needs more than {max_tokens} tokens; allow more")
        result.append(chunk)
        start += len(chunk.encode())
        first = bisect_right(ends, start, first)
    return result


def _token_ends(
    core: Core, text: str, max_tokens: int, plan: Plan, least: int, limit: int = -1
) -> tuple[str, bytes, memoryview]:
    """The text, its UTF-8 and the ends of its tokens in it, ascending. least: the smallest `max_tokens` that is allowed."""
    import numpy as np

    if not isinstance(max_tokens, Integral) or max_tokens < least:
        raise UsageError(f"max_tokens is {max_tokens!r}; give a number, {least} or more")
    text, data = encoded(text)
    core.added.check(data, plan)
    spans = encode_spans(core, data, plan, limit)[1]
    return text, data, memoryview(np.sort(spans[1::2]))  # a normalizer may reorder marks, which are tokens


def _longest_that_fits(
    core: Core, data: bytes, start: int, ends: memoryview, first: int, max_tokens: int, plan: Plan
) -> str:
    """The longest text from `start` to the end of a token, ends[first] or later, that has at most `max_tokens`; "" for none."""
    # A chunk may have more tokens alone than it has in the text, because its pretokens are cut short.
    for end, _ in itertools.groupby(reversed(ends[first : first + max_tokens])):
        while start < end < len(data) and 0x80 <= data[end] < 0xC0:  # inside a character
            end -= 1
        chunk = data[start:end].decode()
        if chunk and core.count(chunk, plan) <= max_tokens:
            return chunk
    return ""
