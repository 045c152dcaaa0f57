"""Judge one tokenizer: tokens that text cannot produce, and, on a text, its usage, IoS and compression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from ..errors import UsageError, plural, suggests_options
from ..jobs.progress import Progress, drawn
from ..options import Option, Options
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..tokenizer.batches import gc_paused
from .charts import charts_of
from .evaluation_text import EvaluationText, Judgement, Text, judge
from .extending import worth_table
from .metrics import domains_table, languages_table, overview_table, text_table
from .names import expect_tokenizers, tokenizer_name
from .reachability import partial_table, reach_of_tokens, unreachable_table
from .references import JUNK, on_sample, references_table
from .replay import THRESHOLDS, junk_table, thresholds_table
from .reporting import Report, Tile, start_provenance
from .tables import Token
from .token_lists import longest_table, most_used_table, rare_table, removed_table, superwords_of, unused_table
from .usage import ordinary_tokens
from .verdict import Subject, summary, verdict


@dataclass(frozen=True, kw_only=True)
class InspectionOptions(Options):
    """Options of an inspection.

    thresholds: count the tokens whose IoS reaches each of these values.
    """

    thresholds: Sequence[float] = THRESHOLDS
    junk_at: Annotated[float, Option("List tokens with an IoS of at least this.", "--threshold", min=0, max=1)] = 0.9
    rare_below: Annotated[int, Option("List tokens used fewer times than this.", min=1)] = 100
    read: ReadOptions = field(default_factory=ReadOptions)


@dataclass(eq=False, kw_only=True, repr=False)
class Inspection(Report):
    """The result of `inspect`: a `Report` with the tokenizer, its name, and its judgement (None without a text)."""

    tok: Tokenizer
    name: str
    judgement: Judgement | None


SECTIONS = (
    ("Overview", "", ("vocabulary", "text")),
    ("Compared with others", "", ("references",)),
    ("By source and script", "", ("domains", "languages", "scripts")),
    (
        "Junk",
        "Tokens that were frequent during training, then became part of a longer token, and hardly occur alone.",
        ("thresholds", "junk"),
    ),
    (
        "Tokens that cannot be reached, or only in part",
        "These follow from the vocabulary and its split pattern, without a text.",
        ("unreachable", "partial"),
    ),
    ("Unused and rare tokens", "", ("unused", "rare", "worth_replacing")),
    ("Superwords", "", ("superwords",)),
    ("Training", "", ("removed",)),
    ("Tokens worth a look", "", ("longest",)),
)


@suggests_options
def inspect(
    tok: Tokenizer,
    *,
    text: Text | None = None,
    name: str | None = None,
    options: InspectionOptions = InspectionOptions(),
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Inspection:
    """Evaluate a tokenizer, by itself or on `text`: files, folders, globs, word counts, or a mapping of names to these.

    name: the tokenizer's name in the report, by default its own, or that of its file.
    options: an `InspectionOptions`: thresholds, and how text files are read.
    num_threads: the threads that count and encode (None: all cores).

    >>> inspection = inspect(tok, text="corpus/*.txt")
    >>> inspection.table("thresholds").column("tokens")
    [212, 141, 96, 51, 14]
    """
    expect_tokenizers(tok)
    if not isinstance(options, InspectionOptions):
        raise UsageError(f"options is {options!r}; give tokenmill.InspectionOptions(...)")
    name = name or tokenizer_name(tok.name)
    domains = None if text is None else EvaluationText(text, num_threads, options.read)
    with gc_paused(), drawn(progress) as show:
        provenance = start_provenance(domains)
        tables = [overview_table(tok)]
        judged = usage = None
        lead = "Judged without a text, from the vocabulary alone."
        if domains is not None:
            judged = judge(tok, domains, show)
            usage = judged.usage
            lead = (
                f"Judged on {', '.join(judged.usages)}: {plural(usage.bytes, 'byte')}, {plural(usage.tokens, 'token')}."
            )
            tables += [text_table(tok, usage), domains_table(tok, judged.usages)]
            tables += [languages_table({name: judged.usages})] if len(judged.usages) > 1 and domains.named else []
            tables += [
                judged.scripts,
                thresholds_table(judged.swallowed, judged.size, options.thresholds),
                junk_table(tok.vocabulary, judged.swallowed, options.junk_at),
            ]
        figures = on_sample(tok, show)
        reach = reach_of_tokens(tok, usage, show)
        unreachable = unreachable_table(tok, reach)
        tables += [references_table({name: figures}), unreachable, partial_table(tok, reach, usage)]
        replaceable = tok.vocabulary.alphabet == "bytes" and not tok.vocabulary.has_superwords
        if usage is not None and replaceable:
            tables.append(worth_table(tok, usage))
        if tok.vocabulary.removed:
            tables.append(removed_table(tok, usage))
        if usage is not None:
            tables += [unused_table(tok, usage), rare_table(tok, usage, options.rare_below)]
            tables += [most_used_table(name, tok, usage)] if superwords_of(tok) else []
        tables.append(longest_table(tok, usage))
        inspection = Inspection(
            tok=tok,
            name=name,
            judgement=judged,
            title=f"Inspection of {name}",
            lead=lead,
            about={
                "tokenizer": name,
                "fingerprint": tok.vocabulary.fingerprint(),
                "domains": list(judged.usages) if judged else [],
            },
            sections=SECTIONS,
            tables=tables,
            summary=summary(figures),
            findings=verdict(
                Subject(tok, figures, domains),
                judged,
                {token.id for token, *_ in unreachable.rows if isinstance(token, Token)},
            ),
            charts=charts_of({name: judged} if judged else {}, {name: figures}),
            provenance=provenance({name: tok}),
        )
        inspection.tiles = _tiles(inspection)
        return inspection


def _tiles(of: Inspection) -> list[Tile]:
    values = {"ordinary tokens": f"{len(ordinary_tokens(of.tok.vocabulary)):,}"}
    if of.judgement is not None:
        text = of.table("text").pairs("what", "value")
        values |= {name: str(text[name]) for name in ("bytes per token", "tokens per word")}
        values["of the vocabulary used"] = str(text["vocabulary used"])
        values[f"tokens with IoS ≥ {JUNK}"] = f"{sum(token.ios >= JUNK for token in of.judgement.swallowed):,}"
    values["tokens that no text produces"] = f"{len(of.table('unreachable').rows):,}"
    values["tokens that are not whole UTF-8"] = f"{len(of.table('partial').rows):,}"
    return [(label, [("", value, False)]) for label, value in values.items() if value != "unknown"]
