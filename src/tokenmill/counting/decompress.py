"""Streams of plain bytes into buffers of one's own, quick enough for counting.

corpus/sources.py opens sources for everyone, and here .bz2 and URLs too. Plain files, .gz, .xz and .zst are read here,
without copies in between; and pipes, which must not keep Ctrl-C waiting.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import select
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from ..errors import InputError, require
from ..sources.find import OnSkip, Skip, open_source
from ..sources.streams import COMPRESSIONS

__all__ = ["ByteStream"]

MAX_WINDOW = 1 << 31  # what `zstd --ultra --long=31` needs to be read
STEP = 1 << 16
WAIT = 0.1  # seconds


class ByteStream:
    """The bytes of one source, decompressed if its name ends with .gz, .bz2, .xz or .zst.

    pause: called now and then while a pipe has nothing to read; may raise.
    on_skip: called for damage, which then is the end of the text; without it, damage raises InputError that names the
        file and how far it was good.
    """

    def __init__(self, path: Path | str, pause: Callable[[], None] = lambda: None, on_skip: OnSkip | None = None):
        self.path = path
        self.position = 0  # bytes given out
        self._on_skip = on_skip
        self._ended = False
        self._packed = Path(path).suffix.lower() in COMPRESSIONS
        self._scrap = memoryview(bytearray(STEP if self._packed else 0))
        self._ahead = self._scrap[:0]  # decompressed, but not given out
        self._raw: Any
        self._stream: Any
        if isinstance(path, str) or path.suffix.lower() == ".bz2":
            self._stream = self._raw = open_source(path)
            self._tell_raw = self._raw.stored_position
            self._readinto = self._stream.readinto1
            self._seekable = not self._packed and self._raw.seekable()
            return
        try:
            # Unbuffered: blocks are large, and readinto then copies straight from the page cache.
            regular = stat.S_ISREG(os.stat(path).st_mode)
            self._raw = open(path, "rb", buffering=0) if regular else _Pipe(path, pause)  # noqa: SIM115
            if path.suffix.lower() in (".gz", ".xz"):  # their modules read in small steps
                self._raw = io.BufferedReader(self._raw, 1 << 17)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        try:
            self._stream = _decompressor(path, self._raw)
        except BaseException:
            self._raw.close()
            raise
        self._tell_raw = self._raw.tell
        self._readinto = self._stream.readinto1 if self._packed else self._stream.readinto
        self._seekable = regular and not self._packed

    def readinto(self, buffer: memoryview) -> int:
        """Fill `buffer` from the front; fewer bytes than it holds are given at the end of the file only."""
        filled = 0
        while filled < len(buffer):
            if self._packed:
                if not self._ahead:
                    # What is decompressed in one call is lost if that call meets damage. So that this is the same
                    # whoever reads, calls end at multiples of STEP.
                    self._ahead = self._scrap[: self._read(self._scrap[: STEP - self.position % STEP])]
                n = min(len(self._ahead), len(buffer) - filled)
                buffer[filled : filled + n] = self._ahead[:n]
                self._ahead = self._ahead[n:]
            else:
                n = self._read(buffer[filled:])
            if not n:
                break
            filled += n
            self.position += n
        return filled

    def _read(self, buffer: memoryview) -> int:
        """Some more bytes; 0 at the end, and at damage if that may be skipped."""
        if self._ended:
            return 0
        try:
            try:
                n = self._readinto(buffer)
                if n == self.position == 0 and self._packed and not self.bytes_read():
                    raise EOFError
                return n
            except EOFError:
                raise self._damaged("it ends in the middle of the compressed data") from None
            except (lzma.LZMAError, zlib.error, gzip.BadGzipFile, ValueError) as error:
                raise self._damaged(str(error)) from error
            except OSError as error:
                reason = error.strerror or str(error)
                raise InputError(f"cannot read {self.path}: {reason} (after {self.position:,} bytes)") from error
            except Exception as error:  # zstandard.ZstdError has no base class to be named without importing it
                if type(error).__name__ != "ZstdError":
                    raise
                raise self._damaged(str(error)) from error
        except InputError as error:
            if self._on_skip is None:
                raise
            self._on_skip(Skip(str(self.path), "", str(error).removeprefix(f"{self.path}: ")))
            self._ended = True
            return 0

    def skip(self, n: int, pause: Callable[[], None]) -> None:
        """Pass over `n` bytes."""
        if self._seekable:
            self.position = self._raw.seek(self.position + n)
            return
        scrap = memoryview(bytearray(min(n, 1 << 20)))
        while n:
            got = self.readinto(scrap[: min(n, len(scrap))])
            if not got:
                raise InputError(
                    f"{self.path} is shorter than it was when {self.position + n:,} bytes of it were counted"
                )
            n -= got
            pause()

    def bytes_read(self) -> int:
        """How many bytes of the file on disk have been read."""
        try:
            return 0 if self._raw.closed else self._tell_raw()
        except (OSError, ValueError):  # a pipe, or closed meanwhile
            return 0

    def close(self) -> None:
        if self._stream is not self._raw:
            self._stream.close()
        self._raw.close()

    def _damaged(self, reason: str) -> InputError:
        return InputError(
            f"{self.path} is damaged: {reason} (the first {self.position:,} bytes of its text could be read, "
            f"up to byte {self.bytes_read():,} of the file). Restore it from a copy, or leave it out."
        )


class _Pipe(io.RawIOBase):
    """A named pipe, a terminal or the like: waits for bytes, but never so long that Ctrl-C is not heeded."""

    def __init__(self, path: Path, pause: Callable[[], None]):
        self._pause = pause
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if select.select([self._fd], [], [], WAIT)[0]:
                with contextlib.suppress(BlockingIOError):
                    return os.readv(self._fd, [buffer])
            self._pause()

    def close(self) -> None:
        if not self.closed:
            os.close(self._fd)
        super().close()


def _decompressor(path: Path, raw: Any) -> Any:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if suffix == ".xz":
        return lzma.LZMAFile(raw, "rb")
    if suffix == ".zst":
        zstandard = require("zstandard", "corpus", "reading .zst files")
        watched = _ZstdFrames(raw)
        reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(watched, read_across_frames=True)
        return _CheckedZstd(reader, watched)
    return raw


class _CheckedZstd:
    """A zstandard reader that raises EOFError where the file was cut off; zstandard itself takes that for the end."""

    def __init__(self, reader: Any, frames: _ZstdFrames):
        self._reader = reader
        self._frames = frames

    def readinto1(self, buffer: memoryview) -> int:
        n = self._reader.readinto1(buffer)
        if n == 0 and len(buffer) and not self._frames.complete:
            raise EOFError
        return n

    def close(self) -> None:
        self._reader.close()


class _ZstdFrames(io.RawIOBase):
    """Passes a .zst file on and follows its frame and block headers, to know whether it ends where a frame ends.

    Format: RFC 8878, section 3.1. What lies between the headers is skipped over unseen.
    """

    _SIZES: ClassVar = {"magic": 4, "skippable": 4, "descriptor": 1, "block": 3}

    def __init__(self, raw: io.RawIOBase):
        self._raw = raw
        self._next = "magic"  # the header that comes after `_skip` more bytes
        self._skip = 0
        self._header = b""
        self._checksum = 0

    @property
    def complete(self) -> bool:
        return self._next == "magic" and not self._header and not self._skip

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        at = 0
        while at < len(data):
            step = min(self._skip, len(data) - at)
            self._skip -= step
            at += step
            size = self._SIZES[self._next]
            part = data[at : at + size - len(self._header)]
            self._header += part
            at += len(part)
            if len(self._header) == size:
                self._follow(int.from_bytes(self._header, "little"))
                self._header = b""
        return data

    def _follow(self, value: int) -> None:
        if self._next == "magic" and value & 0xFFFFFFF0 == 0x184D2A50:
            self._next = "skippable"
        elif self._next == "magic":  # of a frame; what is none, zstandard refuses
            self._next = "descriptor"
        elif self._next == "skippable":
            self._skip = value
            self._next = "magic"
        elif self._next == "descriptor":
            single = value >> 5 & 1  # a single segment: no window descriptor, and the content size is always given
            self._skip = (not single) + (0, 1, 2, 4)[value & 3] + (single, 2, 4, 8)[value >> 6]
            self._checksum = 4 * (value >> 2 & 1)
            self._next = "block"
        else:
            self._skip = 1 if value >> 1 & 3 == 1 else value >> 3  # type 1 repeats its one byte
            if value & 1:  # the last block of the frame
                self._skip += self._checksum
                self._next = "magic"
