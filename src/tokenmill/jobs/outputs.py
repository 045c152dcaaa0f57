"""Write beside, then rename: an output appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ..errors import OutputError

__all__ = ["atomic_file", "atomic_folder", "output_errors", "replace_folder"]


@contextlib.contextmanager
def output_errors(path: str | os.PathLike) -> Iterator[None]:
    """Turn an OSError met while writing `path` (a full disk, a missing permission) into one OutputError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {os.fspath(path)}: {reason}. Nothing was left half-written there.") from error


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike, mode: str = "wb") -> Iterator[IO]:
    """Open a temporary file beside `path`; rename it to `path` on success, delete it on any exception."""
    target = Path(path)
    with output_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        try:
            text = None if "b" in mode else "utf-8"
            with os.fdopen(handle, mode, encoding=text, newline=text and "\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary folder beside `path`; on success it takes the place of `path`, on any exception it goes.

    An existing folder at `path` is replaced whole, so that no file of an older output stays behind.
    """
    target = Path(path)
    with output_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_dir():
            raise OutputError(
                f"cannot write the folder {target}: a file of that name stands there. Remove it or choose another."
            )
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
        try:
            yield beside
            replace_folder(beside, target)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise


def replace_folder(beside: Path, target: Path) -> None:
    """Let the finished folder `beside` take the place of `target`, on the same file system."""
    os.chmod(beside, 0o777 & ~_umask())
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
        os.replace(target, old / "was")
        os.replace(beside, target)
        shutil.rmtree(old)
    else:
        os.replace(beside, target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
