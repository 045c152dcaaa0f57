"""Outputs: after a crash or a loss of power each is the whole old one or the whole new one.

A file or folder is written under a temporary name in the same folder and synced. Then it is renamed, and the folder is
synced. A job deletes its checkpoints after that. Devices and pipes are written directly.
"""

from __future__ import annotations

import contextlib
import glob
import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ..errors import InputError, OptionName, OutputError, UsageError, plural
from ..kernels.machine import exchange_paths, sync_path
from ..sources.find import STDIN, find_sources, ignore_skip, is_url

OVERWRITE = OptionName("overwrite", True)
StrPath = str | os.PathLike[str]
written: list[Path] = []  # the outputs that this process has finished, for the message at Ctrl-C


@contextlib.contextmanager
def output_errors(path: StrPath) -> Iterator[None]:
    """Turn an OSError raised while writing `path` (a full disk, a missing permission) into an OutputError."""
    try:
        yield
    except OSError as error:
        name = re.sub(r"\.([^/]*)\.([0-9a-f]{16}\.part\b|unfinished\b.*)", r"\1", os.fspath(path))
        reason = error.strerror or str(error)
        left = "" if is_device(path) else " Nothing was left half-written there."
        raise OutputError(f"cannot write {name}: {reason}.{left}") from error


class _OutputFile(io.FileIO):
    """A file whose write errors are OutputErrors, unlike the OSErrors of a source."""

    def write(self, data: Any) -> int:
        with output_errors(str(self.name)):
            return super().write(data)

    def truncate(self, size: int | None = None) -> int:
        with output_errors(str(self.name)):
            return super().truncate(size)


def open_output(path: StrPath, mode: str = "wb") -> IO[Any]:
    """Open a file for writing: "wb", "xb", "r+b" (to write to an existing one), or "w" and "x" for text."""
    with output_errors(path):
        file = io.BufferedWriter(_OutputFile(os.fspath(path), mode.replace("b", "")))
    return file if "b" in mode else io.TextIOWrapper(file, "utf-8", newline="\n")


def sync(*paths: StrPath) -> None:
    """Wait until files, and the lists of names of folders, are on the disk."""
    for path in paths:
        with output_errors(path):
            sync_path(path)


def sync_tree(folder: Path) -> None:
    """Wait until a folder and all its files are on the disk."""
    for path in folder.iterdir():
        sync_tree(path) if path.is_dir() else sync(path)
    sync(folder)


def make_folder(folder: Path) -> None:
    """Create a folder and the missing ones above it, and sync them."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for path in reversed(missing):
        sync(path.parent)


@contextlib.contextmanager
def atomic_file(path: StrPath, mode: str = "wb", *, overwrite: bool = True) -> Iterator[IO[Any]]:
    """Open a temporary file next to `path`. Rename it to `path` on success, delete it on any exception.

    A device or a pipe is written directly.
    overwrite: replace an existing file, also one that another process has written in the meantime.
    """
    refuse_existing(path, overwrite=overwrite)
    with _atomic([Path(path)], mode, overwrite=overwrite) as (file,):
        yield file


def atomic_files(contents: Mapping[Path, bytes], stale: Iterable[Path] = (), *, overwrite: bool = True) -> None:
    """Write files that belong together: they are renamed once all are on the disk, and `stale` ones are deleted.

    Between two renames a crash can leave some of them new and others old.
    """
    with _atomic(contents, "wb", stale, overwrite) as files:
        for file, content in zip(files, contents.values(), strict=True):
            file.write(content)


@contextlib.contextmanager
def _atomic(
    paths: Iterable[Path], mode: str, stale: Iterable[Path] = (), overwrite: bool = True
) -> Iterator[list[IO[Any]]]:
    waiting = []
    with contextlib.ExitStack() as cleanup:
        with contextlib.ExitStack() as opened:
            files = []
            for path in paths:
                if is_device(path):
                    files.append(opened.enter_context(open_output(path, mode)))
                    continue
                target = path.absolute()
                make_folder(target.parent)
                temporary = cleanup.enter_context(_temporary_path(target))
                waiting.append((temporary, target))
                # "x" creates the file with the permissions that the umask leaves.
                files.append(opened.enter_context(open_output(temporary, mode.replace("w", "x"))))
            yield files
        sync(*(temporary for temporary, _ in waiting))
        refuse_existing(*(target for _, target in waiting), overwrite=overwrite)
        for path in stale:
            remove(path)
        publish(waiting)


@contextlib.contextmanager
def atomic_folder(path: StrPath, is_own: Callable[[Path], bool], *, overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary folder next to `path`. It replaces `path` on success and is deleted on any exception.

    An existing folder at `path` is replaced whole, so no file of an older output remains. See `refuse_folder`.
    overwrite: replace an existing folder, also one that another process has written in the meantime.
    """
    refuse_folder(path, is_own, overwrite=overwrite)
    target = Path(path).absolute()
    make_folder(target.parent)
    with _temporary_path(target) as temporary:
        with output_errors(temporary):
            temporary.mkdir()
        yield temporary
        sync_tree(temporary)
        refuse_folder(path, is_own, overwrite=overwrite)
        if target.is_dir() and exchange_paths(temporary, target):
            sync(target.parent)  # the old folder has the temporary name now, and is deleted
            written.append(target)
        else:
            publish([(temporary, target)])


@contextlib.contextmanager
def _temporary_path(target: Path) -> Iterator[Path]:
    """Yield an unused path next to `target`. Delete its file or folder at the end."""
    path = target.with_name(f".{target.name}.{os.urandom(8).hex()}.part")
    try:
        yield path
    finally:
        remove(path)


def temporary_paths(target: Path) -> list[Path]:
    """Return what `_temporary_path` named for `target`, also in other processes."""
    return [*target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 16}.part")]


def temporary_folder(parent: StrPath) -> contextlib.AbstractContextManager[Path]:
    """Yield the path for a new folder in `parent`, to be created by the caller. Delete it at the end."""
    return _temporary_path(Path(parent, "tokenmill"))


def publish(files: Iterable[tuple[Path, Path]]) -> None:
    """Rename files and folders, which are on the disk, to their targets, and sync the folders.

    Called again after a crash, it renames the rest. Of several, the last describes the others: the old one is deleted
    first, and the new one renamed last. A folder at the target is renamed first, and deleted at the end.
    """
    files = list(files)
    waiting = [(path, target) for path, target in files if path.exists()]
    refuse_devices(*(target for _, target in waiting))
    if len(waiting) > 1:
        remove(waiting[-1][1])
    for path, target in waiting:
        replaced = path.with_name(f"{path.name}.replaced")
        with output_errors(target):
            if target.is_dir():
                remove(replaced)
                os.replace(target, replaced)
            os.replace(path, target)
            remove(replaced)
    sync(*{target.parent for _, target in files})
    written.extend(target for _, target in files if ".unfinished" not in f"{target.parent}")


def remove(path: Path) -> None:
    """Delete a file or a folder, and ignore errors."""
    if path.is_dir() and not path.is_symlink():
        import shutil  # late: its import takes a third of the time of this package's

        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def is_device(path: StrPath) -> bool:
    """Return whether `path` is a device, a pipe, or the name of an open file such as /dev/stdout."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    system = os.path.realpath(os.path.dirname(path)).startswith(("/dev", "/proc")) and os.path.islink(path)
    return system or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def refuse_devices(*paths: StrPath) -> None:
    """Raise OutputError if a target of a rename is a device or a pipe."""
    for path in paths:
        if is_device(path):
            raise OutputError(f"{path} is a device or a pipe, which no file replaces. Choose another output.")


def refuse_existing(*paths: StrPath, overwrite: bool = False, sources: Iterable[Any] = ()) -> None:
    """Raise an error if one of the output files `paths` exists or is a folder. Devices and pipes are allowed.

    sources: the inputs of the command, which are never replaced; see `refuse_source`.
    """
    refuse_source(sources, *paths)
    for path in map(named, paths):
        if path.is_dir():
            raise OutputError(f"cannot write the file {path}: a folder has that name. Choose another output.")
        if not overwrite and os.path.lexists(path) and not is_device(path):
            size = f"a file of {plural(path.stat().st_size, 'byte')}" if path.exists() else "a broken link"
            raise OutputError(f"{path} exists: {size}. Choose another output, or pass ", OVERWRITE, ".")


def refuse_folder(
    path: StrPath, is_own: Callable[[Path], bool], *, overwrite: bool = False, sources: Iterable[Any] = ()
) -> None:
    """Raise an error unless an output folder can be created at `path`, before the work begins. An empty one may exist.

    is_own: returns whether a file in it belongs to an earlier output of the same kind, which `overwrite` replaces. A
        folder with any other file is never replaced.
    sources: the inputs of the command, which are never replaced; see `refuse_source`.
    """
    target = named(path)
    if not os.path.lexists(target):
        return
    folder = Path(os.path.realpath(target))
    if target.is_symlink():
        raise OutputError(f"{target} is a symbolic link. Name the folder that it points to, or another output.")
    if folder in (Path.cwd(), *Path.cwd().parents) or os.path.ismount(target):
        raise OutputError(
            f"{target} is the current folder, one above it or the root of a disk, which cannot be replaced. Name a folder in it."
        )
    refuse_source(sources, path)
    refuse_foreign(target, is_own, overwrite=overwrite)


def refuse_foreign(folder: Path, is_own: Callable[[Path], bool], *, overwrite: bool) -> None:
    """Raise OutputError if `folder` is a file, has foreign files, or has own files and not `overwrite`."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"cannot write the folder {folder}: a file has that name. Choose another output.")
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    foreign = [name for name in names if not is_own(folder / name)]
    shown = ", ".join((foreign or names)[:3]) + " and others" * (len(foreign or names) > 3)
    if foreign:
        raise OutputError(f"{folder} is a folder with other files: {shown}. Choose another output.")
    if names and not overwrite:
        raise OutputError(f"{folder} exists: a folder with {shown}. Choose another output, or pass ", OVERWRITE, ".")


def refuse_source(sources: Iterable[Any], *outputs: StrPath) -> None:
    """Raise a UsageError if an output is a file that a command reads, under any name, or a folder with one."""
    targets = [(path, Path(os.path.realpath(path))) for path in outputs if os.path.exists(path) and not is_device(path)]
    for source in sources if targets else ():
        if not isinstance(source, str | os.PathLike) or source == STDIN or is_url(source):
            continue
        with contextlib.suppress(InputError):  # which the reader raises
            for file in find_sources(source, ignore_skip):
                folders = Path(os.path.realpath(file)).parents
                for path, target in targets:
                    if target in folders or os.path.samefile(file, path):
                        relation = f"contains {file}, which" if target in folders else "is a file that"
                        raise UsageError(f"{path} {relation} this command reads. Name another output.")


def refuse_source_folder(sources: Iterable[Any], output: StrPath) -> None:
    """Raise a UsageError if an output is a folder that a command reads, also if no file in it would be replaced."""
    folder = os.path.realpath(output)
    paths = (source for source in sources if isinstance(source, str | os.PathLike))
    refuse_source((path for path in paths if os.path.realpath(path) == folder), output)


def refuse_same(*outputs: StrPath) -> None:
    """Raise a UsageError if two outputs of a command are one file or folder, under any name. Both may be one device."""
    targets: set[str] = set()
    for path in outputs:
        target = os.path.realpath(path)
        if target in targets and not is_device(path):
            raise UsageError(f"{path} is another output of this command too. Name another output.")
        targets.add(target)


def named(path: StrPath) -> Path:
    """Return the path of an output. UsageError for an empty name, which would be the current folder, - and NUL."""
    if not os.fspath(path):
        raise UsageError("the name of the output is empty. Name a file or a folder.")
    if os.fspath(path) == STDIN:
        raise UsageError("the name of the output is -. Name a file or a folder; standard output is /dev/stdout.")
    if "\0" in os.fsdecode(path):
        raise UsageError(
            f"the name of the output is {os.fspath(path)!r}. A name of a file or a folder has no NUL character."
        )
    return Path(path)
