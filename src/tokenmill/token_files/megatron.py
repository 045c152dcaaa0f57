"""The index of Megatron-LM's indexed datasets: an .idx beside a .bin of raw ids.

All numbers are little-endian:

    9 bytes     MMIDIDX\\0\\0
    uint64      1, the version
    uint8       the type of an id: 8 is uint16, 4 is int32
    uint64      n, the number of sequences
    uint64      m, the number of document boundaries
    int32[n]    the ids in each sequence
    int64[n]    the byte of the .bin at which each sequence begins
    int64[m]    the sequence at which each document begins, and n at the end

tokenmill writes one sequence per document, so m is n + 1. The format has no unsigned type of four bytes: ids of more than
16 bits are int32, whose bytes are the same for ids below 2**31.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import FormatError, OptionName, UsageError

if TYPE_CHECKING:
    import numpy as np

MAGIC = b"MMIDIDX\0\0"
HEAD = struct.Struct("<9sQBQQ")
NARROW = 65_499  # the largest vocabulary whose ids Megatron itself writes as uint16
CODES = {"uint16": 8, "uint32": 4}
TYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}
BLOCK = 1 << 18


def write_index(file: IO[bytes], ends: Callable[[], Iterator[Any]], documents: int, dtype: str) -> None:
    """Write the index of documents that end at `ends`, which come in blocks of int64."""
    import numpy as np

    size = np.dtype(dtype).itemsize
    file.write(HEAD.pack(MAGIC, 1, CODES[dtype], documents, documents + 1))
    first = start = 0
    for block in ends():
        lengths = np.diff(block, prepend=start)
        if lengths.max() >= 1 << 31:
            raise UsageError(
                f"document {first + int(lengths.argmax()):,} has {int(lengths.max()):,} tokens; Megatron's index allows at "
                "most 2,147,483,647. Split it (",
                OptionName("unit"),
                "), or choose another format.",
            )
        file.write(lengths.astype("<i4").tobytes())
        first, start = first + len(block), block[-1]
    start = 0
    for block in ends():
        starts = np.concatenate(([start], block[:-1]))
        file.write((starts * size).astype("<i8").tobytes())
        start = block[-1]
    for first in range(0, documents + 1, BLOCK):
        file.write(np.arange(first, min(first + BLOCK, documents + 1), dtype="<i8").tobytes())


def read_index(path: Path) -> tuple[str, np.ndarray]:
    """The type of an id, and m offsets in ids: document i is ids[offsets[i]:offsets[i + 1]].

    Raises FormatError if the index is damaged, or if its sequences are not contiguous in the .bin.
    """
    import numpy as np

    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            head = file.read(HEAD.size)
            if len(head) < HEAD.size or not head.startswith(MAGIC):
                raise FormatError(f"{path}: not a Megatron index: it does not start with MMIDIDX")
            _, version, code, n, m = HEAD.unpack(head)
            if version != 1 or code not in TYPES:
                raise FormatError(
                    f"{path}: version {version} and type {code}; known are version 1 and types {[*TYPES]}"
                )
            end = HEAD.size + 12 * n + 8 * m
            if size not in (end, end + n):  # one byte per sequence may follow: its mode
                raise FormatError(f"{path}: {size:,} bytes, where {n:,} sequences in {m:,} documents take {end:,}")
            lengths = np.fromfile(file, "<i4", n)
            pointers = np.fromfile(file, "<i8", n)
            documents = np.fromfile(file, "<i8", m)
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    if (lengths < 0).any() or not np.array_equal(pointers, starts[:-1] * np.dtype(TYPES[code]).itemsize):
        raise FormatError(f"{path}: the sequences are not contiguous")
    if not m or documents[0] != 0 or documents[-1] != n or (np.diff(documents) < 0).any():
        raise FormatError(f"{path}: the document boundaries do not go from 0 to {n:,}")
    return TYPES[code], starts[documents]
