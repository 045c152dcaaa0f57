"""Decompressors: the bytes of a compressed file as chunks of plain bytes, in bounded memory.

Where damage is met does not depend on the sizes that a caller reads, nor on the number of threads.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..errors import require

STORED_STEP = 1 << 14  # bytes read from a compressed file at a time
PLAIN_STEP = 1 << 16  # bytes that a decompressor gives at a time
# Stored bytes given to a decompressor at a time. zstandard gives all that they hold, and 4 bytes may hold 128 KiB: so
# few at first, and again after a large output. One input holds 32 MiB at most.
FEED = 1 << 10
SMALL_FEED = 1 << 6
MAX_WINDOW = 1 << 31  # what `zstd --ultra --long=31` needs to be read


class Chunks:
    """An iterator of plain bytes that knows its place in the stored ones."""

    _chunks: Iterator[bytes]

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)

    def stored_position(self) -> int:
        """How many bytes of the file as it is stored have been read."""
        raise NotImplementedError

    def close(self) -> None:
        """Free what is held beside the file."""


class Members(Chunks):
    """The plain bytes of all members of a compressed file. Zeros between members are padding.

    new: makes the decompressor of one member, with the interface of those of bz2 and lzma.
    stored_bytes: how many bytes of the file to read; None for all.
    """

    def __init__(self, file: Any, new: Callable[[], Any], stored_bytes: int | None = None) -> None:
        self._file = file
        self._left = stored_bytes
        self._stored = memoryview(b"")  # read, but not given to a decompressor
        self._chunks = self._decompress(new)

    def stored_position(self) -> int:
        return self._file.tell() - len(self._stored)

    def _decompress(self, new: Callable[[], Any]) -> Iterator[bytes]:
        feed = SMALL_FEED
        if not self._more():
            raise EOFError("it is empty")
        while self._stored:
            member = new()
            while not member.eof:
                if not self._stored and not self._more():
                    raise EOFError("it ends in the middle of the compressed data")
                part, self._stored = self._stored[:feed], self._stored[feed:]
                while True:
                    if plain := member.decompress(part, PLAIN_STEP):
                        yield plain
                    feed = FEED if len(plain) <= 16 * PLAIN_STEP else SMALL_FEED
                    if member.eof or member.needs_input:
                        break
                    part = memoryview(b"")
            rest = bytes(member.unused_data) + bytes(self._stored)
            self._stored = memoryview(rest.lstrip(b"\0"))
            while not self._stored and self._more():
                self._stored = memoryview(bytes(self._stored).lstrip(b"\0"))

    def _more(self) -> bool:
        size = STORED_STEP if self._left is None else min(STORED_STEP, self._left)
        self._stored = memoryview(self._file.read(size))
        if self._left is not None:
            self._left -= len(self._stored)
        return len(self._stored) > 0


class Zlib:
    """zlib's decompressor with the interface of those of bz2 and lzma."""

    def __init__(self, wbits: int, library: Any = zlib) -> None:
        self._zlib = library.decompressobj(wbits)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: Any, size: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail or data, size)


class _Zstd:
    """zstandard's decompressor with the interface of those of bz2 and lzma, but without the limit of the output."""

    needs_input = True

    def __init__(self, decompressor: Any) -> None:
        self._zstd = decompressor
        self.decompress = lambda data, size: decompressor.decompress(data)

    @property
    def eof(self) -> bool:
        return self._zstd.eof

    @property
    def unused_data(self) -> bytes:
        return self._zstd.unused_data


def members(suffix: str, name: str, file: Any) -> Members:
    """The plain bytes of a .gz, .bz2, .xz or .zst by the libraries whose account of damage counts."""
    if suffix == ".zst":
        zstandard = require("zstandard", "corpus", f"reading {name}")
        return Members(file, lambda: _Zstd(zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()))
    new: dict[str, Callable[[], Any]] = {
        ".gz": partial(Zlib, 31),
        ".bz2": bz2.BZ2Decompressor,
        ".xz": lzma.LZMADecompressor,
    }
    return Members(file, new[suffix])
