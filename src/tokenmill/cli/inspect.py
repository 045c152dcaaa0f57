"""tokenmill inspect: judge one tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from ..errors import OptionName, UsageError
from ..jobs.work import Threads
from ..options import Argument, Option
from ..quality import InspectionOptions
from ..tokenizer.opening import Opening
from . import _options as opt
from ._console import progress_bar
from ._tables import Forms

# fmt: off
Text = Annotated[Sequence[str], Argument("Text to judge it on: files, folders, globs, saved word counts; LANG=SRC names its language.")]
All = Annotated[bool, Option("Print all tables, not only the first five.", "--all")]
Top = Annotated[int | None, Option("Rows of each list; 0 for all. [default: 10, with --html 200]", min=0)]
# fmt: on
FIRST = ("vocabulary", "text", "under_trained", "thresholds", "junk", "unreachable", "references", "partial", "longest")


def inspect(
    opening: Opening,
    options: InspectionOptions,
    forms: Forms,
    *,
    tokenizer: opt.Tokenizer,
    sources: Text = (),
    everything: All = False,
    top: Top = None,
    num_threads: Threads = None,
) -> None:
    """Judge a tokenizer: junk by IoS, unreachable and unused tokens, compression.

    tokenmill inspect my-tokenizer corpus/*.txt --html report.html
    """
    from ..quality import inspect as inspect_tokenizer
    from ..quality.names import tokenizer_name

    forms.check()
    if everything and (forms.json or forms.markdown or forms.html is not None):
        raise UsageError(OptionName("everything"), " is not used by other forms, which have all tables: leave it out")
    tok, name, text = opening.load(tokenizer), tokenizer_name(tokenizer), list(sources) or None
    with progress_bar() as progress:
        report = inspect_tokenizer(tok, text, name=name, options=options, num_threads=num_threads, progress=progress)
    forms.show(report, top, None if everything else FIRST)
