"""Options that several commands share, so that each has one name, one help text and one default."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import click

from ._commands import Argument as Argument
from ._commands import Group as Group
from ._commands import Option as Option

if TYPE_CHECKING:
    from ..jobs.work import JobOptions
    from ..sources.blocks import ReadOptions
    from ..tokenizer import Tokenizer as LoadedTokenizer


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


def weighted(text: Any) -> tuple[str, str]:
    """A source and its weight."""
    source, sign, weight = str(text).rpartition("=")
    if not sign:
        raise click.BadParameter(f"{text!r} names no weight; write it like SRC=3/2")
    return source, weight


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

Force = Annotated[bool, output("--force", help="Overwrite an output that exists.")]
Quiet = Annotated[bool, output("--quiet", "-q", help="Print results and errors only, no notes and no progress.")]
Verbose = Annotated[bool, output("--verbose", "-v", help="Print all that was left out, and where errors come from.")]
Threads = Annotated[int | None, job(help="Threads, or processes for clean; by default one for each core.")]
Binary = Annotated[str, reading(help="What to do with a file that is not text: error, skip, or count its bytes.")]
SkipDamaged = Annotated[
    bool, reading("--skip-damaged", help="Leave out what cannot be read: a line, a row, the rest of a file.")
]
Weights = Annotated[
    list[str] | None,
    reading(
        "--weight",
        parser=weighted,
        metavar="SRC=N",
        help="How much the text of a source counts, such as code/=1/2 or en.txt=1.5; 1 for the others. May be repeated.",
    ),
]
SpecialToken = Annotated[
    list[str] | None, training(help="A special token, which is cut out of the text. May be repeated.")
]


class Opening(Group):
    """How a tokenizer is opened."""

    split: Split = None
    download: Download = False

    def load(self, name: str) -> LoadedTokenizer:
        from ..api import load

        return load(name, split=self.split, download=self.download)


class Documents(Group):
    """How text is read."""

    unit: Annotated[
        str, reading(help="A document of a text file: file, line, blank (what blank lines separate), or separator.")
    ] = "file"
    separator: Annotated[str, reading(help="The text between two documents, for --unit separator.")] = ""
    field: Annotated[str, reading(help="The field of JSON objects, or the column of Parquet, that holds the text.")] = (
        "text"
    )

    @property
    def read(self) -> ReadOptions:
        from ..sources.blocks import ReadOptions

        return ReadOptions(self.unit, self.separator, self.field)


class Running(Group):
    """How the job runs."""

    num_threads: Threads = None
    resume: Annotated[bool, job("--resume/--no-resume", help="Continue an interrupted job.")] = True
    engine: Annotated[str, job(help="local, or ray: tasks on a Ray cluster.")] = "local"
    ray_address: Annotated[
        str | None, job(help="The cluster for --engine ray; by default Ray starts on this machine.")
    ] = None

    def job(self, overwrite: bool) -> JobOptions:
        from ..jobs.work import JobOptions

        return JobOptions(self.engine, self.ray_address, self.num_threads, self.resume, overwrite=overwrite)


class Merging(Group):
    """Which merges are made."""

    special_token: SpecialToken = None
    min_count: Annotated[int, training(**number, help="Leave out pretokens with a lower count.")] = 1
    min_pair_count: Annotated[int, training(**number, help="Stop when the count of the best pair is lower.")] = 1
    max_token_bytes: Annotated[int | None, training(**number, help="Never make a longer token.")] = None
    refine: Annotated[
        float | None,
        training(
            help="Picky BPE: remove tokens whose IoS reaches this threshold, such as 0.9; extend keeps that of a Picky tokenizer."
        ),
    ] = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The arguments of training."""
        given = vars(self).copy()
        return {"special_tokens": given.pop("special_token") or [], **given}


class Result(Group):
    """What is written and printed."""

    force: Force = False
    json: Annotated[bool, output("--json", help="Print the summary as JSON on stdout.")] = False
