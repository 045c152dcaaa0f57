"""tokenmill inspect: judge one tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from ..jobs.work import Threads
from ..options import Argument, Option
from ..quality import InspectionOptions
from ..tokenizer.opening import Opening
from . import _options as opt
from ._console import progress_bar
from ._tables import Forms


def inspect(
    opening: Opening,
    options: InspectionOptions,
    forms: Forms,
    *,
    tokenizer: opt.Tokenizer,
    sources: Annotated[
        Sequence[str],
        Argument("Text to judge it on: files, folders, globs, saved word counts; LANG=SRC names its language."),
    ] = (),
    top: Annotated[int | None, Option("Rows of each list; 0 for all. [default: 10, with --html 200]", min=0)] = None,
    num_threads: Threads = None,
) -> None:
    """Judge a tokenizer: junk by IoS, unreachable and unused tokens, compression.

    tokenmill inspect my-tokenizer corpus/*.txt --html report.html
    """
    from ..quality import inspect as inspect_tokenizer
    from ..quality.names import tokenizer_name

    forms.check()
    tok = opening.load(tokenizer)
    with progress_bar() as progress:
        found = inspect_tokenizer(
            tok,
            list(sources) or None,
            name=tokenizer_name(tokenizer),
            options=options,
            num_threads=num_threads,
            progress=progress,
        )
    forms.show(found, top)
