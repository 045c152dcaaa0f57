"""Find the file of a tokenizer: by its path, in its folder, by the name of a published encoding, or by its name on the hub."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from ..errors import FormatError, InputError, OptionName
from ..split.names import encoding_name, nearest
from . import companions, published_encodings
from .file_content import read_bytes
from .rank_files import companion_path

PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"), ("vocab.ddtok", "merges.ddtok"))
EVENTS = (companions.EVENTS, companions.EVENT_COUNTS)
OWN_FILES = ("tokenizer.json", "tokenizer_config.json", companions.NAME, *PAIRS[0], *PAIRS[2], *EVENTS)


class Origin(NamedTuple):
    """The origin of a loaded tokenizer.

    path: the file, or the name of the published encoding.
    revision: the commit in the repository on the Hugging Face hub; None for other files.
    sha256: the SHA-256 of the decompressed content, as hex digits. For several files, it is that of their concatenation.
    split: the split pattern that the caller named; None where that of the file was used.
    """

    path: str
    revision: str | None
    sha256: str
    split: str | None = None


class Found(NamedTuple):
    """A file to read, with its content and its inode; or a published encoding, its name and the content of its files."""

    place: Path
    name: str | None
    contents: list[bytes]
    revision: str | None = None
    inode: int | None = None

    def origin(self) -> Origin:
        digest = hashlib.sha256()
        for content in self.contents:
            digest.update(content)
        return Origin(self.name or str(self.place), self.revision, digest.hexdigest())


def find(path: str | os.PathLike, download: bool = False) -> Found:
    """Find what `reading.read` reads; arguments as there."""
    if not os.fspath(path):  # not the current folder, as Path has it
        raise InputError("the name of the tokenizer is empty. Name a file, a folder or a published encoding.")
    place = Path(path)
    name = None if place.exists() or "/" in os.fspath(path) else encoding_name(os.fspath(path))
    if name is not None:
        files = published_encodings.PUBLISHED[name].files
        return Found(place, name, [published_encodings.published_file(name, *each, download) for each in files.items()])
    revision = None
    if not place.exists():
        if (on_hub := published_encodings.hub_name(path)) is None:
            known = ", ".join(published_encodings.PUBLISHED)
            raise InputError(
                f"{place}: no such file or folder, and not one of the published encodings ({known})."
                f"{nearest(place.name, encodings=True) or ' Check the path or the name.'}"
            )
        folder = published_encodings.cached_repository(*on_hub)
        if download and (folder is None or not _files_in(folder)):
            folder = published_encodings.download_repository(*on_hub)
        if folder is None:
            raise InputError(
                f"{place}: no such file or folder, and not in the Hugging Face cache ({published_encodings.cache_folder()}). Check the path, "
                "or allow the download from the hub with ",
                OptionName("download", True),
                ".",
            )
        place, revision = folder, folder.name
    if place.is_dir():
        found = _files_in(place)
        if not found:
            wanted = f"{', '.join(_NAMES)}, a .tiktoken or a .gguf file"
            raise FormatError(f"{place}: no tokenizer in this folder. It needs {wanted}.")
        # .gguf files of one folder are parts or forms of one model
        if len(found) > 1 and found[1].suffix == ".tiktoken":
            names = ", ".join(path.name for path in found[:5])
            raise FormatError(f"{place}: several tokenizers are in this folder: {names}. Name the file of one.")
        place = found[0]
    inode = inode_of(place)  # before the content, so that a file that replaces it is noticed
    return Found(place, None, [read_bytes(place)], revision, inode)


def inode_of(path: Path) -> int | None:
    """The inode of a file; None if it is not there."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


_NAMES = ("tokenizer.json", "tekken.json", "tokenizer.model", *(vocab for vocab, _ in PAIRS))


def _files_in(folder: Path) -> list[Path]:
    found = [folder / name for name in _NAMES if (folder / name).is_file()]
    return found or [*sorted(folder.glob("*.tiktoken")), *sorted(folder.glob("*.gguf"))]


def files_read(tokenizer: object) -> list[Path]:
    """Return the files that a tokenizer may be read from, which need not exist; an empty list for a Tokenizer object."""
    if not isinstance(tokenizer, str | os.PathLike):
        return []
    place = Path(tokenizer)
    folder, files = (place, _files_in(place)) if place.is_dir() else (place.parent, [place, companion_path(place)])
    return [*files, *(folder / name for name in OWN_FILES)]
