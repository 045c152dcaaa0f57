"""From files to blocks: about a megabyte of text each, cut where pieces end, ready for the counting kernel.

A plain text file is one document; a .jsonl or .ndjson file has one document per line. A block holds whole documents,
or a part of one that begins and ends where the scanner is certain of a piece's end whatever stands around it, so blocks
may be counted in any order and by any thread. Several threads may draw blocks from one file.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..corpus.sources import suffix_of
from ..errors import InputError
from ._count_cy import cut
from .decompress import ByteStream

if TYPE_CHECKING:
    from ..split import Splitter

__all__ = ["BLOCK", "Binary", "Block", "Source", "Sources", "encode", "open_source"]

BLOCK = 1 << 20  # stays in the cache between the read and the scan
LOOK = 1 << 16  # how much of a file's beginning tells whether it is text
Binary = Literal["error", "skip", "count"]


class Block:
    """Text for the kernel: `data`, in which document i ends at document_ends[i]. Reused from block to block."""

    def __init__(self, buffered: bool = True) -> None:
        import numpy as np

        self.buffer = bytearray(BLOCK if buffered else 0)
        self.data: bytes | bytearray | memoryview = b""
        self.document_ends = np.zeros(0, np.uint64)
        self.first_line = 0  # where `data` is still JSON lines: the number of the first
        self.documents = 0  # that begin in this block
        self.nbytes = 0

    def set_part(self, length: int, documents: int) -> None:
        """The first `length` bytes of the buffer are (a part of) one document."""
        import numpy as np

        self.data = self.buffer
        self.document_ends = np.array([length], np.uint64)
        self.documents, self.nbytes = documents, length

    def set_documents(self, documents: list[bytes]) -> None:
        import numpy as np

        self.data = b"".join(documents)
        self.document_ends = np.cumsum([len(document) for document in documents], dtype=np.uint64)
        self.documents, self.nbytes = len(documents), len(self.data)


class Source:
    """One file, from which threads draw blocks in turn."""

    def __init__(self, path: Path):
        self.path = path
        self.number = 0  # its place among the sources
        self.lock = threading.Lock()
        self.done = False
        self._stream: ByteStream | None = None
        self._was_read = 0
        self._skip = 0  # bytes that were counted before the count was interrupted

    def draw(self, block: Block, pause: Callable[[], None] = lambda: None) -> bool:
        """Fill `block`; False where the file has no more. Where it must wait for a pipe, it calls `pause`."""
        with self.lock:
            if self.done:
                return False
            try:
                if self._stream is None:
                    self._stream = ByteStream(self.path, pause)
                    self._stream.skip(self._skip, pause)
                self._fill(block, self._stream)
            except BaseException:
                self.close()
                raise
            if self.done:
                self.close()
        self._finish(block)
        return True

    def bytes_read(self) -> int:
        """How many bytes of the file on disk have been read."""
        stream = self._stream
        return stream.bytes_read() if stream is not None else self._was_read

    def place(self) -> list[int]:
        """How far blocks have been drawn, for `resume`; no thread may be drawing."""
        raise NotImplementedError

    def resume(self, place: list[int]) -> None:
        """Begin at a `place` rather than at the front."""
        raise NotImplementedError

    def close(self) -> None:
        self.done = True
        if self._stream is not None:
            self._was_read = self._stream.bytes_read()
            self._stream.close()
            self._stream = None

    def _fill(self, block: Block, stream: ByteStream) -> None:
        """Read the next block, and set `done` with the last; called with the lock held."""
        raise NotImplementedError

    def _finish(self, block: Block) -> None:
        """What is left to do on a block when others may read on."""


class TextSource(Source):
    """A file that is one document."""

    def __init__(self, path: Path, splitter: Splitter, binary: Binary):
        super().__init__(path)
        self._scanner = splitter.scanner
        self._binary = binary
        self._rest = b""  # read, but not yet given out: what follows the last certain cut
        self._begun = False

    def place(self) -> list[int]:
        return [self._stream.position - len(self._rest) if self._stream is not None else self._skip]

    def resume(self, place: list[int]) -> None:
        (self._skip,) = place
        self._begun = self._skip > 0

    def _fill(self, block: Block, stream: ByteStream) -> None:
        if len(block.buffer) > BLOCK and len(self._rest) < BLOCK // 2:
            block.buffer = bytearray(BLOCK)  # it had grown for a part of the text without a certain cut
        length = len(self._rest)
        if length:
            block.buffer[:length] = self._rest
        while True:
            if length >= len(block.buffer) // 2:
                block.buffer.extend(bytes(len(block.buffer)))
            with memoryview(block.buffer) as view:
                wanted = len(view) - length
                got = stream.readinto(view[length:])
            length += got
            if not self._begun and self._is_binary(block.buffer, min(length, LOOK)):
                self.done = True
                block.set_part(0, 0)
                return
            if got < wanted:
                self.done = True
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


class JsonLinesSource(Source):
    """A file with one document per line: the string in `field` of the JSON object there. Empty lines are passed over."""

    def __init__(self, path: Path, field: str):
        super().__init__(path)
        self._field = field
        self._rest = b""
        self._line = 0  # how many have been given out

    def place(self) -> list[int]:
        return [self._stream.position - len(self._rest) if self._stream is not None else self._skip, self._line]

    def resume(self, place: list[int]) -> None:
        self._skip, self._line = place

    def _fill(self, block: Block, stream: ByteStream) -> None:
        parts = [self._rest]
        while True:
            with memoryview(block.buffer) as view:
                got = stream.readinto(view)
                end = bytes(view[:got]).rfind(b"\n") + 1
                self.done = got < len(view)
                if self.done:
                    end = got
                parts.append(bytes(view[:end]))
                if end or self.done:
                    self._rest = bytes(view[end:got])
                    break
                parts[-1] = bytes(view[:got])
        block.data = b"".join(parts)
        block.first_line = self._line + 1
        self._line += block.data.count(b"\n")

    def _finish(self, block: Block) -> None:
        block.set_documents([encode(text) for text in self._texts(block.data.split(b"\n"), block.first_line)])

    def _texts(self, lines: Iterable[bytes], first: int) -> Iterator[str]:
        for number, line in enumerate(lines, first):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:  # ValueError is JSONDecodeError and UnicodeDecodeError
                raise InputError(f"{self.path}, line {number}: this is no JSON: {error}") from error
            text = record.get(self._field) if isinstance(record, dict) else None
            if not isinstance(text, str):
                found = f"only {', '.join(map(repr, record))}" if isinstance(record, dict) else "and is no JSON object"
                raise InputError(
                    f"{self.path}, line {number}: it has no string in the field {self._field!r}, {found}. "
                    "Name the field that holds the text (field=..., --field)."
                )
            yield text


class Sources:
    """Hands the threads their sources: each opens one of its own while there are any, then helps with the others'."""

    def __init__(self, sources: Iterable[Source]):
        self._sources = list(sources)
        for number, source in enumerate(self._sources):
            source.number = number
        self._next = 0  # the first that no thread has taken yet
        self._open: list[Source] = []
        self._read = 0  # bytes of the files that are done
        self._lock = threading.Lock()

    def next(self) -> Source | None:
        """A source for a thread to draw from; None when there is nothing left."""
        with self._lock:
            self._read += sum(source.bytes_read() for source in self._open if source.done)
            self._open = [source for source in self._open if not source.done]
            if self._next < len(self._sources):
                self._next += 1
                self._open.append(self._sources[self._next - 1])
                return self._open[-1]
            if not self._open:
                return None
            self._open.append(self._open.pop(0))
            return self._open[-1]

    def bytes_read(self) -> int:
        """How many bytes of the files on disk have been read."""
        with self._lock:
            return self._read + sum(source.bytes_read() for source in self._open)

    def places(self) -> dict[str, Any]:
        """How far all has been drawn, for `resume`; no thread may be drawing."""
        unfinished = [[source.number, *source.place()] for source in self._open if not source.done]
        return {"next": self._next, "unfinished": unfinished}

    def resume(self, places: dict[str, Any]) -> None:
        """Go on where an interrupted count was."""
        self._next = places["next"]
        unfinished = {n: place for n, *place in places["unfinished"]}
        for n, place in unfinished.items():
            self._sources[n].resume(place)
            self._open.append(self._sources[n])
        done = (source for n, source in enumerate(self._sources[: self._next]) if n not in unfinished)
        self._read = sum(os.path.getsize(source.path) for source in done)

    def close(self) -> None:
        """Close what is open. No thread may be drawing any more."""
        for source in self._open:
            with source.lock:
                source.close()


def open_source(path: Path, splitter: Splitter, field: str, binary: Binary) -> Source:
    """The source for a file, by the ending of its name. It is opened when the first block is drawn."""
    if suffix_of(path) in (".jsonl", ".ndjson"):
        return JsonLinesSource(path, field)
    return TextSource(path, splitter, binary)


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
