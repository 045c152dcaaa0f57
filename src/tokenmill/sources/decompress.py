"""Decompressors: a compressed file as chunks of plain bytes, in bounded memory.

A chunk is at most a few times PLAIN_STEP, or what SMALL_FEED stored bytes of a .zst contain. A decompressor also needs
the window that the file asks for, which is refused above half of the free memory.
"""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import os
import weakref
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..errors import MissingExtraError, require
from ..kernels.machine import available_cores, free_memory

STORED_STEP = 1 << 14  # bytes read from a compressed file at a time
PLAIN_STEP = 1 << 16  # bytes that a decompressor returns at a time
# Stored bytes given to a decompressor at a time. zstandard returns all that they contain, and 4 bytes may contain
# 128 KiB: so few at first, and again after a large output. One input contains 32 MiB at most.
FEED = 1 << 10
SMALL_FEED = 1 << 6
MAX_WINDOW = 1 << 31  # what `zstd --ultra --long=31` needs to be read
THREADS_FROM = 1 << 20  # stored bytes of a .bz2: for a smaller file, starting threads costs more than reading
MOST_THREADS = 8  # a block of a .bz2 is 46 MB of plain bytes at most, and each thread has two


class MemberReader:
    """An iterator of the plain bytes of all members of a compressed file. Zeros between members are padding.

    head: the first bytes, which were read from the file already.
    new: returns the decompressor of one member.
    steps: whether that can return its output in steps.
    """

    def __init__(self, file: Any, new: Callable[[], Any], head: bytes = b"", steps: bool = True) -> None:
        self._file = file
        self._stored = memoryview(head)  # bytes read, but not passed to a decompressor
        self._step = [PLAIN_STEP] if steps else []
        self._chunks = self._decompress(new)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)

    def close(self) -> None:
        """Free what was opened in addition to the file."""

    def stored_position(self) -> int:
        """Return the number of stored bytes that were decompressed."""
        return self._file.tell() - len(self._stored)

    def _decompress(self, new: Callable[[], Any]) -> Iterator[bytes]:
        feed = SMALL_FEED
        if not self._stored and not self._more():
            raise EOFError("it is empty")
        while self._stored:
            member = new()
            while not member.eof:
                if not self._stored and not self._more():
                    raise EOFError("it ends in the middle of the compressed data")
                data, self._stored = self._stored[:feed], self._stored[feed:]
                for plain in self._pieces(member, data):
                    if plain:
                        yield plain
                    feed = FEED if len(plain) <= 16 * PLAIN_STEP else SMALL_FEED
            rest = bytes(member.unused_data) + bytes(self._stored)
            self._stored = memoryview(rest.lstrip(b"\0"))
            while not self._stored and self._more():
                self._stored = memoryview(bytes(self._stored).lstrip(b"\0"))

    def _pieces(self, member: Any, data: Any) -> Iterator[bytes]:
        """Yield the plain bytes of `data`. zlib returns the unread rest; bz2 and lzma report whether they need more."""
        while True:
            yield member.decompress(data, *self._step)
            data = getattr(member, "unconsumed_tail", b"")
            if not data and (member.eof or getattr(member, "needs_input", True)):
                return

    def _more(self) -> bool:
        self._stored = memoryview(self._file.read(STORED_STEP))
        return len(self._stored) > 0


class ThreadedBzip2Reader(MemberReader):
    """A .bz2 read on all cores by rapidgzip. If that fails, bz2 reads it from the start and reports the damage."""

    def __init__(self, name: str, file: Any) -> None:
        rapidgzip = require("rapidgzip", "corpus", "reading .bz2 on all cores")
        self._threads = rapidgzip.IndexedBzip2File(name, parallelization=min(available_cores(), MOST_THREADS))
        weakref.finalize(self, self._threads.close)  # it aborts a process that ends before its files are closed
        self._size = os.path.getsize(name)
        super().__init__(file, bz2.BZ2Decompressor)
        self._chunks = self._fast_then(self._chunks)

    def stored_position(self) -> int:
        return max(self._threads.tell_compressed() // 8, super().stored_position())

    def close(self) -> None:
        self._threads.close()

    def _fast_then(self, members: Iterator[bytes]) -> Iterator[bytes]:
        position, rest = 0, b""
        with contextlib.suppress(Exception):  # bz2 decides what can be read, and reports what is wrong
            while data := self._threads.read(16 * PLAIN_STEP):
                rest += data
                if len(rest) > PLAIN_STEP:  # bz2 returns less before damage, by at most this
                    yield rest[:-PLAIN_STEP]
                    position, rest = position + len(rest) - PLAIN_STEP, rest[-PLAIN_STEP:]
            if self.stored_position() == self._size:  # rapidgzip leaves out what is not a .bz2 at the end
                if rest:
                    yield rest
                return
        for data in members:
            if position < len(data):
                yield data[position:]
            position = max(0, position - len(data))


def decompressed(suffix: str, name: str, file: Any, head: bytes = b"") -> MemberReader:
    """Return the reader of a .gz, .bz2, .xz or .zst. Its chunks are not empty. head: see `MemberReader`."""
    if suffix == ".zst":
        zstandard = require("zstandard", "corpus", f"reading {name}")
        frames = zstandard.ZstdDecompressor(max_window_size=max_window())
        return MemberReader(file, frames.decompressobj, head, steps=False)
    if suffix == ".gz":
        library: Any = zlib
        with contextlib.suppress(MissingExtraError):  # ISA-L takes 0.4 of zlib's time
            library = require("isal.isal_zlib", "corpus", "faster .gz")
        return MemberReader(file, partial(library.decompressobj, 31), head)
    if suffix == ".xz":
        return MemberReader(file, partial(lzma.LZMADecompressor, memlimit=max_window()), head)
    large = not head and isinstance(file, io.FileIO) and os.fstat(file.fileno()).st_size >= THREADS_FROM
    if large and available_cores() > 1:
        with contextlib.suppress(MissingExtraError, UnicodeEncodeError):  # of a name that is not UTF-8
            return ThreadedBzip2Reader(name, file)
    return MemberReader(file, bz2.BZ2Decompressor, head)


def max_window() -> int:
    """Return the bytes of a window or dictionary that a file may ask for."""
    return min(MAX_WINDOW, free_memory() // 2)
