"""Files at URLs (https://, s3://, gs://, hf://, memory://, ...), which fsspec opens: https://filesystem-spec.readthedocs.io"""

from __future__ import annotations

import glob
import io
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ..errors import InputError, MissingExtraError, TokenmillError, UsageError, reason_of, require

T = TypeVar("T")
BLOCK = 8 << 20  # bytes of a request
WAITS = [0.5, 2.0, 8.0]  # seconds before a failed request is repeated
CHECK_SECONDS = 2.0  # between two checks of the version of a file
NOT_NOW = (408, 425, 429)  # HTTP status codes below 500 after which a request is repeated
# The fields of the back ends that identify the version of a file.
VERSION = "size ETag etag Content-MD5 md5Hash generation VersionId Last-Modified LastModified last_modified mtime created blob_id CRC".split()
DAMAGE = (zipfile.BadZipFile, zlib.error)  # of an archive; a repeated request would not help


class RemoteError(InputError):
    """A request that failed for good, or a file that was replaced. Not damage, so `on_skip` leaves nothing out."""


@contextmanager
def _request_errors(url: str) -> Iterator[None]:
    """Turn the error of a request into a RemoteError: each back end has its own exceptions."""
    try:
        yield
    except (TokenmillError, *DAMAGE):
        raise
    except Exception as error:
        cause = error.__cause__ if isinstance(error, FileNotFoundError) else None
        reason = reason_of(cause or error).removesuffix(".")
        raise RemoteError(
            f"{url}: cannot be read: {reason}. Run the command again: a job that saves its progress resumes."
        ) from error


def files_at(url: str) -> list[str]:
    """Return the URLs of the files that a URL names: a file, all files below a folder, or the matches of a glob."""
    filesystem, path = _filesystem(url)
    try:
        if glob.has_magic(path.partition("?")[0] if url.startswith("http") else path):
            paths, problem = sorted(_again(lambda: filesystem.glob(path))), "no file matches"
            paths = [p for p in paths if filesystem.isfile(p)]
        elif (path.endswith("/") or not url.startswith("http")) and _again(lambda: filesystem.isdir(path)):
            paths, problem = sorted(_again(lambda: filesystem.find(path))), "the folder has no files"
            paths = [p for p in paths if not any(part.startswith(".") for part in p[len(path) :].split("/"))]
        else:
            _version(filesystem, path)
            paths, problem = [path], ""
    except Exception as error:  # network and credentials: each back end has its own exceptions
        if isinstance(error, FileNotFoundError) and (error.__cause__ is None or _status(error) == 404):
            raise InputError(f"{url}: no such file or folder. Check the URL.") from error
        raise InputError(f"cannot list {url}: {reason_of(error.__cause__ or error)}") from error
    if not paths:
        raise InputError(f"{url}: {problem}. Check the URL.")
    inside, chain, archive = url.partition("::")  # zip://*.jsonl::https://a.org/b.zip
    archive = chain + archive if "://" in inside else ""
    return [filesystem.unstrip_protocol(path) + archive for path in paths]


def size_at(url: str) -> int:
    """Return the bytes of the file at a URL; 0 where unknown."""
    filesystem, path = _filesystem(url)
    with _request_errors(url):
        return int(_again(lambda: filesystem.size(path)) or 0)


def version_at(url: str) -> dict[str, str]:
    """Return the fields of VERSION that are known of the file at a URL, such as its size."""
    with _request_errors(url):
        return _version(*_filesystem(url))


class RemoteFile(io.RawIOBase):
    """A file at a URL. A failed request is repeated; a file that is replaced while it is read is an InputError.

    From servers without range requests or without its size, the file is read from its start.
    """

    def __init__(self, url: str) -> None:
        self.name = url
        self._filesystem, self._path = _filesystem(url)
        self._version = version_at(url)
        self._ranges = "size" in self._version  # whether the server may support range requests
        self._size, self._position = int(self._version.get("size", sys.maxsize)), 0
        self._checked = time.monotonic()
        self._file: Any = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._size < sys.maxsize

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = max(0, offset + (0, self._position, self._size)[whence])
        return self._position

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), BLOCK, max(0, self._size - self._position))
        if not size:
            return 0
        with _request_errors(self.name):
            data = _again(lambda: self._fetch(size), self._forget)
            at_end = self._position + size == self._size or len(data) < size
            if at_end or time.monotonic() - self._checked >= CHECK_SECONDS:
                self.check()
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def check(self) -> None:
        """Raise RemoteError if the file was replaced. Called at its end, and by readers that stop before it."""
        now = _version(self._filesystem, self._path)
        for name in {**self._version, **now}:
            if now.get(name) != (old := self._version.get(name)):
                raise RemoteError(
                    f"{self.name}: the file was replaced while it was read: its {name} was {old}, and is {now.get(name)}. "
                    "Run the command again."
                )
        self._checked = time.monotonic()

    def _fetch(self, size: int) -> bytes:
        data = b""
        try:
            if self._ranges:
                self._file = self._file or self._filesystem.open(self._path, "rb", cache_type="none")
                self._file.seek(self._position)
                data = self._file.read(size)
        except ValueError as error:
            if "range requests" not in str(error):
                raise
            self._file, self._ranges = None, False
        if not self._ranges:
            if self._file is None or self._file.tell() > self._position:
                self._file = self._filesystem.open(self._path, "rb", block_size=0)
            while (before := self._position - self._file.tell()) > 0 and self._file.read(min(before, BLOCK)):
                pass
            while len(data) < size and (read := self._file.read(size - len(data))):
                data += read
        if len(data) != size and self.seekable():
            raise EOFError(f"{len(data):,} bytes arrived of {size:,} that were asked for")
        return data

    def _forget(self) -> None:
        """Open the file anew for the next request."""
        self._file = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._forget()
        super().close()


def _version(filesystem: Any, path: str) -> dict[str, str]:
    def look() -> Any:
        filesystem.invalidate_cache(path)
        return filesystem.info(path)

    info = _again(look)
    return {name: str(info[name]) for name in VERSION if info.get(name) is not None}


def _again(request: Callable[[], T], before: Callable[[], None] = lambda: None) -> T:
    """Return the result of a request, which is repeated after a temporary failure."""
    for wait in [*WAITS, None]:
        try:
            return request()
        except Exception as error:  # each back end has its own exceptions
            status = _status(error)
            final = isinstance(error, (PermissionError, NotImplementedError, ImportError, *DAMAGE))
            final |= isinstance(error, FileNotFoundError) and error.__cause__ is None
            if wait is None or final or (status is not None and status < 500 and status not in NOT_NOW):
                raise
            time.sleep(wait)
            before()
    raise AssertionError


def _status(error: BaseException) -> int | None:
    """Return the HTTP status code of an error. fsspec raises FileNotFoundError for any, from the cause."""
    error = error.__cause__ or error
    response = getattr(error, "response", None)  # botocore's, a dict
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None
    status = getattr(error, "status", status)
    return status if isinstance(status, int) else None


def _filesystem(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path in it."""
    fsspec = require("fsspec", "corpus", f"reading {url}")
    try:
        return fsspec.core.url_to_fs(url)
    except ImportError as error:  # s3fs, gcsfs, huggingface_hub: fsspec's message names the package
        hint = "Install tokenmill with the extra 'corpus'." if "aiohttp" in str(error) else "Install it with pip."
        raise MissingExtraError(f"reading {url} needs another package: {error}. {hint}") from error
    except ValueError as error:
        raise UsageError(
            f"{url}: {error}. Supported are all protocols of fsspec, such as s3://, gs:// and hf://."
        ) from error
    except Exception as error:
        raise RemoteError(f"cannot reach {url}: {reason_of(error)}") from error
