"""Streams of plain bytes over compressed files: bounded memory, and every damage an InputError that says where."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable
from typing import Any

from ..errors import InputError, MissingExtraError, require

__all__ = ["COMPRESSIONS", "LocalFile", "SourceStream", "decompressor"]

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
BUFFER_BYTES = 1 << 20
# A .bz2 below this is read by one core: starting threads costs more than the file.
PARALLEL_BZ2_BYTES = 1 << 20

Read = Callable[[int], bytes]


class SourceStream(io.BufferedReader):
    """The plain bytes of one source.

    name: the source as the user named it.
    """

    def __init__(self, name: str, file: Any, read: Read | None) -> None:
        """file: the source as it is stored; read: gives its plain bytes, None where it stores them plain."""
        local = isinstance(file, LocalFile) and read is None
        super().__init__(file if local else _Guarded(name, file, read), BUFFER_BYTES)
        self.source = name

    def stored_position(self) -> int:
        """How many bytes of the source as it is stored have been read so far, for progress bars."""
        raw = self.raw
        return raw.stored_position() if isinstance(raw, _Guarded) else raw.tell()


class LocalFile(io.FileIO):
    """A file on this machine; a disk that fails while it is read is an InputError."""

    def readinto(self, buffer: Any) -> int | None:
        try:
            return super().readinto(buffer)
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {error.strerror or error}") from error


class _Guarded(io.RawIOBase):
    """Bytes from `read`, with whatever it raises turned into one InputError that says where the damage is."""

    def __init__(self, name: str, file: Any, read: Read | None) -> None:
        self._name, self._stored, self._plain = name, file, read is None
        self._read: Read = read or file.read
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._plain and self._stored.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        if not self._plain:
            raise io.UnsupportedOperation("a compressed source is read from its begin to its end")
        self._position = self._stored.seek(offset, whence)
        return self._position

    def tell(self) -> int:
        return self._position

    def stored_position(self) -> int:
        position = getattr(self._read, "stored_position", None)
        return position() if position else self._stored.tell()

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._read(len(buffer))
        except (InputError, MissingExtraError):
            raise
        except Exception as error:  # zlib, lzma, zstd, rapidgzip and every fsspec back end raise their own
            why = str(error) or type(error).__name__
            raise InputError(
                f"{self._name}: damaged or cut off after {self._position:,} bytes of plain data ({why}). "
                "Fetch the file again."
            ) from error
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            close = getattr(self._read, "close", None)
            if close:
                close()
            self._stored.close()
        super().close()


def decompressor(suffix: str, name: str, file: Any) -> Read | None:
    """What reads the plain bytes of `file`: called with a size, it gives at most that many, b"" at the end.

    None where the suffix is no compression's. Each gives out all it has before it raises on damage, so that the
    documents before the damage are the same whatever the sizes asked for.
    """
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=file).read1
    if suffix == ".xz":
        return lzma.LZMAFile(file).read1
    if suffix == ".zst":
        return _zstd(name, file)
    if suffix == ".bz2":
        local = isinstance(file, LocalFile)
        if local and os.fstat(file.fileno()).st_size >= PARALLEL_BZ2_BYTES:
            try:
                return _ParallelBzip2(name, file)
            except MissingExtraError:
                pass  # the standard library reads it too, on one core
        return bz2.BZ2File(file).read1
    if suffix == ".7z":
        from .sevenzip import open_member

        return open_member(name, file, "Posts.xml")
    return None


def _zstd(name: str, file: Any) -> Read:
    # pyarrow's reader, because zstandard's takes a file that was cut off for a whole one (zstandard 0.25 gives the
    # first half and then b""), and its other interfaces put out a frame's worth of memory for one small input.
    pyarrow = require("pyarrow", "corpus", f"reading {name}")
    stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")
    return lambda size: stream.read(min(size, 1 << 16))


class _ParallelBzip2:
    """Reads .bz2 on all cores through rapidgzip, as Wikipedia's multistream dumps are; damage as bz2 sees it."""

    def __init__(self, name: str, file: Any) -> None:
        rapidgzip = require("rapidgzip", "corpus", "reading .bz2 on all cores")
        self._file = file
        self._position = 0
        self._slow: bz2.BZ2File | None = None
        self._fast = rapidgzip.IndexedBzip2File(name, parallelization=len(os.sched_getaffinity(0)))

    def __call__(self, size: int) -> bytes:
        if self._slow is None:
            try:
                data = self._fast.read(size)
                if not data and not self._position:  # a header that was cut off is no error to it
                    raise EOFError
                self._position += len(data)
                return data
            except (RuntimeError, ValueError, OSError, EOFError):
                # It gives up a whole block or more before the damage, with no word on where: the standard library
                # goes on from here, gives what can be read, and says what is wrong.
                self._fast.close()
                self._file.seek(0)
                self._slow = bz2.BZ2File(self._file)
                left = self._position
                while left:
                    left -= len(self._slow.read1(min(left, BUFFER_BYTES)))
        return self._slow.read1(size)

    def stored_position(self) -> int:
        return self._file.tell() if self._slow else self._fast.tell_compressed() // 8

    def close(self) -> None:
        self._fast.close()
