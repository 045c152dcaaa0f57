"""Judge one tokenizer: tokens that text cannot produce, and, on a text, its usage, IoS and compression."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import suggests_options
from ..jobs.progress import Progress
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from .embeddings import load_embeddings, under_trained_table
from .evaluation_text import EvaluationText, Text
from .judgement import Judgement, judge
from .junk import THRESHOLDS, junk_table, thresholds_table
from .metrics import baseline_table, domains_table, overview_table, text_table
from .reachability import partial_table, reach_of_tokens, unbuilt_table, unreachable_table
from .replacing import worth_table
from .superwords import most_used_table, superwords_of
from .tables import Table, TableSet
from .token_lists import (
    doubles_tables,
    events_table,
    longest_table,
    rare_table,
    repeated_table,
    unused_table,
    white_space_table,
)


@dataclass(frozen=True, kw_only=True)
class InspectionOptions:
    """What an inspection counts and lists.

    thresholds: count the tokens whose IoS reaches each of these values.
    junk_at: list the tokens whose IoS reaches this value.
    rare_below: list the tokens used fewer times than this.
    embeddings: a file with a model's embedding table, .npy or .safetensors, to list under-trained tokens.
    read: how text files are cut into documents, and which field or column holds the text.
    """

    thresholds: Sequence[float] = THRESHOLDS
    junk_at: float = 0.9
    rare_below: int = 100
    embeddings: str | os.PathLike[str] | None = None
    read: ReadOptions = field(default_factory=ReadOptions)


@dataclass(eq=False)
class Inspection(TableSet):
    """The result of `inspect`: its tables, and the data that the pictures show.

    judgement: of the text; None without one.
    """

    tok: Tokenizer
    name: str
    tables: list[Table]
    judgement: Judgement | None

    def title(self) -> str:
        return f"Inspection of {self.name}"

    def about(self) -> dict[str, object]:
        return {
            "tokenizer": self.name,
            "fingerprint": self.tok.vocabulary.fingerprint(),
            "domains": list(self.judgement.usages) if self.judgement else [],
        }


@suggests_options()
def inspect(
    tok: Tokenizer,
    text: Text | None = None,
    *,
    baseline: Tokenizer | None = None,
    name: str | None = None,
    baseline_name: str | None = None,
    options: InspectionOptions = InspectionOptions(),
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """Judge a tokenizer, by itself or on `text`: files, folders, globs, word counts, or a mapping of names to these.

    baseline: a tokenizer to compare the number of tokens with.
    name, baseline_name: names for the report; by default those of the tokenizers.

    >>> inspection = inspect(tok, "corpus/*.txt")
    >>> inspection.table("thresholds").column("tokens")
    [212, 141, 96, 51]
    """
    tables = [overview_table(tok)]
    matrix = None if options.embeddings is None else load_embeddings(options.embeddings, tok.n_vocab)
    judged = usage = None
    if text is not None:
        domains = EvaluationText(text, num_threads, options.read)
        judged = judge(tok, domains, progress)
        usage = judged.usage
        tables += [text_table(tok, usage), domains_table(tok, judged.usages)]
        if baseline is not None:
            theirs = domains.usages(baseline, progress)
            tables.append(baseline_table(judged.usages, theirs, baseline_name or baseline.name))
        tables += [
            judged.scripts,
            thresholds_table(judged.swallowed, judged.size, options.thresholds),
            junk_table(tok.vocabulary, judged.swallowed, options.junk_at),
        ]
    reach = reach_of_tokens(tok, usage, progress)
    tables += [unreachable_table(tok, reach), unbuilt_table(tok), partial_table(tok, reach, usage)]
    if len(tok.vocabulary.event_counts):
        tables.append(events_table(tok))
    tables += doubles_tables(tok)
    if usage is not None:
        tables += [unused_table(tok, usage), rare_table(tok, usage, options.rare_below)]
        if tok.vocabulary.alphabet == "bytes":
            tables.append(worth_table(tok, domains.together(tok), usage.by_id))
        if superwords_of(tok):
            tables.append(most_used_table(name or tok.name, tok, usage))
    if matrix is not None:
        tables.append(under_trained_table(tok, matrix, usage))
    tables += [longest_table(tok, usage), repeated_table(tok, usage), white_space_table(tok, usage)]
    return Inspection(tok, name or tok.name, tables, judged)
