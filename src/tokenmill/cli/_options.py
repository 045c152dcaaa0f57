"""Options that several commands share, and commands whose options take several values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

Sources = Annotated[
    list[str], typer.Argument(help="Files, folders, globs, URLs, plain or compressed; - is standard input.")
]
Tokenizer = Annotated[str, typer.Argument(help="A tokenizer: a file or folder of any format, or a name.")]
TokenizerOption = Annotated[
    str, typer.Option(help="The tokenizer: a file, a folder, or the name of a published encoding.")
]
Download = Annotated[bool, typer.Option("--download", help="Allow the download of a published encoding.")]
Split = Annotated[str | None, typer.Option(help="The split pattern, for a tokenizer file that does not hold it.")]

# How sources are read.
Unit = Annotated[
    str, typer.Option(help="A document of a text file: file, line, blank (what blank lines separate), or separator.")
]
Separator = Annotated[str, typer.Option(help="The text between two documents, for --unit separator.")]
Field = Annotated[str, typer.Option(help="The field of JSON objects, or the column of Parquet, that holds the text.")]
Binary = Annotated[str, typer.Option(help="What to do with a file that is not text: error, skip, or count its bytes.")]
SkipDamaged = Annotated[
    bool, typer.Option("--skip-damaged", help="Leave out what cannot be read: a line, a row, the rest of a file.")
]

# How a job runs.
Threads = Annotated[int | None, typer.Option(help="The number of threads; by default one for each core.")]
Resume = Annotated[bool, typer.Option("--resume/--no-resume", help="Continue an interrupted job.")]
Engine = Annotated[str, typer.Option(help="local, or ray: tasks on a Ray cluster.")]
RayAddress = Annotated[
    str | None, typer.Option(help="The cluster for --engine ray; by default Ray starts on this machine.")
]

# What is trained.
SpecialToken = Annotated[list[str] | None, typer.Option(help="A special token; may be repeated.")]
MinCount = Annotated[int, typer.Option(help="Leave out pretokens with a lower count.")]
MinPairCount = Annotated[int, typer.Option(help="Stop when the count of the best pair is lower.")]
MaxTokenBytes = Annotated[int | None, typer.Option(help="Never make a longer token.")]
Sample = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SRC...",
        help="For a Picky tokenizer: text to measure how often programs that know only merges get other ids.",
    ),
]

# What is printed.
Summary = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on stdout.")]
Json = Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")]
Html = Annotated[Path | None, typer.Option(help="Write a report as one self-contained page.")]


class VerbCommand(TyperCommand):
    """A command whose options with the metavar SRC... take every argument up to the next option.

    So the shell may expand a glob there: `--on SRC SRC ...`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        several = {name for param in self.params if param.metavar == "SRC..." for name in param.opts}
        repeated: list[str] = []
        after = ""
        for arg in args:
            if arg in several:
                after = arg
            elif arg.startswith("-"):
                after = ""
                repeated.append(arg)
            else:
                repeated += [after, arg] if after else [arg]
        return super().parse_args(ctx, repeated)
