"""What an export of a Picky tokenizer costs, measured and told by every command that writes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import progress_bar, say

if TYPE_CHECKING:
    from ..counting import WordCounts
    from ..tokenizer import Tokenizer

__all__ = ["SampleOption", "check_sample", "cost_of_export"]

_PRETOKENS = 1 << 18  # of the user's own text, measured where no sample is named: some 100 ms

SampleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sample",
        metavar="SRC...",
        help="Of a Picky tokenizer: text to measure on how often engines that know only merges get other ids.",
    ),
]


def check_sample(sample: list[str] | None) -> None:
    """Raise InputError for a sample that is not there, before the long work that it comes after."""
    from ..sources.find import find_sources

    for source in sample or []:
        find_sources(source)


def cost_of_export(
    tok: Tokenizer, sample: list[str] | None, as_json: bool, otherwise: WordCounts | None = None
) -> dict[str, Any]:
    """Measure and say what it costs to read the present tokens of a Picky tokenizer without its events.

    otherwise: word counts, of which a share is measured where no sample is named.
    Returns the rows for the command's JSON: none for a tokenizer without events.
    """
    import dataclasses

    from ..tokenizer.export_loss import export_loss, sample_counts

    if tok.vocabulary.order != "events":
        if sample:
            say("nothing to measure on --sample: without Picky BPE, all engines give the same ids")
        return {}
    text = sample or (None if otherwise is None else sample_counts(otherwise, _PRETOKENS))
    if text is None:
        say("give --sample SRC to measure how often the ids differ from event order, and what that costs in tokens")
        return {}
    with progress_bar() as progress:
        cost = export_loss(tok, text, progress)
    if not as_json:
        say(str(cost) if sample else f"{cost}, on a share of the text trained on (--sample SRC: on other text)")
    return {"without events": dataclasses.asdict(cost)} if cost else {}
