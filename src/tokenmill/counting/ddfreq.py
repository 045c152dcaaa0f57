"""Word counts from and to ddtokens' .ddfreq files.

A file has the number of entries, then for each the length of the pretoken, its bytes, and its count. All numbers are 64-bit
and little-endian.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FormatError, InputError
from ..jobs.outputs import atomic_file
from .store import WrittenTotals

if TYPE_CHECKING:
    from .rows import Rows

SUFFIX = ".ddfreq"
BATCH = 1 << 16  # entries read at a time


def is_counts_file(path: Path) -> bool:
    """Return whether a file contains word counts."""
    return path.suffix == SUFFIX and path.is_file()


def is_split_by_ddtokens(rows: Rows) -> bool:
    """Return whether each pretoken fits the pattern `ddtokens`: ASCII white space only at its start, or a newline.

    A .ddfreq file does not name its pattern.
    """
    import numpy as np

    arena, offsets, _ = rows
    sizes = np.diff(offsets)
    spaces = (arena == 32) | (arena - np.uint8(9) < 5)
    spaces[offsets[:-1][sizes > 0]] = False
    with_newline = np.searchsorted(offsets, np.flatnonzero(arena == 10), side="right") - 1
    return not spaces.any() and bool((sizes[with_newline] == 1).all())


def write_ddfreq(path: Path, batches: Iterable[Rows], min_count: int = 0) -> WrittenTotals:
    """Write the rows with a count of at least `min_count`."""
    totals = WrittenTotals()
    with atomic_file(path, "wb") as file:
        file.write(bytes(8))
        for arena, offsets, counts in totals.frequent(batches, min_count):
            data, ends, numbers = arena.tobytes(), offsets.tolist(), counts.tolist()
            for i, count in enumerate(numbers):
                pretoken = data[ends[i] : ends[i + 1]]
                file.write(len(pretoken).to_bytes(8, "little") + pretoken + count.to_bytes(8, "little"))
        file.seek(0)
        file.write(totals.distinct.to_bytes(8, "little"))
    return totals


def read_ddfreq(path: Path) -> Iterator[Rows]:
    """The rows in the order of the file. Damage raises a FormatError with the position."""
    import numpy as np

    try:
        file = path.open("rb", 1 << 20)
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error}") from error
    with file:
        size, position = os.fstat(file.fileno()).st_size, 8
        header = file.read(8)
        if len(header) < 8:
            raise FormatError(f"{path} is not a .ddfreq file: it has fewer than 8 bytes")
        total = int.from_bytes(header, "little")
        for first in range(0, total, BATCH):
            pretokens, counts = [], []
            for entry in range(first, min(first + BATCH, total)):
                length = int.from_bytes(file.read(8), "little")
                if position + 16 + length > size:
                    raise FormatError(
                        f"{path} ends at byte {size:,} after {entry:,} of its {total:,} entries. It was cut off, or is not a "
                        ".ddfreq file."
                    )
                pretokens.append(file.read(length))
                counts.append(int.from_bytes(file.read(8), "little"))
                position += 16 + length
            offsets = np.zeros(len(pretokens) + 1, np.uint64)
            np.cumsum([len(pretoken) for pretoken in pretokens], out=offsets[1:])
            yield np.frombuffer(b"".join(pretokens), np.uint8), offsets, np.array(counts, np.uint64)
        if position < size:
            raise FormatError(f"{path} goes on after its {total:,} entries, at byte {position:,}")
