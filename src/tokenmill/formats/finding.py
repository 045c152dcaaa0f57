"""Find the file of a tokenizer by its path, in its folder, by the name of a published encoding, or by its name on the hub."""

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


class TokenizerFile(NamedTuple):
    """The path, content and inode of a file; or the name of a published encoding and the content of its files."""

    path: Path
    name: str | None
    contents: list[bytes]
    revision: str | None = None
    inode: int | None = None

    def origin(self) -> Origin:
        digest = hashlib.sha256()
        for content in self.contents:
            digest.update(content)
        return Origin(self.name or str(self.path), self.revision, digest.hexdigest())


def find(name: str | os.PathLike, download: bool = False) -> TokenizerFile:
    """Find the file of a tokenizer; arguments as for `reading.read`."""
    if not os.fspath(name):  # not the current folder, as Path has it
        raise InputError("the name of the tokenizer is empty. Name a file, a folder or a published encoding.")
    path = Path(name)
    encoding = None if path.exists() or "/" in os.fspath(name) else encoding_name(os.fspath(name))
    if encoding is not None:
        digests = published_encodings.PUBLISHED[encoding].files.items()
        contents = [published_encodings.published_file(encoding, *item, download) for item in digests]
        return TokenizerFile(path, encoding, contents)
    revision = None
    if not path.exists():
        if (on_hub := published_encodings.hub_name(name)) is None:
            known = ", ".join(published_encodings.PUBLISHED)
            raise InputError(
                f"{path}: no such file or folder, and not one of the published encodings ({known})."
                f"{nearest(path.name, encodings=True) or ' Check the path or the name.'}"
            )
        folder = published_encodings.cached_repository(*on_hub)
        if download and (folder is None or not _files_in(folder)):
            folder = published_encodings.download_repository(*on_hub)
        if folder is None:
            raise InputError(
                f"{path}: no such file or folder, and not in the Hugging Face cache ({published_encodings.cache_folder()}). Check the path, "
                "or allow the download from the hub with ",
                OptionName("download", True),
                ".",
            )
        path, revision = folder, folder.name
    if path.is_dir():
        files = _files_in(path)
        if not files:
            wanted = f"{', '.join(_NAMES)}, a .tiktoken or a .gguf file"
            raise FormatError(f"{path}: no tokenizer in this folder. It needs {wanted}.")
        # .gguf files of one folder are shards or quantizations of one model
        if len(files) > 1 and files[1].suffix == ".tiktoken":
            names = ", ".join(file.name for file in files[:5])
            raise FormatError(f"{path}: several tokenizers are in this folder: {names}. Name the file of one.")
        path = files[0]
    inode = inode_of(path)  # before the content, so that a file that replaces it is noticed
    return TokenizerFile(path, None, [read_bytes(path)], revision, inode)


def inode_of(path: Path) -> int | None:
    """Return the inode of a file; None if it does not exist."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


_NAMES = ("tokenizer.json", "tekken.json", "tokenizer.model", *(vocab for vocab, _ in PAIRS))


def _files_in(folder: Path) -> list[Path]:
    named = [folder / name for name in _NAMES if (folder / name).is_file()]
    return named or [*sorted(folder.glob("*.tiktoken")), *sorted(folder.glob("*.gguf"))]


def files_read(tokenizer: object) -> list[Path]:
    """Return the files that a tokenizer may be read from, which need not exist; an empty list for a Tokenizer object."""
    if not isinstance(tokenizer, str | os.PathLike):
        return []
    path = Path(tokenizer)
    folder, files = (path, _files_in(path)) if path.is_dir() else (path.parent, [path, companion_path(path)])
    return [*files, *(folder / name for name in OWN_FILES)]
