"""Names for people: of tokenizers and of texts, from their paths."""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections.abc import Collection
from pathlib import Path

from ..errors import printable
from ..sources.packed import COMPRESSIONS

# A source with the name of its language, or a tokenizer with its own: "de=corpus/german.txt".
NAMED = re.compile(r"([^\W\d_][\w.-]*)=(.+)", re.DOTALL)
COMMON = ("tokenizer.json", "vocab.json", "merges.txt", "vocab.ddtok", "merges.ddtok")


def tokenizer_name(path: str | os.PathLike[str]) -> str:
    """The name of the tokenizer at `path`: that of its file, or of its folder if many tokenizers have such a file.

    >>> tokenizer_name("published/cl100k_base.tiktoken"), tokenizer_name("gpt2/tokenizer.json")
    ('cl100k_base', 'gpt2')
    """
    place = _without_compression(Path(path))
    if place.name in COMMON:
        place = place.absolute().parent
    elif place.suffix in (".tiktoken", ".json", ".ddtok"):
        place = place.with_suffix("")
    return printable(place.name or path).replace(",", "_")


def given_name(argument: str) -> tuple[str | None, str]:
    """The name and the path of an argument NAME=PATH; no name for a path, which a file of that name is too.

    >>> given_name("mine=out/tokenizer.json"), given_name("gpt2")
    (('mine', 'out/tokenizer.json'), (None, 'gpt2'))
    """
    match = None if os.path.lexists(argument) else NAMED.fullmatch(argument)
    return (match[1], match[2]) if match else (None, argument)


def text_name(path: str | os.PathLike[str]) -> str:
    """The name of a file without its suffixes: "en" for "corpus/en.txt.zst"."""
    return printable(_without_compression(Path(path)).stem or Path(path).name)


def group_name(source: str | os.PathLike[str]) -> str:
    """The name of a folder, or of the folder of a glob: "email" for "lib/email/*.py"."""
    parts = [part for part in os.fspath(source).split("/") if part]
    plain = parts[: next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts))]
    return printable(plain[-1] if plain and plain[-1] not in (".", "..") else source)


def free_name(name: str, taken: Collection[str]) -> str:
    """`name`, or if it is taken "name (2)", "name (3)", ..."""
    names = itertools.chain([name], (f"{name} ({number})" for number in itertools.count(2)))
    return next(free for free in names if free not in taken)


def _without_compression(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
