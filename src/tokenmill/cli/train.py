"""tokenmill train: text or word counts to a tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import OptionName, UsageError
from ..options import Option
from ..train_job import Train
from . import _options as opt
from ._console import check_sample, cost_of_export, progress_bar, report, resumable, say, say_long_documents, shares_row
from ._events import event_log, watching

if TYPE_CHECKING:
    from ..counting import WordCounts
    from ..tokenizer import Tokenizer
    from ..train_job import Trained
    from ..training.parity import LanguageReport


def train(
    job: Train,
    *,
    sample: opt.Sample = (),
    held_out: Annotated[
        Sequence[str], Option("Text to measure bytes per token on, at each size.", metavar="SRC...", section="Output")
    ] = (),
    html: opt.Html = None,
    log: Annotated[
        Path | None, Option("Write all merges and removals to this file; --verbose prints them.", section="Output")
    ] = None,
    json: opt.Json = False,
) -> None:
    from ..jobs.outputs import refuse_existing
    from ..kernels.machine import peak_memory
    from ._tables import Forms

    job.check()
    compares = len(job.sizes) > 1 or bool(held_out)
    if html is not None and not compares:
        several, held = OptionName("vocab_size"), OptionName("held_out")
        raise UsageError(
            OptionName("html"), " shows the sizes of ", several, ": give several, e.g. 16k,32k,64k, or ", held
        )
    if job.parity and sample:
        raise UsageError(OptionName("sample"), " is not used by ", OptionName("parity", True), ": leave it out")
    if log is not None:
        refuse_existing(log, overwrite=job.job.overwrite)
    forms = Forms(html=html, overwrite=job.job.overwrite)
    forms.check()
    check_sample(sample)
    check_sample(held_out)
    if job.sources and not job.counted_before:
        say_long_documents(job.sources, job.read.unit)
    keep = compares or not _is_plain(job)
    output = job.output
    with resumable(output), event_log(log) as event, progress_bar() as bar:
        result = job.run(watching(bar, event), say, keep_counts=keep)
    tok, counted = result.tok, result.counted
    for note in result.notes:
        say(f"note: {note}")
    cost = cost_of_export(tok, sample, json, result.counts, job.read)
    n_tokens = _tokens_used(tok, result.counts) if result.n_tokens is None else result.n_tokens
    if "load" in result.seconds and job.min_count > 1:
        n_tokens = 0  # the rare pretokens were not loaded
    vocabulary = tok.vocabulary
    present = sum(token is not None for token in vocabulary.tokens) - len(vocabulary.removed)
    rows: dict[str, Any] = {
        "tokenizer": str(output),
        "documents": counted.documents,
        "bytes": counted.nbytes,
        "distinct_pretokens": counted.distinct,
        "tokens": present + len(vocabulary.special_tokens),
        "special_tokens": len(vocabulary.special_tokens),
        "removed_tokens": len(vocabulary.removed),
        "bytes_per_token": round(counted.weighted / n_tokens, 4) if n_tokens else None,
        "seconds": {stage: round(took, 3) for stage, took in result.seconds.items()},
        "peak_memory_mib": round(peak_memory() / 2**20),
    }
    if job.superwords is not None:
        rows["bytes_per_token"] = _density(job, tok)
    if counted.mixture:
        from ..counting.weights import shares

        rows |= shares_row(shares(counted.mixture), json)
    tables: dict[str, Any] = {}
    if compares and result.counts is not None:
        tables = _show_sizes(job, result, held_out, forms, json)
    if result.languages:
        tables |= _show_languages(result.languages, job.ratios is None, json)
    report({**rows, **(cost | tables if json else {})}, json)
    if rows["tokens"] < job.vocab_size:
        say(f"The corpus ran out of pairs at {rows['tokens']:,} tokens, short of {job.vocab_size:,}.")
        if short := [str(path) for size, path in job.folders().items() if rows["tokens"] < size < job.vocab_size]:
            say(f"The same tokens are in {', '.join(short)}.")


def _is_plain(job: Train) -> bool:
    """Whether the training itself tells all that is reported: then the word counts are not needed after it."""
    unusual = job.refine is not None or job.superwords is not None or job.algorithm != "heap"
    return job.alphabet == "bytes" and job.min_count == 1 and not unusual and not job.parity


def _density(job: Train, tok: Tokenizer) -> float | None:
    """Bytes per token of a sample: word counts do not tell how often superwords are used."""
    from ..quality.documents import Sample, survey
    from ..sources.find import find_sources

    sampled = Sample()
    survey(find_sources(job.text or job.sources), job.read, sampled, with_words=False)
    density = sampled.density(tok)
    return density and round(density, 4)


def _tokens_used(tok: Tokenizer, counts: WordCounts | None) -> int:
    """How many tokens the counted text makes; 0 if the word counts do not tell."""
    from ..quality.usage import measure_usage

    vocabulary = tok.vocabulary
    if counts is None or vocabulary.split_patterns != counts.split_patterns or len(vocabulary.superwords):
        return 0  # tokens that span words are not used in single words
    return measure_usage(tok, counts).tokens


def _show_sizes(job: Train, result: Trained, held_out: Sequence[str], forms: Any, as_json: bool) -> dict[str, Any]:
    """Measure the sizes, and print or write the table; its rows for JSON."""
    from ..quality.evaluation_text import EvaluationText
    from ..quality.sizes import measure_sizes

    note = "On held-out text." if held_out else "On the text trained on; --held-out measures on other text."
    text: Any = list(held_out or job.text or job.sources)
    if not held_out and job.superwords is None:  # word counts do not tell the tokens that span words
        text = result.counts
    with progress_bar() as progress:
        domains = EvaluationText(text, job.num_threads, job.read, job.special_tokens)
        measured = measure_sizes(result.toks, domains, note, progress)
    if forms.html is not None:
        forms.show(measured)
    if not as_json:
        type(forms)().show(measured)
    return {"sizes": measured.tables[0].to_json()["rows"]}


def _show_languages(languages: Sequence[LanguageReport], development: bool, as_json: bool) -> dict[str, Any]:
    """Print a table of the result for each language, with the Gini coefficient; the same for JSON.

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
