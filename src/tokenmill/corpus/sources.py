"""Find the sources a user named, and open them as streams of plain bytes whatever they are compressed with."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from ..errors import InputError, require

__all__ = ["find_sources", "open_source", "suffix_of"]

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")


def find_sources(sources: str | os.PathLike | Iterable[str | os.PathLike]) -> list[Path]:
    """The files that `sources` name: files as they are, folders with all files below them, globs expanded.

    The order is that of `sources`; within a folder or a glob it is by name. Hidden files in folders are left out.
    """
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    found: list[Path] = []
    for source in sources:
        path = Path(source)
        if path.is_dir():
            below = (p for p in path.rglob("*") if p.is_file())
            matches = sorted(p for p in below if not any(part.startswith(".") for part in p.relative_to(path).parts))
            what = "the folder has no files"
        elif path.exists():
            matches, what = [path], ""
        else:
            matches = sorted(Path(p) for p in glob.glob(os.fspath(source), recursive=True) if os.path.isfile(p))
            what = "no file matches" if glob.has_magic(os.fspath(source)) else "no such file or folder"
        if not matches:
            raise InputError(f"{os.fspath(source)}: {what}. Check the path.")
        found += matches
    if not found:
        raise InputError("no sources were given. Name at least one file, folder or glob.")
    return found


def suffix_of(path: str | os.PathLike) -> str:
    """The suffix that tells the format, without that of the compression: '.jsonl' for 'a.jsonl.zst'."""
    path = Path(path)
    return Path(path.stem).suffix.lower() if path.suffix.lower() in COMPRESSIONS else path.suffix.lower()


def open_source(path: str | os.PathLike) -> IO[bytes]:
    """Open `path` for reading bytes, decompressing .gz, .bz2, .xz and .zst. Damage raises InputError while reading."""
    suffix = Path(path).suffix.lower()
    try:
        if suffix == ".gz":
            return gzip.open(path, "rb")
        if suffix == ".bz2":
            return bz2.open(path, "rb")
        if suffix == ".xz":
            return lzma.open(path, "rb")
        if suffix == ".zst":
            zstandard = require("zstandard", "corpus", "reading .zst files")
            return zstandard.open(path, "rb")
        return open(path, "rb")
    except OSError as error:
        raise InputError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from error
