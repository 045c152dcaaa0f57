"""Options that several commands share, and options that take several values."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

__all__ = [
    "DownloadOption",
    "MaxTokenBytesOption",
    "MinCountOption",
    "MinPairCountOption",
    "SampleOption",
    "SplitOption",
    "SummaryOption",
    "ThreadsOption",
    "TokenizerArgument",
    "multi_value_command",
]

TokenizerArgument = Annotated[str, typer.Argument(help="A tokenizer: a file or folder of any format, or a name.")]
SplitOption = Annotated[str | None, typer.Option(help="The split pattern, for a file that does not hold it.")]
DownloadOption = Annotated[bool, typer.Option("--download", help="Allow the download of a published encoding.")]
ThreadsOption = Annotated[int | None, typer.Option(help="Threads for counting; by default all cores.")]
SummaryOption = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on stdout.")]
MinCountOption = Annotated[int, typer.Option(help="Leave out pretokens with a lower count.")]
MinPairCountOption = Annotated[int, typer.Option(help="Stop when the count of the best pair is lower.")]
MaxTokenBytesOption = Annotated[int | None, typer.Option(help="Never make a longer token.")]
SampleOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SRC...",
        help="For a Picky tokenizer: text to measure how often programs that know only merges get other ids.",
    ),
]


def multi_value_command(*options: str) -> type[TyperCommand]:
    """A command in which every argument between one of `options` and the next option is a value of that option.

    So the shell may expand a glob there: `--on SRC SRC ...`.
    """

    class Command(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            repeated: list[str] = []
            after = ""
            for arg in args:
                if arg in options:
                    after = arg
                elif arg.startswith("-"):
                    after = ""
                    repeated.append(arg)
                else:
                    repeated += [after, arg] if after else [arg]
            return super().parse_args(ctx, repeated)

    return Command
