"""Options that several commands share, so that each has one name, one help text and one default."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import click

from ._commands import Argument, Option


def whole_number(text: Any) -> int:
    """A whole number as people write it: 32768, 32_768, 32k (32,000), 1GB, 512MiB."""
    from ..counting.memory import parse_size

    try:
        return int(text)
    except ValueError:
        try:
            return parse_size(text)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not a number; write it like 32768, 32k, 1GB or 512MiB") from None


def whole_numbers(text: Any) -> tuple[int, ...]:
    """Whole numbers between commas, ascending."""
    return tuple(sorted({whole_number(part.strip()) for part in str(text).split(",")}))


reading = partial(Option, panel="How text is read")
job = partial(Option, panel="How the job runs")
training = partial(Option, panel="What is trained")
output = partial(Option, panel="Output")
number = {"parser": whole_number, "metavar": "N"}

Sources = Annotated[list[str], Argument(help="Files, folders, globs, URLs, plain or compressed; - is standard input.")]
Tokenizer = Annotated[str, Argument(help="A tokenizer: a file or folder of any format, or a name.")]
TokenizerOption = Annotated[str, Option(help="The tokenizer: a file, a folder, or the name of a published encoding.")]
Download = Annotated[bool, Option("--download", help="Allow the download of a published encoding.")]
Split = Annotated[str | None, Option(help="The split pattern, for a tokenizer file that does not hold it.")]
TrainingSplit = Annotated[
    list[str] | None,
    Option(
        "--split",
        help="Split pattern: cl100k (default), o200k, llama3, ..., the name of an encoding or model that uses it, or a "
        "regular expression. Given several times, each cuts the pretokens of the one before.",
    ),
]
Sample = Annotated[
    list[str] | None,
    Option(
        metavar="SRC...",
        help="For a Picky tokenizer: text to measure how often programs that know only merges get other ids.",
    ),
]

# How text is read.
Unit = Annotated[
    str, reading(help="A document of a text file: file, line, blank (what blank lines separate), or separator.")
]
Separator = Annotated[str, reading(help="The text between two documents, for --unit separator.")]
Field = Annotated[str, reading(help="The field of JSON objects, or the column of Parquet, that holds the text.")]
Binary = Annotated[str, reading(help="What to do with a file that is not text: error, skip, or count its bytes.")]
SkipDamaged = Annotated[
    bool, reading("--skip-damaged", help="Leave out what cannot be read: a line, a row, the rest of a file.")
]


def weighted(text: Any) -> tuple[str, str]:
    """A source and its weight."""
    source, sign, weight = str(text).rpartition("=")
    if not sign:
        raise click.BadParameter(f"{text!r} names no weight; write it like SRC=3/2")
    return source, weight


Weights = Annotated[
    list[str] | None,
    reading(
        "--weight",
        parser=weighted,
        metavar="SRC=N",
        help="How much the text of a source counts, such as code/=1/2 or en.txt=1.5; 1 for the others. May be repeated.",
    ),
]

# How the job runs.
Threads = Annotated[int | None, job(help="Threads, or processes for clean; by default one for each core.")]
Resume = Annotated[bool, job("--resume/--no-resume", help="Continue an interrupted job.")]
Engine = Annotated[str, job(help="local, or ray: tasks on a Ray cluster.")]
RayAddress = Annotated[str | None, job(help="The cluster for --engine ray; by default Ray starts on this machine.")]

# What is trained.
VocabSizes = Annotated[
    tuple[int, ...],
    training(
        "--vocab-size",
        parser=whole_numbers,
        metavar="N[,N...]",
        help="The number of ids, with bytes and special tokens; 32k is 32,000. Several, such as 16k,32k, come from one training.",
    ),
]
SpecialToken = Annotated[
    list[str] | None, training(help="A special token, which is cut out of the text. May be repeated.")
]
MinCount = Annotated[int, training(**number, help="Leave out pretokens with a lower count.")]
MinPairCount = Annotated[int, training(**number, help="Stop when the count of the best pair is lower.")]
MaxTokenBytes = Annotated[int | None, training(**number, help="Never make a longer token.")]

# What is written and printed.
Force = Annotated[bool, output("--force", help="Overwrite an output that exists.")]
Summary = Annotated[bool, output("--json", help="Print the summary as JSON on stdout.")]
Json = Annotated[bool, output("--json", help="Print the tables as JSON.")]
Markdown = Annotated[bool, output("--markdown", help="Print the tables as Markdown.")]
Html = Annotated[Path | None, output(help="Write a report as one self-contained page.")]
Quiet = Annotated[bool, output("--quiet", "-q", help="Print results and errors only, no notes and no progress.")]
Verbose = Annotated[bool, output("--verbose", "-v", help="Print all that was left out, and where errors come from.")]
