"""Find the sources that a user named.

A source is a file on this machine (a Path), standard input ("-"), or the URL of a file elsewhere (a str: s3://, gs://,
hf://, memory://, ...; see remote.py). The network is used only for URLs that were given by name.
"""

from __future__ import annotations

import glob
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ..errors import InputError, OptionName, UsageError, plural, reason_of
from .packed import COMPRESSIONS, LONG_NAMES
from .remote import files_at, size_at

Source = Path | str
STDIN = "-"
_URL = re.compile(r"[a-z][a-z0-9+.-]+(::|://)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Skip:
    """Something that could not be read: its position in the source, and the reason.

    left_out: whether it was left out. Otherwise a part of it was changed, which is not an error.

    >>> print(Skip("a.jsonl", "line 7", "not JSON"))
    a.jsonl, line 7: not JSON
    """

    source: str
    position: str
    reason: str
    left_out: bool = True

    def __str__(self) -> str:
        return f"{self.source}, {self.position}: {self.reason}" if self.position else f"{self.source}: {self.reason}"


OnSkip = Callable[[Skip], None]


def find_sources(
    sources: str | os.PathLike | Iterable[str | os.PathLike], on_skip: OnSkip | None = None
) -> list[Source]:
    """The files that `sources` name: files as they are, folders with all files below them, globs expanded.

    The order is that of `sources`; within a folder or a glob it is by name. Hidden files in folders are left out.
    URLs may name a file, a folder or a glob too. "-" is standard input (a file of that name is "./-").

    on_skip: called for each folder below a named one that cannot be read; without it such a folder is an InputError.
    """
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    files: list[Source] = []
    for source in sources:
        if source == STDIN:
            standard_input()
            files.append(STDIN)
        else:
            files += files_at(str(source)) if is_url(source) else _files(source, on_skip)
    if not files:
        raise InputError('no sources were given. Name at least one file, folder or glob, or "-" for standard input.')
    return files


def standard_input() -> TextIO:
    """sys.stdin. InputError if it was closed when Python began: the command line puts a file that is only written in its place."""
    if sys.stdin is None or getattr(sys.stdin, "mode", "r") == "w":
        raise InputError("standard input is closed. Name a file, or pipe the input in.")
    return sys.stdin


def is_url(source: str | os.PathLike) -> bool:
    """Whether `source` is a URL, such as s3://bucket/key, and not a path."""
    return isinstance(source, str) and _URL.match(source) is not None


def suffix_of(path: str | os.PathLike) -> str:
    """The suffix that tells the format, without that of the compression: '.jsonl' for 'a.jsonl.zst'.

    >>> suffix_of("https://a.org/b.jsonl.gz?download=true"), suffix_of("zip://b.jsonl::https://a.org/c.zip")
    ('.jsonl', '.jsonl')
    """
    if is_url(path):
        inner = str(path).partition("::")[0]  # of an archive
        path = re.split("[?#]", inner, maxsplit=1)[0] if inner.startswith("http") else inner
    path = Path(path)
    return Path(path.stem if path.suffix.lower() in (*COMPRESSIONS, *LONG_NAMES) else path).suffix.lower()


def size_of(source: Source) -> int:
    """The bytes of `source` as it is stored, for progress bars and for sharing out work; 0 where unknown."""
    if is_url(source):
        return size_at(str(source))
    try:
        return 0 if source == STDIN else os.stat(source).st_size
    except OSError:
        return 0


def shown(source: Source) -> str:
    """The name of a source for messages and outputs: always UTF-8, with escapes for bytes that are not.

    >>> shown(Path("caf\\udce9.txt"))
    'caf\\\\xe9.txt'
    """
    return os.fsencode(source).decode("utf-8", "backslashreplace")


def can_read_again(source: Source) -> bool:
    """Whether a second reading gives the same: not so for a pipe or standard input."""
    return is_url(source) or (source != STDIN and os.path.isfile(source))


def report_skips(skips: Iterable[Skip], on_skip: OnSkip | None) -> None:
    """Give each of `skips` to `on_skip`. Without it, the first that was left out is an InputError, others are warnings."""
    for skip in skips:
        if on_skip is None and skip.left_out:
            raise InputError(
                str(skip).removesuffix("."), ". To leave it out, pass ", OptionName("skip_damaged", True), "."
            )
        (on_skip or warn_of_skip)(skip)


def refuse_nothing(documents: int, left_out: int, first: Skip | None = None) -> None:
    """Raise InputError if all that the sources have was left out as damaged. first: of what was left out."""
    if left_out and not documents:
        example = f", the first: {first}" if first else ""
        raise InputError(f"nothing could be read: left out {plural(left_out, 'damaged document')}{example}")


def warn_of_skip(skip: Skip) -> None:
    """Warn of something that was left out or changed, for callers that have no `on_skip`."""
    warnings.warn(f"left out: {skip}" if skip.left_out else str(skip), UnicodeWarning, stacklevel=3)


def ignore_skip(skip: Skip) -> None:
    """An `on_skip` for another look at sources whose skips are reported elsewhere."""


def _files(source: str | os.PathLike, on_skip: OnSkip | None) -> list[Source]:
    name, path = os.fspath(source), Path(source)
    if not name:  # not the current folder, as Path has it
        raise UsageError("the name of a source is empty. Name a file, a folder or a glob.")
    try:
        if path.is_dir():
            matches, problem = _below(path, on_skip), "the folder has no files that can be read"
        elif path.exists():
            matches, problem = [path], ""
        else:
            matches = sorted(Path(p) for p in glob.glob(name, recursive=True) if os.path.isfile(p))
            problem = "no file matches" if glob.has_magic(name) else "no such file or folder"
    except (OSError, ValueError) as error:  # a folder above may not be searched; a null byte in the name
        raise InputError(f"cannot read {name}: {reason_of(error)}") from error
    if not matches:
        raise InputError(f"{name}: {problem}. Check the path.")
    return list(matches)


def _below(folder: Path, on_skip: OnSkip | None) -> list[Path]:
    def refused(error: OSError) -> None:
        report_skips([Skip(shown(error.filename), "", f"the folder cannot be read: {reason_of(error)}")], on_skip)

    paths = []
    for root, folders, files in os.walk(folder, onerror=refused):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths += [Path(root, name) for name in files if not name.startswith(".")]
    broken = (path for path in sorted(paths) if path.is_symlink() and not path.exists())
    report_skips((Skip(shown(path), "", "a link to a file that does not exist") for path in broken), on_skip)
    return sorted(path for path in paths if path.is_file())
