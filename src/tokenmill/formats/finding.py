"""Find the file of a tokenizer: by its path, in its folder, or by the name of a published encoding."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..errors import FormatError, InputError
from ..vocabulary.names import encoding_name, nearest
from . import published_encodings
from .file_content import read_bytes

PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"), ("vocab.ddtok", "merges.ddtok"))


class Found(NamedTuple):
    """A file to read, with its content; or a published encoding, its name and the content of its files."""

    place: Path
    name: str | None
    contents: list[bytes]


def find(path: str | os.PathLike, download: bool = False) -> Found:
    """Find what `read_write.read` reads; arguments as there."""
    place = Path(path)
    name = None if place.exists() else encoding_name(os.fspath(path))
    if name is not None:
        return Found(place, name, published_encodings.published_files(name, download))
    place = _file_in(place) if place.is_dir() else place
    if not place.exists():
        known = ", ".join(published_encodings.PUBLISHED)
        raise InputError(
            f"{place}: no such file or folder, and not one of the published encodings ({known})."
            f"{nearest(place.name, encodings=True) or ' Check the path or the name.'}"
        )
    return Found(place, None, [read_bytes(place)])


def _file_in(folder: Path) -> Path:
    """The file of `folder` to begin with."""
    names = ["tokenizer.json", "tekken.json", "tokenizer.model", *(vocab for vocab, _ in PAIRS)]
    found = [folder / name for name in names if (folder / name).is_file()]
    found = found or [*sorted(folder.glob("*.tiktoken")), *sorted(folder.glob("*.gguf"))]
    if not found:
        wanted = f"{', '.join(names)}, a .tiktoken or a .gguf file"
        raise FormatError(f"{folder}: no tokenizer in this folder. It needs {wanted}.")
    return found[0]
