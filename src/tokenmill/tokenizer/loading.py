"""Load a tokenizer from a file, or by the name of a published encoding or of a model."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..errors import OptionName, UnknownModelError, UsageError, printable, suggests_options
from ..split.names import encoding_name, is_named, nearest
from ..split.splitter import tables_of
from .tokenizer import Tokenizer


@suggests_options
def load(
    path: str | os.PathLike[str],
    *,
    split: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    download: bool = False,
    force: bool = False,
    drop_unknown: bool = False,
) -> Tokenizer:
    """Load a tokenizer from a file or folder. The format is detected from the content.

    path: a file, a folder, or the name of a published encoding ("cl100k_base") or of a model that uses one
        ("gpt-4o"), which is looked up in local caches. Or a name on the Hugging Face hub, "org/name" or "org/name@revision",
        which is looked up in the hub's cache on this machine.
    split: the split pattern, for a format without one (an unknown .tiktoken file). It is never guessed.
    force: use `split` instead of the file's pattern. The ids then differ from those of the published tokenizer.
    special_tokens: text -> id, for a file without them.
    drop_unknown: drop characters that have no token in a tokenizer.json without an unknown token, as tokenizers does, with a
        warning. Without it such text is an error. `tok.count_dropped(text)` counts them.
    download: whether a published encoding, or a tokenizer on the hub, may be downloaded. The hub needs huggingface_hub.
    `tok.source` is the file, its revision on the hub, its SHA-256, and `split`.
    """
    if force and split is None:
        raise UsageError("force takes split in place of the pattern of the file: name it with ", OptionName("split"))
    from ..formats.finding import find  # late: --help needs neither
    from ..formats.reading import parse

    file = find(path, download)
    vocabulary = parse(file, split, special_tokens, force, drop_unknown)
    for pattern in vocabulary.split_patterns:
        if not is_named(pattern):
            tables_of(pattern)  # a pattern that cannot run is an error of the file
    return Tokenizer(vocabulary, name=printable(path), source=file.origin()._replace(split=split))


@suggests_options
def encoding_for_model(model: str, *, download: bool = False) -> Tokenizer:
    """Load the published encoding of a model ("gpt-4o"), like tiktoken's function of the same name. Options as for `load`.

    Raises UnknownModelError (a KeyError) for a model whose encoding is not known.
    """
    name = encoding_name(model)
    if name is None:
        hint = nearest(model, encodings=True) or " get_encoding loads an encoding by its own name."
        raise UnknownModelError(f"no published encoding is known for the model {model!r}.{hint}")
    return load(name, download=download)


@suggests_options
def get_encoding(name: str, *, download: bool = False) -> Tokenizer:
    """Load a published encoding ("cl100k_base"), like tiktoken's function of the same name. Options as for `load`."""
    if encoding_name(name) is None:
        raise UsageError(f"no published encoding is known by the name {name!r}.{nearest(name, encodings=True)}")
    return load(name, download=download)


def list_encoding_names() -> list[str]:
    """The names of the published encodings, which `load` accepts."""
    from ..formats import PUBLISHED

    return list(PUBLISHED)
