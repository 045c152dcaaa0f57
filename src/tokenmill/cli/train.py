"""tokenmill train: text or word counts to a tokenizer."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from array import array
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

from ..errors import OptionName, TokenmillError, UsageError, plural
from ..jobs.outputs import atomic_file
from ..jobs.progress import Progress
from ..kernels.machine import peak_memory
from ..options import Option
from ..sources.find import STDIN, can_read_again, find_sources, ignore_skip
from ..train_job import Train, Trained
from . import _commands as opt
from ._console import progress_bar, report, say, say_events, say_long_documents, shares_row, verbosity

if TYPE_CHECKING:
    from ..training.loops import TrainingEvent
    from ..training.parity import LanguageReport

# fmt: off
HeldOut = Annotated[Sequence[str], Option("Text to measure bytes per token on, at each size.", metavar="SRC...", section="Output")]
Log = Annotated[Path | None, Option("Write all merges and removals to this file.", section="Output")]
Watch = Annotated[bool, Option("Show the training in the browser as it happens.", "--watch", section="Output")]
# fmt: on


def train(
    job: Train,
    *,
    held_out: HeldOut = (),
    html: opt.Html = None,
    log: Log = None,
    watch: Watch = False,
    json: opt.Json = False,
) -> None:
    job.check(also_read=held_out, also_written=[path for path in (html, log) if path is not None])
    compares = bool(held_out) or (len(job.sizes) > 1 and not _is_unmeasured(job))
    if html is not None and not compares:
        option, size, other = map(OptionName, ("html", "vocab_size", "held_out"))
        raise UsageError(option, " shows the sizes of ", size, ": give several, e.g. 16k,32k,64k, or ", other)
    if STDIN in held_out and STDIN in job.sources:
        raise UsageError("standard input can be read only once: for training, or for ", OptionName("held_out"))
    if held_out:
        from ..quality.evaluation_text import EvaluationText

        EvaluationText(held_out, read=job.read, binary=job.binary).read_fronts()
    if job.sources and not job.counted_before:
        say_long_documents(job.sources, job.read.unit)
    events, live = Events(), None
    if watch:
        from ..playground.server import LiveTraining
        from .play import announce

        live = LiveTraining(events, lambda address: announce(address, subject="The training is"))
    log_file = contextlib.nullcontext() if log is None else atomic_file(log, "w", overwrite=job.overwrite)
    with progress_bar(events if verbosity.verbose else None) as events.bar, log_file as events.file:
        if events.file is not None:
            events.file.write("rank\tleft\tright\ttoken\tcount\tios\n")
        progress = events if verbosity.verbose or log is not None or watch else events.bar
        measured = (compares and not held_out) or job.min_count > 1 or job.unknown_token is not None
        keep_counts = measured and not _spans_words(job)
        result = job.run(progress=progress, note=say, keep_counts=keep_counts, also_read=held_out)
    tok = result.tok
    for note in result.notes:
        say(f"note: {note}")
    say_events(tok)
    vocabulary = tok.vocabulary
    rows: dict[str, Any] = {
        "tokenizer": str(job.output),
        "documents": result.documents,
        "bytes": result.nbytes,
        "distinct_pretokens": result.distinct,
        "ids": tok.n_vocab,
        "special_tokens": len(vocabulary.special_tokens),
        "removed_tokens": len(vocabulary.removed),
        **_bytes_per_token(job, result),
        "seconds": {stage: round(seconds, 3) for stage, seconds in result.seconds.items()},
        "peak_memory_mib": round(peak_memory() / 2**20),
    }
    if result.mixture:
        from ..counting.weights import shares

        rows |= shares_row(shares(result.mixture), json)
    tables: dict[str, Any] = {}
    if compares:
        try:
            tables = _show_sizes(job, result, held_out, html, json)
        except TokenmillError as error:
            error.args = f"{job.output} is saved, but its sizes could not be compared: ", *error.args
            raise
    if result.languages:
        tables |= _show_languages(result.languages, job.ratios, json)
    report({**rows, **(tables if json else {})}, json)
    if len(job.sizes) > 1 and not compares:
        say("How many tokens these sizes need is measured on text that can be read again: name it with --held-out.")
    if tok.n_vocab < job.sizes[-1]:
        say(f"The corpus ran out of pairs at {tok.n_vocab:,} ids, short of {job.sizes[-1]:,}.")
        if short := [str(path) for size, path in job.folders().items() if tok.n_vocab < size < job.sizes[-1]]:
            say(f"The same tokens are in {', '.join(short)}.")
    if live is not None:
        live.publish(Path(str(job.output)).name, vocabulary)
        with contextlib.suppress(KeyboardInterrupt):
            say("The page shows the tokenizer until Ctrl-C.")
            threading.Event().wait()


class Events:
    """A progress callback that receives the merges and removals of training, for --log, --watch and --verbose.

    rich draws the latest of them below the bars, with their counts on a logarithmic scale. Without bars each is printed.
    counts: those of the merged pairs.
    """

    ROWS, WIDTH = 12, 24

    def __init__(self) -> None:
        self.bar: Progress | None = None
        self.file: IO[str] | None = None
        self.stage: tuple[str, int, int | None] = ("Starting", 0, None)
        self.latest: deque[TrainingEvent] = deque(maxlen=self.ROWS)
        self.counts = array("Q")
        self.removals = 0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        self.stage = stage, done, total
        if self.bar is not None:
            self.bar(stage, done, total)

    def event(self, event: TrainingEvent) -> None:
        if self.file is not None:
            ios, count = "" if event.ios is None else f"{event.ios:.4f}", "" if event.count is None else event.count
            print(event.rank, *_spelt(event), count, ios, sep="\t", file=self.file)
        if verbosity.verbose and self.bar is None:
            sys.stderr.write(f"{event.rank:>7} {_in_words(event)}" + (f"  {event.count:,}\n" if event.count else "\n"))
        self.latest.append(event)
        if event.count is None:
            self.removals += 1
        else:
            self.counts.append(event.count)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        if not self.counts:
            return Text("")
        first, last = self.counts[0], self.counts[-1]
        removals = f" and {plural(self.removals, 'removal')}" if self.removals else ""
        title = (
            f"{plural(len(self.counts), 'merge')}{removals}; the best pair occurs {last:,} times ({first:,} at first)"
        )
        table = Table(box=None, show_header=False)
        for justify in ("right", "left", "right", "left"):
            table.add_column(justify=justify, overflow="ellipsis", no_wrap=True)
        for event in list(self.latest):
            count = event.count or 0
            bar = "━" * round(self.WIDTH * math.log1p(count) / math.log1p(max(first, count, 1)))
            table.add_row(str(event.rank), Text(_in_words(event)), f"{count:,}" if count else "", bar)
        return Group(Text(title), table)


def _spelt(event: TrainingEvent) -> list[str]:
    """Return the left token, the right one and the merged or removed one, as in merges.txt: a space is Ġ."""
    from ..formats.byte_alphabet import to_text

    return [to_text(token or b"") for token in (event.left, event.right, event.token)]


def _in_words(event: TrainingEvent) -> str:
    left, right, token = _spelt(event)
    return f"removed {token}  IoS {event.ios:.4f}" if event.count is None else f"{left} + {right} -> {token}"


def _spans_words(job: Train) -> bool:
    """Return whether tokens may span words, so that the text has to be measured, not its word counts."""
    return job.superwords is not None or job.target == "sentencepiece"


def _is_unmeasured(job: Train) -> bool:
    """Return whether tokens may span words, and there is no text to read again: only word counts, or a pipe."""
    if not _spans_words(job) or job.text:
        return False
    return job.counted_before or not all(map(can_read_again, find_sources(job.sources, ignore_skip)))


def _bytes_per_token(job: Train, result: Trained) -> dict[str, float | None]:
    """Return the row of bytes per token: of the weighted text or, where tokens span words, of the text or a sample of it.

    None where rare pretokens were not loaded.
    """
    vocabulary, counts, n_tokens = result.tok.vocabulary, result.counts, result.n_tokens
    if _spans_words(job) and not _is_unmeasured(job):
        from ..quality.evaluation_text import MOST_BYTES, EvaluationText

        text = EvaluationText(job.text or job.sources, job.num_threads, job.read, job.special_tokens, job.binary)
        sizes, sample = text.survey(lambda data, ends: len(data))
        if sum(sizes.values()) > MOST_BYTES:
            density = sample.density(result.tok, job.special_tokens)
            return {"bytes_per_token_of_a_sample": density and round(density, 4)}
        usage = text.usage(result.tok)
        return {"bytes_per_token": round(usage.bytes / usage.tokens, 4) if usage.tokens else None}
    name = "weighted_bytes_per_token" if result.mixture else "bytes_per_token"
    if "load" in result.seconds and job.min_count > 1:
        return {name: None}
    if n_tokens is None and counts is not None and vocabulary.split_patterns == counts.split_patterns:
        from ..quality.usage import measure_usage

        n_tokens = measure_usage(result.tok, counts).tokens
    return {name: round(result.weighted / n_tokens, 4) if n_tokens else None}


def _show_sizes(
    job: Train, result: Trained, held_out: Sequence[str], html: Path | None, as_json: bool
) -> dict[str, Any]:
    """Measure the sizes, print or write the table, and return its rows for JSON."""
    from ..quality.evaluation_text import EvaluationText
    from ..quality.judging import measure_sizes
    from ._tables import Forms, print_report

    own = not held_out and not _spans_words(job)
    weighted = ", as weighted" if own and result.mixture else ""
    note = "On held-out text." if held_out else f"On the text trained on{weighted}; --held-out measures on other text."
    text: Any = result.counts if own else [*(held_out or job.text or job.sources)]
    with progress_bar() as progress:
        domains = EvaluationText(text, job.num_threads, job.read, job.special_tokens, job.binary, own)
        sizes = measure_sizes(result.toks, domains, note, progress)
    if html is not None:
        Forms(html=html, overwrite=job.overwrite).show(sizes)
    if not as_json:
        print_report(sizes)
    return {"sizes": sizes.tables[0].to_json()["rows"]}


def _show_languages(languages: Sequence[LanguageReport], ratios: Any, as_json: bool) -> dict[str, Any]:
    """Print a table of the result for each language with the Gini coefficient, and return both for JSON.

    ratios: by language; empty if development texts decided which language chooses a merge.
    """
    from ..quality.metrics import gini
    from ..quality.tables import Column, Table
    from ._tables import print_table

    counts = [Column(name, "count") for name in ("merges chosen", "bytes", "tokens")]
    columns = (Column("language"), *counts, Column("bytes per token", "number", digits=3))
    rows = [(each.name, each.chosen, each.bytes, each.length, each.bytes / each.length) for each in languages]
    costs = [each.length * float(ratios[each.name]) / each.bytes if ratios else each.length for each in languages]
    inequality = gini(costs)
    title = f"Languages, with the tokens of the {'training' if ratios else 'development'} text"
    if inequality is not None:
        title += f" (Gini coefficient {inequality:.4f})"
    table = Table("languages", title, columns, rows)
    if not as_json:
        print_table(table)
    return {"languages": table.to_json()["rows"], "gini": inequality}
