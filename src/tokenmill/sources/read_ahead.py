"""Compressed files decompressed by threads ahead of the reader, frames and blocks at the same time where the format allows.

A .bz2 has blocks that rapidgzip finds. A .zst may have many frames, and a .xz many blocks, as `pzstd` and `xz -T` write
them; one that is too large for that is decompressed by one thread, like a .gz.

Where a thread fails, the file is read from the front again by `members`, which gives what can be read and says what is
wrong. So damage is reported as if no thread had read ahead.
"""

from __future__ import annotations

import io
import itertools
import os
import queue
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from ..errors import MissingExtraError, require
from ..kernels.machine import available_cores
from .decompress import MAX_WINDOW, PLAIN_STEP, Chunks, Members, Zlib, members

AHEAD_FROM = 1 << 20  # stored bytes: starting threads costs more than reading a smaller file
STEP = 1 << 20  # plain bytes that one call of a thread makes of a stream
ZSTD_BLOCK = 1 << 17  # plain bytes in a block of a .zst, at most
FRAME = 8 << 20  # plain bytes of a frame that is decompressed whole, at most
HELD = 96 << 20  # plain bytes that the threads make of blocks of .xz at the same time, at most

Call = Callable[[], list[bytes]]


def decompressed(suffix: str, name: str, file: Any) -> Chunks:
    """The plain bytes of a .gz, .bz2, .xz or .zst, in chunks that are not empty."""
    if not isinstance(file, io.FileIO) or os.fstat(file.fileno()).st_size < AHEAD_FROM:
        return members(suffix, name, file)
    parts: Parts = Stream(suffix, name, file)
    if suffix in AT_ONCE:
        with suppress(Exception):  # there is only one part, or the file is damaged, or the library is not installed
            parts = AT_ONCE[suffix](name)
    return Ahead(file, parts, partial(members, suffix, name, file))


class Parts:
    """Parts of a file, which `threads` threads decompress."""

    threads = 1

    def calls(self) -> Iterator[Call]:
        """What makes the chunks of each part, in order. A call or this iterator raises where the file is damaged."""
        raise NotImplementedError

    def stored_position(self) -> int:
        """How many bytes of the file have been read."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what was opened beside the file."""


class Ahead(Chunks):
    """The chunks of all parts in order.

    again: makes the Members of the file, which is at its front.
    """

    def __init__(self, file: Any, parts: Parts, again: Callable[[], Members]) -> None:
        self._file = file
        self._again = again
        self._parts: Parts | Members = parts
        self._pool = ThreadPoolExecutor(parts.threads, thread_name_prefix="tokenmill-decompress")
        self._chunks = self._decompress(parts)
        weakref.finalize(self, parts.close)  # rapidgzip aborts a process that ends before its files are closed

    def stored_position(self) -> int:
        return self._parts.stored_position()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._parts.close()

    def _decompress(self, parts: Parts) -> Iterator[bytes]:
        position = size = 0
        # `members` gives less before damage than threads do, but not by as much as a step.
        held: deque[bytes] = deque()
        try:
            for chunk in self._in_order(parts):
                held.append(chunk)
                size += len(chunk)
                while size - len(held[0]) >= PLAIN_STEP:
                    size -= len(held[0])
                    position += len(held[0])
                    yield held.popleft()
            yield from held
            return
        except Exception:
            self.close()
        self._file.seek(0)
        self._parts = again = self._again()
        for data in again:
            if position < len(data):
                yield data[position:]
            position = max(0, position - len(data))

    def _in_order(self, parts: Parts) -> Iterator[bytes]:
        waiting: deque[Future[list[bytes]]] = deque()
        for call in parts.calls():
            waiting.append(self._pool.submit(call))
            if len(waiting) > parts.threads + 1:
                yield from filter(None, waiting.popleft().result())
        while waiting:
            yield from filter(None, waiting.popleft().result())


class Stream(Parts):
    """A file as one part after the other, each as large as a step: a thread goes on where it ended the last call."""

    def __init__(self, suffix: str, name: str, file: Any) -> None:
        self._members = members(suffix, name, file)
        if suffix == ".gz":
            with suppress(MissingExtraError):  # ISA-L takes 0.4 of zlib's time
                self._members = Members(file, partial(Zlib, 31, require("isal.isal_zlib", "corpus", "faster .gz")))
        self._ended = False
        self.stored_position = self._members.stored_position

    def calls(self) -> Iterator[Call]:
        while not self._ended:
            yield self._step

    def _step(self) -> list[bytes]:
        chunks: list[bytes] = []
        size = 0
        while size < STEP:
            chunk = next(self._members, None)
            if chunk is None:
                self._ended = True
                break
            chunks.append(chunk)
            size += len(chunk)
        return chunks


class Bzip2(Parts):
    """A .bz2 read by rapidgzip, which has threads of its own."""

    def __init__(self, name: str) -> None:
        rapidgzip = require("rapidgzip", "corpus", "reading .bz2 on all cores")
        self._file = rapidgzip.IndexedBzip2File(name, parallelization=available_cores())
        self._size = os.path.getsize(name)
        self._ended = False
        self.close = self._file.close

    def calls(self) -> Iterator[Call]:
        while not self._ended:
            yield self._step

    def _step(self) -> list[bytes]:
        data = self._file.read(STEP)
        self._ended = not data
        if self._ended and self.stored_position() < self._size:  # rapidgzip leaves out what is not a .bz2 at the end
            raise EOFError("there is more")
        return [data]

    def stored_position(self) -> int:
        return self._file.tell_compressed() // 8


class Frames(Parts):
    """A .zst of frames that are not large. Their ends are found by their blocks (RFC 8878, section 3.1.1)."""

    def __init__(self, name: str) -> None:
        self._zstandard = require("zstandard", "corpus", f"reading {name}")
        self.threads = min(available_cores(), 8)
        self._file = open(name, "rb")  # noqa: SIM115  closed by close
        self._size = os.fstat(self._file.fileno()).st_size
        self.close = self._file.close
        try:
            if self._frame_end(0) == self._size:
                raise ValueError("one frame")
        except BaseException:
            self.close()
            raise

    def stored_position(self) -> int:
        return self._file.tell()

    def calls(self) -> Iterator[Call]:
        frames: list[bytes] = []
        start = end = 0
        while end < self._size:
            at, end = end, self._frame_end(end)
            self._file.seek(at)
            frames.append(self._file.read(end - at))
            if end - start >= STEP // 4 or end == self._size:
                yield partial(self._decompress, frames)
                frames, start = [], end

    def _frame_end(self, start: int) -> int:
        """Where the frame at `start` ends. Raises for one that is large, damaged or cut off."""
        self._file.seek(start)
        head = self._file.read(18)
        if head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5:  # a skippable frame
            end = start + 8 + int.from_bytes(head[4:8], "little")
        else:
            about = self._zstandard.get_frame_parameters(head)
            end = start + self._zstandard.frame_header_size(head)
            last = blocks = 0
            while not last:
                self._file.seek(end)
                block = int.from_bytes(self._file.read(3), "little")
                last, kind, size = block & 1, block >> 1 & 3, block >> 3
                end += 3 + (1 if kind == 1 else size)  # 1: one byte that is repeated
                blocks += 1
                if blocks * ZSTD_BLOCK > FRAME:
                    raise ValueError("a large frame")
            end += 4 * about.has_checksum
            if about.content_size not in (-1, (1 << 64) - 1) and about.content_size > FRAME:
                raise ValueError("a large frame")
        if end > self._size:
            raise EOFError("a frame is cut off")
        return end

    def _decompress(self, frames: list[bytes]) -> list[bytes]:
        new = partial(self._zstandard.ZstdDecompressor, max_window_size=MAX_WINDOW)
        whole = (frame for frame in frames if frame[0] >> 4 != 5)
        return [new().decompress(frame, max_output_size=FRAME) for frame in whole]


class Blocks(Parts):
    """A .xz of several blocks, found by its index."""

    def __init__(self, name: str) -> None:
        self._open = partial(require("xz", "corpus", "reading .xz on all cores").open, name)
        self._size = os.path.getsize(name)
        self._files: list[Any] = [self._open()]
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._free.put(self._files[0])
        self._bounds = [*self._files[0].block_boundaries, len(self._files[0])]
        self._given = 0
        largest = max(end - start for start, end in itertools.pairwise(self._bounds))
        self.threads = min(available_cores(), HELD // max(1, largest))
        if len(self._bounds) < 3 or self.threads < 2:
            self.close()
            raise ValueError("nothing to do at the same time")

    def stored_position(self) -> int:
        return self._size * self._given // max(1, self._bounds[-1])

    def close(self) -> None:
        for file in self._files:
            file.close()

    def calls(self) -> Iterator[Call]:
        for start, end in itertools.pairwise(self._bounds):
            self._given = end
            yield partial(self._read, start, end)

    def _read(self, start: int, end: int) -> list[bytes]:
        try:
            file = self._free.get_nowait()
        except queue.Empty:
            file = self._open()
            self._files.append(file)
        file.seek(start)
        data = file.read(end - start)
        if len(data) < end - start:
            raise EOFError("a block is cut off")
        self._free.put(file)
        return [data]


AT_ONCE: dict[str, Callable[[str], Parts]] = {".bz2": Bzip2, ".zst": Frames, ".xz": Blocks}
