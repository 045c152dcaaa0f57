"""The options of train --parity, and what it prints about languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import UsageError
from . import _options as opt

if TYPE_CHECKING:
    from ..training.parity import LanguageReport
    from ..training.parity import Parity as ParityOptions


@dataclass(frozen=True)
class Languages:
    """The sources of each language by name, its development text, and the options of parity-aware BPE."""

    training: Mapping[str, list[str]]
    development: Mapping[str, list[str]] | None
    options: ParityOptions


class Parity(opt.Group):
    """Parity-aware BPE."""

    parity: Annotated[
        bool, opt.training("--parity", help="Parity-aware BPE: the language compressed worst chooses each merge.")
    ] = False
    language: Annotated[
        list[str] | None,
        opt.training(metavar="NAME=SRC...", help="For --parity: the text of a language, or its saved word counts."),
    ] = None
    dev: Annotated[
        list[str] | None,
        opt.training(
            metavar="NAME=SRC...",
            help="For --parity: the development text of a language, best the same text in each. The one with the most tokens "
            "chooses.",
        ),
    ] = None
    ratio: Annotated[
        list[str] | None,
        opt.training(
            metavar="NAME=N...", help="For --parity without --dev: a language's target bytes per token, relative."
        ),
    ] = None
    window: Annotated[
        int | None,
        opt.training(**opt.number, help="For --parity: limit how many of the last N merges a language chooses."),
    ] = None
    alpha: Annotated[
        str | None,
        opt.training(metavar="N", help="For --window: the limit, in equal shares of the window; 2 by default."),
    ] = None
    global_merges: Annotated[
        int | None, opt.training(**opt.number, help="For --parity: make so many merges of plain BPE first.")
    ] = None

    def languages(self) -> Languages | None:
        """What was given; None without --parity. UsageError for options that do not fit."""
        from ..training.parity import Parity as ParityOptions

        given = {name: value for name, value in vars(self).items() if value not in (None, False)}
        if not given.pop("parity", False):
            if given:
                options = ", ".join("--" + name.replace("_", "-") for name in given)
                raise UsageError(f"{options}: only with --parity; give that too")
            return None
        if "alpha" in given and "window" not in given:
            raise UsageError("--alpha is the limit of --window; give that too")
        training, development = _named(given.pop("language", [])), _named(given.pop("dev", []))
        ratios = given.pop("ratio", None)
        named = None if ratios is None else {name: text[-1] for name, text in _named(ratios).items()}
        return Languages(training, development or None, ParityOptions(ratios=named, **given))


def print_languages(languages: Sequence[LanguageReport], development: bool, as_json: bool) -> dict[str, Any]:
    """Print a table of what became of each language, with the Gini coefficient; the same for JSON.

    development: whether development texts decided which language chooses.
    """
    from ..quality import Column, Table
    from ..quality.languages import gini
    from ._tables import print_table

    columns = (
        Column("language"),
        Column("merges chosen", "count"),
        Column("bytes", "count"),
        Column("tokens", "count"),
        Column("bytes per token", "number", digits=3),
    )
    rows: list[Any] = [
        (each.name, each.chosen, each.bytes, each.length, each.bytes / each.length) for each in languages
    ]
    unequal = gini([each.length if development else each.length / each.bytes for each in languages])
    title = f"Languages, with the tokens of the {'development' if development else 'training'} text"
    if unequal is not None:
        title += f" (Gini coefficient {unequal:.4f})"
    table = Table("languages", title, columns, rows)
    if not as_json:
        print_table(table)
    return {"languages": table.to_json()["rows"], "gini": unequal}


def _named(texts: Sequence[str]) -> dict[str, list[str]]:
    """The values of each name; a value without a name belongs to the name before it."""
    named: dict[str, list[str]] = {}
    name = ""
    for text in texts:
        before, sign, value = text.partition("=")
        if sign:
            name, text = before.strip(), value
        if not name or not text:
            raise UsageError(f"{texts[0] if not name else text!r} has no name or no value; write it like en=SRC")
        named.setdefault(name, []).append(text)
    return named
