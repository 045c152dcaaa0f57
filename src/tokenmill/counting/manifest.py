"""How far a count into a folder has come, so that one that was killed goes on where it was.

Beside the output OUT there is, while it is made, a folder .OUT.counting with

    lock            held by the process that counts
    manifest.json   what had been read and written at the last checkpoint
    run-*.arrow     the runs (spill.py); those that the manifest does not name are of no use
    output/         the files of the output while they are written

The manifest appears by rename, after the runs it names, so it is true at any moment.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..jobs.outputs import atomic_file, output_errors
from ..sources.find import is_url, size_of
from .spill import Run, Spill

__all__ = ["Manifest", "fingerprint", "working_folder"]

VERSION = 1
NAME = "manifest.json"


class Manifest:
    """The manifest of one count.

    paths: the sources. That they are the same as before is told by their paths, sizes and dates.
    options: everything else that changes what is counted.
    """

    def __init__(self, folder: Path, paths: Sequence[Path | str], options: dict[str, Any]):
        self.folder = folder
        self._sources = fingerprint(paths)
        self._options = json.loads(json.dumps(options))

    def save(self, spill: Spill, progress: dict[str, Any]) -> None:
        """Write a checkpoint. `progress` is what `load` shall give back."""
        runs = [[run.path.name, run.bits, run.rows, run.nbytes] for run in spill.runs]
        content = {
            "version": VERSION,
            "sources": self._sources,
            "options": self._options,
            "runs": runs,
            "dropped": spill.dropped,
            "prunes": spill.prunes,
            "progress": progress,
        }
        with atomic_file(self.folder / NAME, "w") as file:
            json.dump(content, file)

    def load(self, spill: Spill) -> dict[str, Any] | None:
        """Take up the last checkpoint, if there is one: restores the runs, returns the `progress` that was saved."""
        path = self.folder / NAME
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["version"] != VERSION:
                raise ValueError(f"it is of version {content['version']}")
            runs = [
                Run(self.folder / Path(name).name, bits, rows, nbytes) for name, bits, rows, nbytes in content["runs"]
            ]
            kept = (content["sources"], content["options"])
            progress, dropped, prunes = content["progress"], int(content["dropped"]), int(content["prunes"])
        except FileNotFoundError:
            self._remove_all_but(set())
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path} cannot be read: {error}. {self._begin_anew()}") from error
        if kept != (self._sources, self._options):
            what = "sources" if kept[0] != self._sources else "options"
            raise UsageError(
                f"{self.folder} holds an unfinished count of other {what}. Call it again with the same {what} to go on "
                f"(sources must not have changed meanwhile). {self._begin_anew()}"
            )
        missing = [run.path for run in runs if not run.path.is_file()]
        if missing:
            raise UsageError(f"{missing[0]} is missing. {self._begin_anew()}")
        spill.resume(runs, dropped, prunes)
        self._remove_all_but({run.path.name for run in runs})
        return progress

    def _begin_anew(self) -> str:
        return f"To begin anew, delete {self.folder} (or use resume=False, --no-resume)."

    def _remove_all_but(self, names: set[str]) -> None:
        """Remove what an interrupted count left behind and no manifest names."""
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in names | {NAME, "lock"}:
                path.unlink()


@contextlib.contextmanager
def working_folder(output: Path, resume: bool, doing: str = "counting") -> Iterator[Path]:
    """The folder beside `output` in which it is made. It stays after a failure, and goes after success."""
    folder = output.parent / f".{output.name}.{doing}"
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / "lock", "wb")  # noqa: SIM115
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(
                f"another process is {doing} into {output} at this moment; wait, or choose another"
            ) from error
        if not resume:
            for path in folder.iterdir():
                if path.name != "lock":
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        try:
            yield folder
        except BaseException:
            if not (folder / NAME).exists():  # nothing to go on from
                shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


def fingerprint(paths: Sequence[Path | str]) -> str:
    """What tells whether sources are the same as before: their paths, sizes and dates."""
    digest = hashlib.sha256()
    for path in paths:
        if is_url(path):
            name, size, date = str(path), size_of(path), 0
        else:
            status = os.stat(path)
            name, size, date = os.path.abspath(path), status.st_size, status.st_mtime_ns
        digest.update(f"{name}\0{size}\0{date}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()
