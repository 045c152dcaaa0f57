"""Outputs that appear whole or not at all: they are written beside their place, then renamed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from ..errors import OptionName, OutputError


@contextlib.contextmanager
def output_errors(path: str | os.PathLike) -> Iterator[None]:
    """Turn an OSError raised while writing `path` (a full disk, a missing permission) into an OutputError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {os.fspath(path)}: {reason}. Nothing was left half-written there.") from error


def refuse_existing(*paths: str | os.PathLike, overwrite: bool = False) -> None:
    """Raise an OutputError that says what is there if one of `paths` exists. An empty folder may be written to."""
    for path in () if overwrite else map(Path, paths):
        if path.is_dir():
            names = sorted(entry.name for entry in path.iterdir())
            more = ", ..." if len(names) > 3 else ""
            found = f"a folder with {', '.join(names[:3])}{more}" if names else ""
        else:
            found = f"a file of {path.stat().st_size:,} bytes" if path.is_file() else "no file" * path.exists()
        if found:
            name = OptionName("overwrite", True)
            raise OutputError(f"{path} exists: {found}. Choose another output, or pass ", name, ".")


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """Give a name beside `path` for a file or folder. Rename it to `path` on success, delete it on any exception."""
    target = Path(path)
    with output_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = _beside(target)
        try:
            yield beside
            if beside.is_dir():
                replace_folder(beside, target)
            else:
                os.replace(beside, target)
        except BaseException:
            with contextlib.suppress(OSError):
                remove_folder(beside) if beside.is_dir() else beside.unlink()
            raise


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike, mode: str = "wb", *, sync: bool = True) -> Iterator[IO]:
    """Open a temporary file beside `path`. Rename it to `path` on success, delete it on any exception.

    sync: wait until it is on the disk. Without it, a loss of power may leave an empty file.
    """
    text = None if "b" in mode else "utf-8"
    # "x" creates the file with the permissions that the umask leaves.
    with (
        atomic_path(path) as beside,
        open(beside, mode.replace("w", "x"), encoding=text, newline=text and "\n") as file,
    ):
        yield file
        file.flush()
        if sync:
            os.fsync(file.fileno())


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary folder beside `path`. It replaces `path` on success and is deleted on any exception.

    An existing folder at `path` is replaced whole, so no file of an older output stays behind.
    """
    check_folder(Path(path))
    with atomic_path(path) as beside:
        beside.mkdir()
        yield beside


def sync_files(paths: Iterable[str | os.PathLike]) -> None:
    """Wait until closed or flushed files are on the disk. All at once: the journal of a file system takes them together."""
    from concurrent.futures import ThreadPoolExecutor

    def sync(path: str | os.PathLike) -> None:
        with open(path, "r+b") as file:
            os.fsync(file.fileno())

    with ThreadPoolExecutor() as pool:
        list(pool.map(sync, paths))


def check_folder(target: Path) -> None:
    """Raise an OutputError if a file has the name of a folder to be written."""
    if target.exists() and not target.is_dir():
        raise OutputError(
            f"cannot write the folder {target}: a file with that name exists. Remove it or choose another."
        )


def replace_folder(beside: Path, target: Path) -> None:
    """Move the finished folder `beside` to `target`, on the same file system, in place of what is there."""
    if target.exists():
        old = _beside(target)
        os.replace(target, old)
        os.replace(beside, target)
        remove_folder(old)
    else:
        os.replace(beside, target)


def remove_folder(folder: Path) -> None:
    """Delete a folder as far as that is possible."""
    import shutil  # it takes as long to import as a third of this package

    shutil.rmtree(folder, ignore_errors=True)


def _beside(target: Path) -> Path:
    """A name beside `target` that nothing else has."""
    return target.with_name(f".{target.name}.{os.urandom(8).hex()}.part")
