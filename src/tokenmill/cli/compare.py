"""tokenmill compare: several tokenizers on the same text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from ..errors import UsageError, printable
from ..jobs.work import Threads
from ..options import Argument, Option
from ..sources.blocks import ReadOptions
from ..tokenizer.opening import Opening
from ._console import progress_bar
from ._tables import Forms


def compare(
    opening: Opening,
    read: ReadOptions,
    forms: Forms,
    *,
    tokenizers: Annotated[Sequence[str], Argument("Files, folders or names; the first is the baseline.")],
    on: Annotated[
        Sequence[str],
        Option("The text: files, folders, globs, saved word counts; LANG=SRC names its language.", metavar="SRC..."),
    ],
    num_threads: Threads = None,
) -> None:
    """Compare tokenizers on the same text: compression, fertility, junk.

    tokenmill compare my-tokenizer cl100k_base --on corpus/*.txt
    """
    from ..quality import compare as compare_tokenizers

    forms.check()
    named = {name: opening.load(path) for name, path in zip(_names(tokenizers), tokenizers, strict=True)}
    with progress_bar() as progress:
        found = compare_tokenizers(named, list(on), read=read, num_threads=num_threads, progress=progress)
    forms.show(found)


def _names(paths: Sequence[str]) -> list[str]:
    """Short names if they are distinct, else the paths."""
    from ..quality.names import tokenizer_name

    short = [tokenizer_name(path) for path in paths]
    names = short if len(set(short)) == len(short) else list(map(printable, paths))
    if len(set(names)) < len(names):
        raise UsageError("the same tokenizer is given twice")
    return names
