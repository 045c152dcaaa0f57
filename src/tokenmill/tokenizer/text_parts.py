"""What a text consists of: parts that are split into pretokens, added tokens, and stretches that are normalised first.

See encoding/_sections_cy.py for the definitions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .core import Core
    from .special import Plan

# What a row of _sections_cy.PartList is.
PREFIXED_PART, ADDED_TOKEN, CHANGED_STRETCH, IN_CHANGED = 1, 2, 3, 4


def encode_parts(core: Core, data: bytes, plan: Plan, limit: int = -1) -> tuple[memoryview, memoryview, list[bytes]]:
    """The ids of a text in UTF-8, what it consists of, and what each changed stretch became.

    limit: stop once there are more ids; -1 for no limit. Both are buffers of unsigned numbers, of 32 and of 64 bits. A row
    is four numbers: how many ids are before it, where it begins and ends, and what it is.
    """
    by_kernel = core.scanner is not None
    ids, rows, changes = _numbers(core.kernel.encode_parts(data, plan.sections, limit, by_kernel))
    if by_kernel:
        return ids, rows, changes
    tokens, all_ids = iter(ids), array("I")
    fresh_rows = array("Q", rows)
    for n, kind, text in part_texts(data, rows, changes):
        fresh_rows[4 * n] = len(all_ids)
        all_ids.extend([next(tokens)] if kind == ADDED_TOKEN else core.encode_section(text))
    return memoryview(all_ids), memoryview(fresh_rows), changes


def parts(core: Core, text: str) -> Iterator[bytes | int]:
    """What a text consists of: the bytes of each part that is split, and the ids of added tokens that are not special."""
    data = text.encode()
    ids, rows, changes = _numbers(core.kernel.encode_parts(data, core.plan((), ()).sections, -1, False))
    tokens = iter(ids)
    for _, kind, part in part_texts(data, rows, changes):
        yield next(tokens) if kind == ADDED_TOKEN else part


def part_texts(data: bytes, rows: memoryview, changes: Sequence[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """The number of each row that stands for ids, what it is, and its bytes as they are encoded."""
    stretch = -1
    for n in range(len(rows) // 4):
        _, start, end, kind = rows[4 * n : 4 * n + 4]
        if kind == CHANGED_STRETCH:
            stretch += 1
            continue
        text = (changes[stretch] if kind & IN_CHANGED else data)[start:end]
        yield n, kind & 3, b" " + text if kind & 3 == PREFIXED_PART else text


def _numbers(encoded: tuple[object, object, list[bytes]]) -> tuple[memoryview, memoryview, list[bytes]]:
    ids, rows, changes = encoded
    return memoryview(ids).cast("B").cast("I"), memoryview(rows).cast("B").cast("Q"), changes  # type: ignore[arg-type]
