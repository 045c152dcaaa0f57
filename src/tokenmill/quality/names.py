"""Display names of tokenizers and texts, from their paths."""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections.abc import Collection
from pathlib import Path

from ..errors import printable
from ..sources.packed import COMPRESSIONS

# A source with the name of its language, or a tokenizer with a name: "de=corpus/german.txt".
NAMED = re.compile(r"([^\W\d_][\w.-]*)=(.+)", re.DOTALL)
COMMON = ("tokenizer.json", "vocab.json", "merges.txt", "vocab.ddtok", "merges.ddtok")


def tokenizer_name(path: str | os.PathLike[str]) -> str:
    """Return the name of the tokenizer at `path`: that of its file, or of its folder if the file has a common name.

    >>> tokenizer_name("published/cl100k_base.tiktoken"), tokenizer_name("gpt2/tokenizer.json")
    ('cl100k_base', 'gpt2')
    """
    named = _without_compression(Path(path))
    if named.name in COMMON:
        named = named.absolute().parent
    elif named.suffix in (".tiktoken", ".json", ".ddtok"):
        named = named.with_suffix("")
    return printable(named.name or path).replace(",", "_")


def given_name(argument: str) -> tuple[str | None, str]:
    """Split an argument NAME=PATH. The name is None if there is none, or if a file has the whole argument as its name.

    >>> given_name("mine=out/tokenizer.json"), given_name("gpt2")
    (('mine', 'out/tokenizer.json'), (None, 'gpt2'))
    """
    match = None if os.path.lexists(argument) else NAMED.fullmatch(argument)
    return (match[1], match[2]) if match else (None, argument)


def text_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a file without its suffixes: "en" for "corpus/en.txt.zst"."""
    return printable(_without_compression(Path(path)).stem or Path(path).name)


def group_name(source: str | os.PathLike[str]) -> str:
    """Return the name of a folder, or of the folder of a glob: "email" for "lib/email/*.py"."""
    names = filter(None, os.fspath(source).split("/"))
    plain = list(itertools.takewhile(lambda name: not glob.has_magic(name), names))
    return printable(plain[-1] if plain and plain[-1] not in (".", "..") else source)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, or if it is taken "name (2)", "name (3)", ..."""
    names = itertools.chain([name], (f"{name} ({number})" for number in itertools.count(2)))
    return next(free for free in names if free not in taken)


def _without_compression(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
