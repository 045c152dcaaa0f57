"""The folder in which a job runs, so that an interrupted job resumes.

It exists while the job is unfinished, and contains

    lock            locked by the process that does the job
    manifest.json   the key: everything that decides the output
    *.json          saved states
    ...             the files of the job

A state is written by rename, after the files that it describes are on the disk. All states are deleted after the output
is on the disk. So they are correct whenever the process dies or the power fails.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ..errors import InputError, OptionName, OutputError, UsageError
from ..kernels.machine import lock_file
from ..sources.find import Skip, is_url, refuse_nothing
from ..sources.remote import version_at
from .outputs import StrPath, atomic_file, is_device, make_folder, output_errors, publish, remove, sync, temporary_paths

MANIFEST = "manifest"
FILES = "files"  # the state of a job whose files are finished: from now on, files at the targets may be its own
VERSION = 2


class WorkingFolder:
    """A folder with the states and the files of a job. can_restart: whether the job has the option `resume`."""

    def __init__(self, path: Path, can_restart: bool = True) -> None:
        self.path = path
        self._can_restart = can_restart

    def load(self, name: str) -> Any:
        """Return the state that was saved under this name; None if there is none."""
        path = self.path / f"{name}.json"
        try:
            return json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read: {error}. ", *self._how_to_restart()) from error

    def save(self, name: str, value: Any) -> None:
        """Save a state, a value that JSON can hold. The files that it describes must be on the disk."""
        with atomic_file(self.path / f"{name}.json", "w") as file:
            json.dump(value, file)

    def publish(self, files: Iterable[tuple[str, Path]]) -> None:
        """Rename finished files and folders to their targets: see `outputs.publish`."""
        publish((self.path / name, target) for name, target in files)

    def missing(self, what: str | os.PathLike) -> UsageError:
        """Return the error for a file of a state that is missing or too short."""
        return UsageError(f"{os.fspath(what)} is missing or damaged. ", *self._how_to_restart())

    def clear(self) -> None:
        """Delete everything but the lock. The manifest goes first: without it, the rest is not resumed."""
        remove(self.path / f"{MANIFEST}.json")
        sync(self.path)
        for path in self.path.iterdir():
            if path.name != "lock":
                remove(path)

    def refuse_nothing(self, documents: int, left_out: int, first: Skip | None = None) -> None:
        """Raise an error and clear the folder if all documents were left out: see `find.refuse_nothing`."""
        try:
            refuse_nothing(documents, left_out, first)
        except InputError:
            self.clear()
            raise

    def has_states(self) -> bool:
        """Return whether there is something to resume."""
        names = {path.stem for path in self.path.glob("*.json")}
        return MANIFEST in names and len(names) > 1

    def is_publishing(self) -> bool:
        """Return whether the finished files were being renamed to their targets."""
        return self.has_states() and self.load(FILES) is not None

    def _check(self, key: dict[str, Any]) -> None:
        """Raise a UsageError if the unfinished job is another one."""
        manifest = self.load(MANIFEST)
        for name, value in key.items():
            if not isinstance(manifest, dict) or manifest.get(name) != value:
                raise UsageError(
                    f"{self.path} contains an unfinished job with different {name}. To resume it, use the same {name} "
                    "(sources must not have changed). ",
                    *self._how_to_restart(),
                )

    def _how_to_restart(self) -> tuple[Any, ...]:
        option = (" (or use ", OptionName("resume", False), ")") if self._can_restart else ()
        return f"To start again, delete {self.path}", *option, "."


def publishing(output: Path) -> bool:
    """Return whether a job was interrupted while it renamed `output`. Clear the folder of one killed at its end."""
    folder = WorkingFolder(path_beside(output))
    if folder.path.is_dir() and not folder.has_states():
        with contextlib.suppress(UsageError, OutputError), _locked(folder.path, output):
            if not folder.has_states():
                folder.clear()
    return folder.is_publishing()


@contextlib.contextmanager
def working_folder(
    path: Path, output: Path, key: Mapping[str, Any], resume: bool | None = None
) -> Iterator[WorkingFolder]:
    """Yield the locked working folder `path` of the job that writes `output`.

    key: everything that decides the output, by name. An unfinished job with another key is a UsageError.
    resume: False discards an unfinished job. None is for a job without that option.
    The folder is deleted on success. It stays on any exception if a state was saved.
    """
    key = {"version": VERSION, **json.loads(json.dumps(key))}
    with _locked(path, output):
        folder = WorkingFolder(path, can_restart=resume is not None)
        try:
            if resume is not False and folder.has_states():
                folder._check(key)
            else:
                folder.clear()
                folder.save(MANIFEST, key)
            yield folder
            folder.clear()
        finally:
            if not folder.has_states():
                folder.clear()


@contextlib.contextmanager
def alone(output: StrPath | None) -> Iterator[Path | None]:
    """Lock an output that appears after long work: a second process that writes it fails at its start, not at its end.

    Yields the folder with the lock; None for an output that is not locked: a device, or a folder in a read-only one.
    """
    folder = None
    with contextlib.ExitStack() as lock:
        if output is not None and not is_device(output):
            # The root of a disk has no name and no folder around it, so it cannot be locked.
            path = Path(output).absolute()
            with contextlib.suppress(*[OutputError] if path.is_dir() else ()):
                if path.name:
                    lock.enter_context(_locked(path_beside(path), Path(output)))
                    folder = path_beside(path)
                    for killed in (*temporary_paths(folder / "tokenmill"), *temporary_paths(path)):
                        remove(killed)  # it holds no lock
        yield folder


@contextlib.contextmanager
def _locked(path: Path, output: Path) -> Iterator[None]:
    """Create and lock the folder `path`. At the end, delete it if only the lock is left, and empty folders above it.

    The last holder of the lock may delete it before it is locked here, so it must still be the file of that name.
    """
    lock: IO[bytes] | None = None
    locked = False
    created = [path, *(folder for folder in path.parents if not folder.exists())]
    try:
        while not locked:
            if lock is not None:
                lock.close()
            make_folder(path)
            with output_errors(output), contextlib.suppress(FileNotFoundError):
                lock = open(path / "lock", "ab")  # noqa: SIM115  # closed below; "wb" would truncate a locked file
                try:
                    lock_file(lock)
                except (BlockingIOError, PermissionError) as error:  # the second on Windows
                    raise UsageError(
                        f"another process is writing {output}. Wait until it ends, or choose another output."
                    ) from error
                locked = os.path.samestat(os.fstat(lock.fileno()), os.stat(path / "lock"))
        yield
    finally:
        with lock or contextlib.nullcontext(), contextlib.suppress(OSError, ValueError):
            if lock is not None and not locked:
                lock_file(lock)  # fails if another process holds it
            if lock is not None and os.name == "nt":  # Windows does not delete open files
                lock.close()
            if lock is not None and os.listdir(path) == ["lock"]:
                (path / "lock").unlink()
            for folder in created:
                folder.rmdir()


def path_beside(output: Path) -> Path:
    """Return the path of an output's working folder: hidden, next to the output."""
    output = output.absolute()
    return output.with_name(f".{output.name}.unfinished")


def fingerprint(sources: Sequence[Path | str]) -> str:
    """Return a hash of the sources: of their names, sizes and dates, and of URLs also of other fields of a version."""
    import hashlib

    digest = hashlib.sha256()
    for source in sources:
        try:
            status = os.stat(source)
            version: Any = os.path.abspath(source), status.st_size, status.st_mtime_ns
        except OSError:
            version = version_at(str(source)) if is_url(source) else 0
        digest.update(f"{os.fspath(source)}\0{version}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()
