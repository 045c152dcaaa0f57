"""Measures what exporting a Picky tokenizer without its events costs, for every command that exports one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._console import progress_bar, say

if TYPE_CHECKING:
    from ..counting import WordCounts
    from ..tokenizer import Tokenizer

_PRETOKENS = 1 << 18  # of the training text, measured if there is no sample; takes about 100 ms


def check_sample(sample: list[str] | None) -> None:
    """Raise InputError for a missing sample before the long work begins."""
    from ..sources.find import find_sources

    for source in sample or []:
        find_sources(source)


def cost_of_export(
    tok: Tokenizer, sample: list[str] | None, as_json: bool, otherwise: WordCounts | None = None
) -> dict[str, Any]:
    """Measure and report what it costs to use the remaining tokens of a Picky tokenizer without its events.

    otherwise: word counts, a share of which is measured if there is no sample.
    Returns the rows for the command's JSON, empty for a tokenizer without events.
    """
    import dataclasses

    from ..tokenizer.export_loss import export_loss, sample_counts

    if tok.vocabulary.order != "events":
        if sample:
            say("--sample is not used: this is not a Picky tokenizer, so every program gives the same ids")
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
