"""Find the sources that a user named.

A source is a file on this machine (a Path), standard input ("-"), or the URL of a file elsewhere (a str: s3://, gs://,
hf://, memory://, ...; see remote.py). Only URLs use the network.
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
    """A document, row or file that could not be read: its position in the source, and the reason.

    left_out: whether it was left out. Otherwise some of it was changed, which is not an error.

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
    """Return the files that `sources` name: files as they are, all files below folders, and those that match globs.

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
    """Return sys.stdin. InputError if it was closed: the command line replaces a closed one by a file for writing."""
    if sys.stdin is None or getattr(sys.stdin, "mode", "r") == "w":
        raise InputError("standard input is closed. Name a file, or pipe the input in.")
    return sys.stdin


def is_url(source: str | os.PathLike) -> bool:
    """Return whether `source` is a URL, such as s3://bucket/key, and not a path."""
    return isinstance(source, str) and _URL.match(source) is not None


def suffix_of(path: str | os.PathLike) -> str:
    """Return the suffix of the format, without that of the compression, in lower case.

    >>> suffix_of("https://a.org/b.jsonl.gz?download=true"), suffix_of("zip://b.jsonl::https://a.org/c.zip")
    ('.jsonl', '.jsonl')
    """
    if is_url(path):
        inner = str(path).partition("::")[0]  # of an archive
        path = re.split("[?#]", inner, maxsplit=1)[0] if inner.startswith("http") else inner
    path = Path(path)
    return Path(path.stem if path.suffix.lower() in (*COMPRESSIONS, *LONG_NAMES) else path).suffix.lower()


def size_of(source: Source) -> int:
    """Return the bytes of `source` as it is stored, for progress and for dividing work; 0 where unknown."""
    if is_url(source):
        return size_at(str(source))
    try:
        return 0 if source == STDIN else os.stat(source).st_size
    except OSError:
        return 0


def shown(source: Source) -> str:
    """Return the name of a source for messages and outputs, as UTF-8 with escapes for other bytes.

    >>> shown(Path("caf\\udce9.txt"))
    'caf\\\\xe9.txt'
    """
    return os.fsencode(source).decode("utf-8", "backslashreplace")


def can_read_again(source: Source) -> bool:
    """Return whether a source can be read twice, unlike a pipe or standard input."""
    return is_url(source) or (source != STDIN and os.path.isfile(source))


def report_skips(skips: Iterable[Skip], on_skip: OnSkip | None) -> None:
    """Call `on_skip` with each skip. Without it, the first with left_out is an InputError, and others are warnings."""
    for skip in skips:
        if on_skip is None and skip.left_out:
            raise InputError(
                str(skip).removesuffix("."), ". To leave it out, pass ", OptionName("skip_damaged", True), "."
            )
        (on_skip or warn_of_skip)(skip)


def refuse_nothing(documents: int, left_out: int, first: Skip | None = None) -> None:
    """Raise InputError if all documents were left out as damaged. first: the first of them."""
    if left_out and not documents:
        example = f", the first: {first}" if first else ""
        raise InputError(f"nothing could be read: left out {plural(left_out, 'damaged document')}{example}")


def warn_of_skip(skip: Skip) -> None:
    """The `on_skip` of callers without one: warn."""
    warnings.warn(f"left out: {skip}" if skip.left_out else str(skip), UnicodeWarning, stacklevel=3)


def ignore_skip(skip: Skip) -> None:
    """The `on_skip` for sources that are read twice, whose skips are reported once."""


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
