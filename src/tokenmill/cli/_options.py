"""Options that several commands share and that belong to no job, so that each has one name, one help text and one default."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from ..jobs.work import OUTPUT
from ..options import Argument, Option

Tokenizer = Annotated[str, Argument("A tokenizer: a file or folder of any format, or a name.")]
# fmt: off
TokenizerOption = Annotated[str, Option("The tokenizer: a file, a folder, or the name of a published encoding.", "--tokenizer")]
Sample = Annotated[Sequence[str], Option("For a Picky tokenizer: text to measure how often programs that know only merges get other ids.", metavar="SRC...", section=OUTPUT)]
Html = Annotated[Path | None, Option("Write a report as one self-contained page.", section=OUTPUT)]
Json = Annotated[bool, Option("Print the summary as JSON on stdout.", section=OUTPUT)]
Quiet = Annotated[bool, Option("Print results and errors only, no notes and no progress.", "-q", "--quiet", section=OUTPUT)]
Verbose = Annotated[bool, Option("Print all notes, each merge, and where errors come from.", "-v", "--verbose", section=OUTPUT)]
# fmt: on


def messages(*, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Apply the options that every verb has."""
    from ._console import verbosity

    verbosity.quiet, verbosity.verbose = quiet, verbose
