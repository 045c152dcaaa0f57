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

# fmt: off
Tokenizers = Annotated[Sequence[str], Argument("Files, folders or names; the first is the baseline.")]
On = Annotated[Sequence[str], Option("The text: files, folders, globs, saved word counts; LANG=SRC names its language.", metavar="SRC...")]
# fmt: on


def compare(
    opening: Opening,
    read: ReadOptions,
    forms: Forms,
    *,
    tokenizers: Tokenizers,
    on: On,
    num_threads: Threads = None,
) -> None:
    """Compare tokenizers on the same text: compression, fertility, junk.

    tokenmill compare my-tokenizer cl100k_base --on corpus/*.txt
    """
    from ..quality import compare as compare_tokenizers
    from ..quality.names import tokenizer_name

    forms.check()
    names = [tokenizer_name(path) for path in tokenizers]
    if len(set(names)) < len(names):
        names = list(map(printable, tokenizers))
    if len(set(names)) < len(names):
        raise UsageError("the same tokenizer is given twice")
    named = {name: opening.load(path) for name, path in zip(names, tokenizers, strict=True)}
    with progress_bar() as progress:
        report = compare_tokenizers(named, list(on), read=read, num_threads=num_threads, progress=progress)
    forms.show(report)
