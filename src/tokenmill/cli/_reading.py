"""The options of the commands that say how sources are read, and what could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ._console import say

if TYPE_CHECKING:
    from ..sources.find import Skip

__all__ = ["FieldOption", "SeparatorOption", "SkipDamagedOption", "UnitOption", "say_skips"]

SHOWN = 20

UnitOption = Annotated[
    str,
    typer.Option(
        help="What a document is in text files: a file, a line, blank (blank lines separate documents), or separator."
    ),
]
SeparatorOption = Annotated[str, typer.Option(help="The text between two documents, for --unit separator.")]
FieldOption = Annotated[
    str, typer.Option(help="The field of JSON objects, or the column of Parquet, that holds the text.")
]
SkipDamagedOption = Annotated[
    bool,
    typer.Option("--skip-damaged", help="Leave out what cannot be read: a line, a row, a damaged file from there on."),
]


def say_skips(skips: Sequence[Skip]) -> None:
    """Say what was left out or changed: the first of it, and how much more."""
    for skip in skips[:SHOWN]:
        say(f"{'left out' if skip.left_out else 'changed'}: {skip}")
    if len(skips) > SHOWN:
        say(f"left out or changed: {len(skips) - SHOWN:,} more")
