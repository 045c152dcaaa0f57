"""From files to blocks: about a megabyte of text each, cut where pretokens end, ready for the counting kernel.

A block holds whole documents, or a part of one that begins and ends where the scanner is certain of a pretoken's end
whatever stands around it, so blocks may be counted in any order and by any thread. Several threads may draw blocks from
one file. Here are the files that are one document each; records.py has those of many.
"""

from __future__ import annotations

import itertools
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..errors import InputError
from ..sources.find import OnSkip
from ._count_cy import cut
from .decompress import ByteStream

if TYPE_CHECKING:
    import numpy as np

    from ..split import Splitter

__all__ = ["BLOCK", "Binary", "Block", "Source", "Span", "StreamSource", "TextSource", "encode"]

BLOCK = 1 << 20  # stays in the cache between the read and the scan
LOOK = 1 << 16  # how much of a file's beginning tells whether it is text
Binary = Literal["error", "skip", "count"]
Span = tuple[int, int]


class Block:
    """Text for the kernel: `data`, in which document i ends at document_ends[i]. Reused from block to block.

    No NumPy here: the threads would stand still until it is imported, which takes as long as counting 40 MB.
    """

    def __init__(self, buffered: bool = True) -> None:
        self.buffer = bytearray(BLOCK if buffered else 0)
        self.data: bytes | bytearray | memoryview = b""
        self.document_ends: array | np.ndarray = array("Q")
        self.first_line = 0  # where `data` is still JSON lines: the number of the first
        self.documents = 0  # that begin in this block
        self.nbytes = 0

    def set_part(self, length: int, documents: int) -> None:
        """The first `length` bytes of the buffer are (a part of) one document."""
        self.data = self.buffer
        self.document_ends = array("Q", [length])
        self.documents, self.nbytes = documents, length

    def set_documents(self, documents: list[bytes]) -> None:
        self.data = b"".join(documents)
        self.document_ends = array("Q", itertools.accumulate(map(len, documents)))
        self.documents, self.nbytes = len(documents), len(self.data)


class Source:
    """One file, or a span of it, from which threads draw blocks in turn.

    span: where to begin and to end, for files that are divided among machines. What exactly that is, the kind of source
        knows; neighbouring spans have all of the file between them, each part once.
    on_skip: called for what cannot be read; without it that is an InputError.
    """

    def __init__(self, path: Path | str, span: Span | None = None, on_skip: OnSkip | None = None):
        self.path = path
        self.number = 0  # its place among the sources
        self.lock = threading.Lock()
        self.done = False
        self._span = span
        self._on_skip = on_skip
        self._opened = False

    def draw(self, block: Block, pause: Callable[[], None] = lambda: None) -> bool:
        """Fill `block`; False where the file has no more. Where it must wait for a pipe, it calls `pause`."""
        with self.lock:
            if self.done:
                return False
            try:
                if not self._opened:
                    self._opened = True
                    self._open(pause)
                self._fill(block)
            except BaseException:
                self.close()
                raise
            if self.done:
                self.close()
        self._finish(block)
        return True

    def bytes_read(self) -> int:
        """How many bytes of the file on disk have been read."""
        raise NotImplementedError

    def place(self) -> list[int]:
        """How far blocks have been drawn, for `resume`; no thread may be drawing."""
        raise NotImplementedError

    def resume(self, place: list[int]) -> None:
        """Begin at a `place` rather than at the front."""
        raise NotImplementedError

    def close(self) -> None:
        """Draw no more, and close the file."""
        raise NotImplementedError

    def _open(self, pause: Callable[[], None]) -> None:
        """Open the file; called before the first block, with the lock held."""
        raise NotImplementedError

    def _fill(self, block: Block) -> None:
        """Read the next block, and set `done` with the last; called with the lock held."""
        raise NotImplementedError

    def _finish(self, block: Block) -> None:
        """What is left to do on a block when others may read on."""


class StreamSource(Source):
    """A source that is read as a stream of bytes."""

    def __init__(self, path: Path | str, span: Span | None = None, on_skip: OnSkip | None = None):
        super().__init__(path, span, on_skip)
        self._stream: ByteStream | None = None
        self._skip = 0  # bytes that were counted before the count was interrupted
        self._rest = b""  # read, but not yet given out
        self._was_read = 0
        self._end: int | None = None  # of the span

    def bytes_read(self) -> int:
        stream = self._stream
        return self._was_read if stream is None else stream.bytes_read()

    def close(self) -> None:
        self.done = True
        if self._stream is not None:
            self._was_read = self._stream.bytes_read()
            self._stream.close()
            self._stream = None

    def _position(self) -> int:
        """How many bytes of the text have been given out."""
        return self._skip if self._stream is None else self._stream.position - len(self._rest)

    def _open(self, pause: Callable[[], None]) -> None:
        self._stream = ByteStream(self.path, pause, self._on_skip)
        if self._span is not None:
            self._skip, self._end = self._boundary(self._span[0]), self._boundary(self._span[1])
        self._stream.skip(self._skip, pause)

    def _boundary(self, offset: int) -> int:
        """Where the text may be divided, as near to `offset` as needs be: the same for both who have it as a bound."""
        raise NotImplementedError

    def _read(self, buffer: memoryview) -> tuple[int, bool]:
        """Fill `buffer`; how many bytes that were, and whether they are the last."""
        stream = self._stream
        assert stream is not None
        if self._end is not None and stream.position + len(buffer) >= self._end:
            return stream.readinto(buffer[: max(0, self._end - stream.position)]), True
        n = stream.readinto(buffer)
        return n, n < len(buffer)


class TextSource(StreamSource):
    """A file that is one document."""

    def __init__(
        self,
        path: Path | str,
        splitter: Splitter,
        binary: Binary,
        span: Span | None = None,
        on_skip: OnSkip | None = None,
    ):
        super().__init__(path, span, on_skip)
        self._scanner = splitter.scanner
        self._binary = binary
        self._begun = False

    def place(self) -> list[int]:
        return [self._position()]

    def resume(self, place: list[int]) -> None:
        (self._skip,) = place
        self._begun = self._skip > 0

    def _open(self, pause: Callable[[], None]) -> None:
        super()._open(pause)
        if self._span is not None and self._skip > 0:
            self._begun = True
            head = bytearray(LOOK)
            stream = ByteStream(self.path)
            n = stream.readinto(memoryview(head))
            stream.close()
            if self._is_binary(head, n):
                self._end = 0

    def _boundary(self, offset: int) -> int:
        if offset == 0 or self._scanner is None:
            return offset
        window = bytearray(LOOK)
        while True:
            stream = ByteStream(self.path)
            stream.skip(offset, lambda: None)
            n = stream.readinto(memoryview(window))
            stream.close()
            if place := cut(self._scanner, window, 0, n):
                return offset + place
            if n < len(window):
                return offset + n  # the end of the file
            window = bytearray(2 * len(window))

    def _fill(self, block: Block) -> None:
        if len(block.buffer) > BLOCK and len(self._rest) < BLOCK // 2:
            block.buffer = bytearray(BLOCK)  # it had grown for a part of the text without a certain cut
        length = len(self._rest)
        if length:
            block.buffer[:length] = self._rest
        while True:
            if length >= len(block.buffer) // 2:
                block.buffer.extend(bytes(len(block.buffer)))
            with memoryview(block.buffer) as view:
                got, self.done = self._read(view[length:])
            length += got
            if not self._begun and self._is_binary(block.buffer, min(length, LOOK)):
                self.done = True
                block.set_part(0, 0)
                return
            if self.done:
                place = length
                break
            # A pattern that is no automaton knows no certain cut: the whole document is read.
            place = cut(self._scanner, block.buffer, 0, length) if self._scanner is not None else 0
            if place:
                break
        self._rest = bytes(memoryview(block.buffer)[place:length])
        block.set_part(place, 0 if self._begun else 1)
        self._begun = True

    def _is_binary(self, buffer: bytearray, length: int) -> bool:
        """Whether to leave the file out as binary; raises where that is an error."""
        if self._binary == "count":
            return False
        start = bytes(memoryview(buffer)[:length])
        nul = start.find(0)
        if nul >= 0:
            found = f"a NUL byte at offset {nul}"
            if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
                found += ", and it begins like UTF-16; convert it to UTF-8"
        else:
            strange = start.decode("utf-8", "replace").count("�")
            if 3 * strange <= length:
                return False
            found = f"{strange:,} of its first {length:,} bytes are not UTF-8; if it is text of another encoding, convert it"
        if self._binary == "skip":
            return True
        raise InputError(
            f"{self.path} looks binary: {found}. "
            "Leave it out, or pass binary='skip' to pass over such files or binary='count' to count their bytes "
            "all the same (--binary skip, --binary count)."
        )


def encode(text: str | bytes) -> bytes:
    """UTF-8, with pairs of surrogates joined and lone ones replaced by U+FFFD, as tiktoken does. Bytes stay as they are.

    >>> encode("a\\ud800b")
    b'a\\xef\\xbf\\xbdb'
    """
    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return bytes(text)
