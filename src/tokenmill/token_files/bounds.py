"""Readers of the indexes of token files: the offsets of the documents in the ids."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import FormatError
from .formats import MEGATRON, MEGATRON_MAGIC, MEGATRON_TYPES, check_magic, mapped, read_errors


class Bounds(NamedTuple):
    """The contents of an index.

    offsets: int64; document i is ids[offsets[i]:offsets[i + 1]]. Mapped if the file has this array, else in memory.
    dtype: the type of an id, if the index records it.
    sequences, documents: of a Megatron index with documents of several sequences, else None. The offsets of the
        sequences; the index of each document's first sequence, and the number of sequences.
    """

    offsets: np.ndarray
    dtype: str | None = None
    sequences: np.ndarray | None = None
    documents: np.ndarray | None = None


def read_megatron(path: Path) -> Bounds:
    """Read a Megatron index, whose documents are sequences. FormatError if these are not contiguous in the .bin."""
    with read_errors(path), open(path, "rb") as file:
        size, head = path.stat().st_size, file.read(MEGATRON.size)
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
    lengths = mapped(path, "<i4", n, MEGATRON.size)
    pointers = mapped(path, "<i8", n, MEGATRON.size + 4 * n)
    documents = mapped(path, "<i8", m, MEGATRON.size + 12 * n)
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    width = np.dtype(MEGATRON_TYPES[code]).itemsize
    if (wrong := (lengths < 0) | (pointers != width * offsets[:-1])).any():
        i = int(wrong.argmax())
        raise FormatError(
            f"{path}: sequence {i:,} is not contiguous with the others: it has {lengths[i]:,} ids (byte "
            f"{MEGATRON.size + 4 * i:,}) and begins at byte {pointers[i]:,} of the ids (byte "
            f"{MEGATRON.size + 4 * n + 8 * i:,}); those before it end at byte {width * offsets[i]:,}"
        )
    if not m or documents[0] != 0 or documents[-1] != n or (documents[1:] < documents[:-1]).any():
        raise FormatError(f"{path}: the document boundaries do not go from 0 to {n:,}")
    dtype = MEGATRON_TYPES[code]
    if m == n + 1 and (documents[1:] > documents[:-1]).all():
        return Bounds(offsets, dtype)
    return Bounds(offsets[documents], dtype, offsets, documents)


def read_npy(path: Path) -> np.ndarray:
    """Map the one-dimensional array of integers in a .npy file. Raises FormatError for any other file."""
    check_magic(path, "npy")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy parses the header as Python, which may raise any exception
        raise FormatError(f"{path}: not a readable .npy file: {error}") from error
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise FormatError(f"{path}: an array of {array.dtype} with shape {array.shape}; expected a row of ids")
    return array


def read_offsets(path: Path) -> Bounds:
    """Read OUT.offsets.npy."""
    array = read_npy(path)
    if array.dtype != np.int64:
        raise FormatError(f"{path}: offsets of {array.dtype}; expected int64")
    return Bounds(array)


def read_spans(path: Path) -> Bounds:
    """Read OLMo's list of start,end."""
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:  # other programs write more columns
            spans = np.fromiter((int(number) for line in file for number in line.split(",")[:2]), np.int64)
        starts, ends = spans.reshape(-1, 2).T
    except (OSError, EOFError, ValueError, OverflowError, zlib.error) as error:
        raise FormatError(f"{path}: not a list of start,end in gzip: {error}") from error
    offsets = np.concatenate(([0], ends))
    if (wrong := starts != offsets[:-1]).any():
        line = int(wrong.argmax())
        raise FormatError(
            f"{path}: line {line + 1:,} begins at id {starts[line]:,}, and the line before ends at {offsets[line]:,}"
        )
    return Bounds(offsets)


def read_ends(path: Path) -> Bounds:
    """Read datatrove's OUT.ds.index."""
    summary = path.with_suffix(".metadata")
    with read_errors(path):
        size = path.stat().st_size
        width = summary.read_bytes().partition(b"\n")[0].rpartition(b"|")[2] if summary.exists() else b""
    if size % 8:
        raise FormatError(f"{path}: {size:,} bytes are not a whole number of 64-bit offsets. Was the file cut off?")
    offsets = np.zeros(size // 8 + 1, np.int64)
    offsets[1:] = mapped(path, "<i8", size // 8)
    return Bounds(offsets, {b"2": "uint16", b"4": "uint32"}.get(width))


READERS: dict[str, Callable[[Path], Bounds]] = {  # by the suffix of the index
    ".offsets.npy": read_offsets,
    ".csv.gz": read_spans,
    ".ds.index": read_ends,
    ".idx": read_megatron,
}
