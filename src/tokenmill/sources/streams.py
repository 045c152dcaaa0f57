"""Byte streams: the plain bytes of one source.

- Files, pipes, standard input ("-") and URLs have the same interface. Waiting for a pipe does not delay Ctrl-C.
- Files with the suffix or the first bytes of .gz, .bz2, .xz or .zst are decompressed, with all their members or frames.
- Memory is bounded, also for a decompression bomb.
- A byte order mark is dropped. UTF-16 and UTF-32 text that begins with one becomes UTF-8.
- Damage raises InputError, after all bytes before it were returned. Where they end does not depend on the sizes that
  the caller reads, because the decompressors always work in the same steps.
"""

from __future__ import annotations

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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError, MissingExtraError, reason_of
from . import remote
from .decompress import PLAIN_STEP, MemberReader, decompressed
from .find import STDIN, Source, is_url, shown
from .packed import COMPRESSIONS, PACKED, PACKED_BYTES

Pause = Callable[[], None]

PIPE_WAIT = 0.1  # seconds
DAMAGE = "tokenmill.damage"  # makes what is not UTF-16 or UTF-32 a lone surrogate, and so the document not UTF-8
codecs.register_error(DAMAGE, lambda error: ("\ud800", error.end))  # type: ignore[attr-defined]

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
    suffix: of the compression, such as ".gz"; None detects it from the name of the source and the first bytes.
    position: the number of bytes returned so far, without the mark.
    """

    def __init__(
        self, source: Source, pause: Pause = lambda: None, *, text: bool = True, suffix: str | None = None
    ) -> None:
        self.name = shown(source)
        self.position = 0
        self._mark = 0  # bytes of the mark
        self._ahead = memoryview(b"")  # bytes read, but not returned yet
        self._damage: InputError | None = None
        self._file: Any = open_stored(source, pause)
        self._packed: MemberReader | None = None
        self._chunks: Iterator[bytes] | None = None  # of plain bytes; None if the file is read directly
        try:
            name = os.fspath(source)
            suffix = Path(name).suffix.lower() if suffix is None else suffix
            if suffix == ".7z":
                raise InputError(
                    f"{self.name}: a 7z archive. Unpack it (7z x), or read it as - after 7z e -so FILE Posts.xml |"
                )
            if suffix not in COMPRESSIONS:
                suffix = self._look_ahead()
            if suffix:
                head, self._ahead = bytes(self._ahead), memoryview(b"")
                self._chunks = self._packed = decompressed(suffix, name, self._file, head)
            self.seekable = self._chunks is None and self._file.seekable()
            if text:
                self._read_mark()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def readinto(self, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` and return the number of bytes: all of it, but for the last call before damage or the end."""
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
        """Return `size` bytes, fewer before damage and at the end only."""
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self.readinto(buffer)])

    @property
    def damaged(self) -> bool:
        """Return whether the last read ended at damage, which the next raises."""
        return self._damage is not None

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes and keep them; fewer before damage and at the end."""
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
        """Return the number of stored bytes read so far, for progress."""
        try:
            return self._file.tell() if self._packed is None else self._packed.stored_position()
        except (OSError, ValueError):  # a source that has no positions, or was closed meanwhile
            return 0

    def close(self) -> None:
        if self._packed is not None:
            self._packed.close()
        self._file.close()

    def _look_ahead(self) -> str:
        """Return the suffix of the compression that the first bytes have, "" for plain bytes."""
        with contextlib.suppress(InputError):  # it is raised again when the first bytes are read
            self.peek(PACKED_BYTES)
        packed = PACKED.match(self._ahead)
        if packed and isinstance(self._file, io.FileIO) and self._file.seekable():
            self._file.seek(0)  # several threads may decompress it
            self._ahead = memoryview(b"")
        return f".{packed.lastgroup}" if packed else ""

    def _read_mark(self) -> None:
        with contextlib.suppress(InputError):  # it is raised again when the first bytes are read
            self.peek(4)
        for mark, encoding in _MARKS.items():
            if self._ahead[: len(mark)] == mark:
                self._ahead = self._ahead[len(mark) :]
                self._mark = len(mark)
                if encoding is not None:
                    rest = iter(lambda: self._file.read(PLAIN_STEP), b"") if self._chunks is None else self._chunks
                    texts = codecs.iterdecode(itertools.chain([bytes(self._ahead)], rest), encoding, DAMAGE)
                    self._chunks = (text.encode(errors="surrogatepass") for text in texts)
                    self._ahead, self.seekable = memoryview(b""), False
                return

    def _guarded(self, read: Callable[..., Any], *arguments: Any) -> Any:
        """Call `read`, and turn its errors of damage into InputError."""
        try:
            return read(*arguments)
        except (InputError, MissingExtraError):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno:
                reason = f"{error.strerror} (after {self.position:,} bytes)"
                raise InputError(f"{self.name}: cannot be read: {reason}") from error
            known = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError)
            library_error = type(error).__name__ in ("ZstdError", "IsalError")
            if not isinstance(error, known) and not library_error and not is_url(self.name):
                raise  # such as what `pause` raises
            why = str(error) or type(error).__name__
            raise InputError(
                f"{self.name}: damaged or cut off after {self.position:,} bytes of plain data ({why}). "
                "Fetch the file again."
            ) from error


def open_stored(source: Source, pause: Pause = lambda: None) -> Any:
    """Open the stored bytes of a source."""
    if is_url(source):
        return io.BufferedReader(remote.RemoteFile(str(source)), remote.BLOCK)
    try:
        if source == STDIN:
            try:
                descriptor = os.dup(sys.stdin.fileno())
            except (OSError, ValueError):  # an object that replaces standard input
                return sys.stdin.buffer
            return io.FileIO(descriptor) if os.name == "nt" else _Pipe(descriptor, pause)  # select takes no files there
        mode = os.stat(source).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(21, "it is a folder")
        if stat.S_ISREG(mode) or os.name == "nt":
            return LocalFile(source)
        return _Pipe(os.open(source, os.O_RDONLY | os.O_NONBLOCK), pause)
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(source)}: cannot be read: {reason_of(error)}") from error


class LocalFile(io.FileIO):
    """A file on this machine, unbuffered since blocks are large. Writing to it while it is read is an InputError."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._version = self._look()

    def _look(self) -> tuple[int, int]:
        status = os.fstat(self.fileno())
        return status.st_size, status.st_mtime_ns

    def readinto(self, buffer: Any) -> int:
        size = super().readinto(buffer) or 0
        self.check()
        return size

    read = io.RawIOBase.read  # type: ignore[assignment]  # by `readinto`

    def check(self) -> None:
        """Raise InputError if the file was written to since it was opened."""
        if (now := self._look()) != self._version:
            sizes = f"from {self._version[0]:,} to {now[0]:,} bytes. " if now[0] != self._version[0] else ""
            problem = "changed while it was read" + (f", {sizes}" if sizes else ". ")
            raise InputError(
                f"{shown(self.name)}: {problem}Wait until nothing writes to it, and run the command again."
            )


class _Pipe(io.RawIOBase):
    """A named pipe, a terminal or standard input. Reading waits for bytes, and calls `pause` while there are none."""

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
