"""Byte streams: the plain bytes of one source, whatever it is stored as.

- Files, pipes, standard input ("-") and URLs read alike. Waiting for a pipe does not delay Ctrl-C.
- .gz, .bz2, .xz and .zst are decompressed, with any number of members, streams or frames in a file. The member
  Posts.xml of a .7z is read in the same way.
- Memory is bounded, also for a decompression bomb.
- A byte order mark is dropped. UTF-16 and UTF-32 text that begins with one becomes UTF-8.
- Damage raises InputError, after all bytes before it were given out. Where the bytes end does not depend on the sizes
  that the caller reads, because the decompressors always work in the same steps.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import io
import itertools
import lzma
import os
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError, MissingExtraError, require
from .find import COMPRESSIONS, STDIN, Source, cpu_count, is_url, open_url, reason_of, shown

__all__ = ["ByteStream", "Pause"]

Pause = Callable[[], None]

STORED_STEP = 1 << 14  # bytes read from a compressed file at a time
PLAIN_STEP = 1 << 16  # bytes that a decompressor gives at a time
# Stored bytes given to a decompressor at a time. zstandard gives all that they hold, and 4 bytes may hold 128 KiB: so
# few at first, and again behind a large output. One input holds 32 MiB at most.
FEED = 1 << 10
SMALL_FEED = 1 << 6
MAX_WINDOW = 1 << 31  # what `zstd --ultra --long=31` needs to be read
PARALLEL_BZ2_BYTES = 1 << 20  # starting threads costs more than reading a smaller .bz2
PIPE_WAIT = 0.1  # seconds

# The UTF-32 mark of little-endian text begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: None,
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


class ByteStream:
    """The plain bytes of one source.

    pause: called now and then while a pipe has nothing to read; may raise.
    text: whether to drop a byte order mark, and to turn text that has one into UTF-8.
    suffix: how it is stored, such as ".gz"; without it, the name of the source tells.
    position: how many bytes were given out, the mark not counted.
    """

    def __init__(
        self, source: Source, pause: Pause = lambda: None, *, text: bool = True, suffix: str | None = None
    ) -> None:
        self.name = shown(source)
        self.position = 0
        self._mark = 0  # bytes of the mark
        self._ahead = memoryview(b"")  # read, but not given out
        self._damage: InputError | None = None
        self._file: Any = _open_file(source, pause)
        self._chunks: Iterator[bytes] | None = None  # of plain bytes; None where the file is read directly
        try:
            self._chunks = _decompressor(os.fspath(source), self._file, suffix)
            self.seekable = self._chunks is None and self._file.seekable()
            if text:
                self._read_mark()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def readinto(self, buffer: bytearray | memoryview) -> int:
        """Fill `buffer`. Fewer bytes than it holds are given before damage and at the end only."""
        if self._damage is not None:
            raise self._damage
        view = memoryview(buffer)
        filled = 0
        try:
            while filled < len(view):
                if not self._ahead and self._chunks is None:
                    n = self._guarded(self._file.readinto, view[filled:])
                else:
                    if not self._ahead:
                        self._ahead = memoryview(self._guarded(next, self._chunks, b""))
                    n = min(len(self._ahead), len(view) - filled)
                    view[filled : filled + n] = self._ahead[:n]
                    self._ahead = self._ahead[n:]
                if not n:
                    break
                filled += n
                self.position += n
        except InputError as error:
            self._damage = error
            if not filled:
                raise
        return filled

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, fewer before damage and at the end only."""
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self.readinto(buffer)])

    @property
    def damaged(self) -> bool:
        """Whether the next read raises the damage that ended the last one."""
        return self._damage is not None

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, which are not given out yet; fewer before damage and at the end."""
        if len(self._ahead) < size:
            position = self.position
            self._ahead = memoryview(self.read(size) + bytes(self._ahead))
            self.position = position
        return bytes(self._ahead[:size])

    def seek(self, position: int, pause: Pause = lambda: None) -> None:
        """Go to a position; a stream that is not seekable only goes forward. `pause` is called now and then."""
        if self.seekable:
            self._file.seek(self._mark + position)
            self._ahead = memoryview(b"")
            self.position = position
            return
        scratch = memoryview(bytearray(min(max(position - self.position, 0), PLAIN_STEP)))
        while self.position < position:
            if not self.readinto(scratch[: position - self.position]):
                raise InputError(f"{self.name}: it ends before byte {position:,}, up to which it was read before")
            pause()

    def stored_position(self) -> int:
        """How many bytes of the source as it is stored have been read, for progress."""
        try:
            own = getattr(self._chunks, "stored_position", None)
            return 0 if self._file.closed else own() if own else self._file.tell()
        except (OSError, ValueError):  # a source that has no positions, or was closed meanwhile
            return 0

    def close(self) -> None:
        close = getattr(self._chunks, "close", None)
        if close is not None:
            close()
        self._file.close()

    def _read_mark(self) -> None:
        try:
            head = self.peek(4)
        except InputError:  # it is raised again when the first bytes are read
            return
        for mark, encoding in _MARKS.items():
            if head.startswith(mark):
                self._ahead = self._ahead[len(mark) :]
                self._mark = len(mark)
                if encoding is not None:
                    rest = iter(lambda: self._file.read(PLAIN_STEP), b"") if self._chunks is None else self._chunks
                    self._chunks = _decoded(encoding, itertools.chain([bytes(self._ahead)], rest))
                    self._ahead, self.seekable = memoryview(b""), False
                return

    def _guarded(self, read: Callable[..., Any], *arguments: Any) -> Any:
        """Call `read`, with the damage that it meets turned into an InputError."""
        try:
            return read(*arguments)
        except (InputError, MissingExtraError):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno:
                reason = f"{error.strerror} (after {self.position:,} bytes)"
                raise InputError(f"{self.name}: cannot be read: {reason}") from error
            known = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError)
            if not isinstance(error, known) and type(error).__name__ != "ZstdError" and not is_url(self.name):
                raise  # such as what `pause` raises
            why = str(error) or type(error).__name__
            raise InputError(
                f"{self.name}: damaged or cut off after {self.position:,} bytes of plain data ({why}). "
                "Fetch the file again, or leave it out."
            ) from error


def _decoded(encoding: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Text in `encoding` as UTF-8, with U+FFFD for what is not text in it."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for data in chunks:
        if text := decoder.decode(data):
            yield text.encode()
    if text := decoder.decode(b"", True):
        yield text.encode()


def _open_file(source: Source, pause: Pause) -> Any:
    """The source as it is stored, for reading bytes."""
    if is_url(source):
        return open_url(str(source))
    try:
        if source == STDIN:
            try:
                return _Pipe(os.dup(sys.stdin.fileno()), pause)
            except (OSError, ValueError):  # an object that a program put in the place of standard input
                return sys.stdin.buffer
        if stat.S_ISREG(os.stat(source).st_mode):
            return open(source, "rb", buffering=0)  # blocks are large: no copy in between
        if stat.S_ISDIR(os.stat(source).st_mode):
            raise IsADirectoryError(21, "it is a folder")
        return _Pipe(os.open(source, os.O_RDONLY | os.O_NONBLOCK), pause)
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(source)}: cannot be read: {reason_of(error)}") from error


class _Pipe(io.RawIOBase):
    """A named pipe, a terminal or standard input: waits for bytes, and calls `pause` while there are none."""

    def __init__(self, descriptor: int, pause: Pause) -> None:
        self._descriptor = descriptor
        self._pause = pause
        self._position = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        while True:
            if select.select([self._descriptor], [], [], PIPE_WAIT)[0]:
                with contextlib.suppress(BlockingIOError):
                    size = os.readv(self._descriptor, [buffer])
                    self._position += size
                    return size
            self._pause()

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


def _decompressor(name: str, file: Any, suffix: str | None) -> Iterator[bytes] | None:
    """Chunks of the plain bytes of `file`, none of them empty; None where it is not compressed."""
    suffix = Path(name).suffix.lower() if suffix is None else suffix
    if suffix == ".7z":
        from .sevenzip import open_member

        return _Member(open_member(name, file, "Posts.xml"))
    if suffix not in COMPRESSIONS:
        return None
    if suffix == ".bz2" and isinstance(file, io.FileIO) and os.fstat(file.fileno()).st_size >= PARALLEL_BZ2_BYTES:
        try:
            return _ParallelBzip2(name, file)
        except MissingExtraError:
            pass  # the standard library reads it too, on one core
    return _Members(file, _codec(suffix, name))


def _codec(suffix: str, name: str) -> Callable[[], Any]:
    """What makes the decompressor of one member."""
    if suffix == ".zst":
        zstandard = require("zstandard", "corpus", f"reading {name}")
        return lambda: _Zstd(zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj())
    return {".gz": _Gzip, ".bz2": bz2.BZ2Decompressor, ".xz": lzma.LZMADecompressor}[suffix]


class _Members:
    """The plain bytes of all members of a compressed file, in chunks. Zeros between members are padding."""

    def __init__(self, file: Any, new: Callable[[], Any]) -> None:
        self._file = file
        self._stored = memoryview(b"")  # read, but not given to a decompressor
        self._chunks = self._decompress(new)

    def __iter__(self) -> _Members:
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)

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
        self._stored = memoryview(self._file.read(STORED_STEP))
        return len(self._stored) > 0


class _Gzip:
    """zlib's decompressor with the interface of those of bz2 and lzma."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(31)

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
        self._decompressor = decompressor
        self.decompress = lambda data, size: decompressor.decompress(data)

    @property
    def eof(self) -> bool:
        return self._decompressor.eof

    @property
    def unused_data(self) -> bytes:
        return self._decompressor.unused_data


class _Member:
    """The chunks of a member of an archive."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def __iter__(self) -> _Member:
        return self

    def __next__(self) -> bytes:
        if data := self._read(PLAIN_STEP):
            return data
        raise StopIteration

    def stored_position(self) -> int:
        position = getattr(self._read, "stored_position", None)
        return position() if position else 0

    def close(self) -> None:
        close = getattr(self._read, "close", None)
        if close:
            close()


class _ParallelBzip2:
    """Reads .bz2 on all cores through rapidgzip, as Wikipedia's multistream dumps are; damage as bz2 sees it."""

    def __init__(self, name: str, file: Any) -> None:
        rapidgzip = require("rapidgzip", "corpus", "reading .bz2 on all cores")
        self._file = file
        self._position = 0
        self._slow: Iterator[bytes] | None = None
        self._fast = rapidgzip.IndexedBzip2File(name, parallelization=cpu_count())

    def __iter__(self) -> _ParallelBzip2:
        return self

    def __next__(self) -> bytes:
        if self._slow is None:
            try:
                data = self._fast.read(4 * PLAIN_STEP)
                if not data and not self._position:  # rapidgzip takes a header that was cut off for an empty file
                    raise EOFError
                self._position += len(data)
                if data:
                    return data
                raise StopIteration
            except (RuntimeError, ValueError, OSError, EOFError):
                # It stops a whole block or more before the damage, and does not say where. The standard library goes
                # on from here, gives what can be read, and says what is wrong.
                self._fast.close()
                self._file.seek(0)
                self._slow = _Members(self._file, bz2.BZ2Decompressor)
                left = self._position
                while left:
                    data = next(self._slow)
                    if len(data) > left:
                        rest, left = data[left:], 0
                        return rest
                    left -= len(data)
        return next(self._slow)

    def stored_position(self) -> int:
        return self._file.tell() if self._slow else self._fast.tell_compressed() // 8

    def close(self) -> None:
        self._fast.close()
