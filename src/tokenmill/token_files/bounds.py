"""The indexes of token files: where each document begins and ends, read as it is asked for.

An index may be larger than memory. Single places are looked up in the mapped file; long ranges are read, since mapped pages count
as memory of the process.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FormatError
from ..vocabulary.lazy import lazy
from .formats import BLOCK, MEGATRON, MEGATRON_MAGIC, MEGATRON_TYPES, mapped


class Bounds:
    """The starts of the documents in the ids, and the end of the last one: int64, one number more than there are documents.

    read: gives those from one number up to another, without it; a subclass may define `between` instead.
    dtype: the type of an id, if the index says it.
    """

    dtype: str | None = None

    def __init__(self, length: int, read: Callable[[int, int], np.ndarray] | None = None) -> None:
        self._length, self._read = length, read

    @classmethod
    def of(cls, array: np.ndarray) -> Bounds:
        """Bounds in memory."""
        return cls(len(array), lambda first, last: array[first:last])

    def __len__(self) -> int:
        return self._length

    def between(self, first: int, last: int) -> np.ndarray:
        """Those from number `first` up to `last`, without it."""
        assert self._read is not None
        return self._read(first, last)

    def blocks(self, first: int, last: int) -> Iterator[np.ndarray]:
        """The bounds of the documents from `first` up to `last`, of some at a time: one number more than those."""
        for start in range(first, last, BLOCK):
            yield self.between(start, min(start + BLOCK, last) + 1)

    @lazy
    def array(self) -> np.ndarray:
        return self.between(0, len(self))


class Column(Bounds):
    """Numbers in a row in a file, from a byte on; bounds if they are such."""

    def __init__(self, path: Path, dtype: Any, length: int, offset: int = 0) -> None:
        super().__init__(length)
        self._path, self._type, self._offset = path, np.dtype(dtype), offset

    @lazy
    def array(self) -> np.ndarray:
        return mapped(self._path, self._type, len(self), self._offset)

    def between(self, first: int, last: int) -> np.ndarray:
        if last - first < BLOCK:
            return self.array[first:last]
        start = self._offset + first * self._type.itemsize
        numbers = np.fromfile(self._path, self._type, last - first, offset=start)
        if len(numbers) < last - first:
            raise FormatError(f"{self._path}: the file was cut off while it was read")
        return numbers

    def chunks(self) -> Iterator[np.ndarray]:
        """All numbers, some at a time."""
        return (self.between(start, min(start + BLOCK, len(self))) for start in range(0, len(self), BLOCK))


class MegatronIndex(Bounds):
    """A Megatron index, whose documents consist of sequences.

    sequences: their number. single: whether each document is one sequence. documents: the number of the first sequence of each document, and of all.
    Raises FormatError if the sequences are not contiguous in the .bin, too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            size = path.stat().st_size
            with open(path, "rb") as file:
                head = file.read(MEGATRON.size)
        except OSError as error:
            raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
        if len(head) < MEGATRON.size or not head.startswith(MEGATRON_MAGIC):
            raise FormatError(f"{path}: not a Megatron index: it does not start with MMIDIDX")
        _, version, code, n, m = MEGATRON.unpack(head)
        if version != 1 or code not in MEGATRON_TYPES:
            raise FormatError(
                f"{path}: version {version} and type {code}; known are version 1 and types {[*MEGATRON_TYPES]}"
            )
        end = MEGATRON.size + 12 * n + 8 * m
        if size not in (end, end + n):  # one byte per sequence may follow: its mode
            raise FormatError(f"{path}: {size:,} bytes, where {n:,} sequences in {m:,} documents take {end:,}")
        super().__init__(m)
        self.dtype, self.sequences = MEGATRON_TYPES[code], n
        self._width = np.dtype(self.dtype).itemsize
        self.lengths = Column(path, "<i4", n, MEGATRON.size)
        self._pointers = Column(path, "<i8", n, MEGATRON.size + 4 * n)
        self.documents = Column(path, "<i8", m, MEGATRON.size + 12 * n)
        self.single = True
        self._end = self._checked()

    def _checked(self) -> int:
        """The number of ids."""
        start = first = 0
        for lengths, pointers in zip(self.lengths.chunks(), self._pointers.chunks(), strict=True):
            ends = np.cumsum(lengths, dtype=np.int64)
            expected = (ends - lengths + start) * self._width
            if (wrong := (lengths < 0) | (pointers != expected)).any():
                i = int(wrong.argmax())
                number = first + i
                raise FormatError(
                    f"{self._path}: sequence {number:,} is not contiguous with the others: it has {lengths[i]:,} ids (byte "
                    f"{MEGATRON.size + 4 * number:,}) and begins at byte {pointers[i]:,} of the ids (byte "
                    f"{MEGATRON.size + 4 * self.sequences + 8 * number:,}); those before it end at byte {expected[i]:,}"
                )
            start, first = start + int(ends[-1]), first + len(lengths)
        n = len(self.documents)
        right = n > 0 and [self.documents.between(i, i + 1)[0] for i in (0, n - 1)] == [0, self.sequences]
        for documents in self.documents.blocks(0, n - 1):
            right = right and not (documents[1:] < documents[:-1]).any()
            self.single = self.single and bool((np.diff(documents) == 1).all())
        if not right:
            raise FormatError(f"{self._path}: the document boundaries do not go from 0 to {self.sequences:,}")
        return start

    def between(self, first: int, last: int) -> np.ndarray:
        if last <= first:
            return np.zeros(0, np.int64)
        documents = self.documents.between(first, last)
        low, high = int(documents[0]), int(documents[-1])
        starts = self._pointers.between(low, min(high + 1, self.sequences)) // self._width
        if high == self.sequences:
            starts = np.append(starts, self._end)
        return starts[documents - low]


def read_npy(path: Path) -> np.ndarray:
    """The one-dimensional array of integers in a .npy file, mapped. Raises FormatError for any other file."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy parses the header as Python, and raises whatever that raises
        raise FormatError(f"{path}: not a readable .npy file: {error}") from error
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise FormatError(f"{path}: an array of {array.dtype} with shape {array.shape}; expected a row of ids")
    return array


def read_offsets(path: Path) -> Bounds:
    """OUT.offsets.npy."""
    array: Any = read_npy(path)
    if array.dtype != np.int64:
        raise FormatError(f"{path}: offsets of {array.dtype}; expected int64")
    return Column(path, array.dtype, len(array), array.offset)


def read_spans(path: Path) -> Bounds:
    """OLMo's list of start,end, which is held in memory."""
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:  # other programs write more columns
            spans = np.fromiter((int(part) for line in file for part in line.split(",")[:2]), np.int64)
        starts, ends = spans.reshape(-1, 2).T
    except (OSError, EOFError, ValueError, OverflowError, zlib.error) as error:
        raise FormatError(f"{path}: not a list of start,end in gzip: {error}") from error
    bounds = np.concatenate(([0], ends))
    if (wrong := starts != bounds[:-1]).any():
        line = int(wrong.argmax())
        raise FormatError(
            f"{path}: line {line + 1:,} begins at id {starts[line]:,}, and the line before ends at {bounds[line]:,}"
        )
    return Bounds.of(bounds)


def read_ends(path: Path) -> Bounds:
    """datatrove's OUT.ds.index."""
    try:
        size = path.stat().st_size
        summary = path.with_suffix(".metadata")
        width = summary.read_bytes().partition(b"\n")[0].rpartition(b"|")[2] if summary.exists() else b""
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    if size % 8:
        raise FormatError(f"{path}: {size:,} bytes are not a whole number of 64-bit offsets. Was the file cut off?")
    numbers = Column(path, "<i8", size // 8)

    def between(first: int, last: int) -> np.ndarray:
        ends = numbers.between(max(first - 1, 0), max(last - 1, 0)).astype(np.int64)
        return ends if first or not last else np.concatenate(([0], ends))

    bounds = Bounds(size // 8 + 1, between)
    bounds.dtype = {b"2": "uint16", b"4": "uint32"}.get(width)
    return bounds


READERS: dict[str, Callable[[Path], Bounds]] = {  # by the suffix of the index
    ".offsets.npy": read_offsets,
    ".csv.gz": read_spans,
    ".ds.index": read_ends,
    ".idx": MegatronIndex,
}
