"""Count, train, save and report: what `tokenmill train` and the demo do."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ._console import check_sample, cost_of_export, progress_bar, report, say, shares_row
from ._events import Watching, event_log
from ._parity import Languages, print_languages

if TYPE_CHECKING:
    from ..counting import CountOptions, WordCounts
    from ..jobs.progress import Progress
    from ..jobs.work import JobOptions
    from ..jobs.working_folder import WorkingFolder
    from ..superwords import SuperwordTraining, Text
    from ..tokenizer import Tokenizer
    from ..training import Options, Training
    from ..training.parity import ParityTraining


@dataclass(frozen=True)
class Input:
    """What is trained on: text with its split pattern, or word counts, and for superwords the text that was counted.

    job: how superwords are trained; None for the default, without resuming.
    languages: for parity-aware BPE, in place of sources.
    """

    sources: list[str]
    split: list[str] | None = None
    reading: CountOptions | None = None
    text: Sequence[str] = ()
    job: JobOptions | None = None
    languages: Languages | None = None


@dataclass(frozen=True)
class Outputs:
    """What training writes. log: the file for the table of merges and removals.

    sizes: the vocabulary sizes, ascending; with several, each is written to a folder of its name in `folder`.
    held_out: the text to compare them on, by default the text trained on. html: the page that shows the comparison.
    """

    folder: Path
    force: bool = False
    log: Path | None = None
    as_json: bool = False
    sizes: tuple[int, ...] = ()
    held_out: Sequence[str] = ()
    html: Path | None = None

    @property
    def compares(self) -> bool:
        """Whether the sizes are measured."""
        return len(self.sizes) > 1 or bool(self.held_out)

    def folders(self, vocab_size: int) -> dict[int, Path]:
        """The folder of each size."""
        if len(self.sizes) < 2:
            return {vocab_size: self.folder}
        return {size: self.folder / str(size) for size in self.sizes}

    def check(self, options: Options) -> None:
        """Raise an error now for what cannot be written or measured after the training."""
        from ..jobs.outputs import refuse_existing
        from ..sources.find import find_sources
        from ._tables import Forms

        if options.superwords == "boundless" and len(self.sizes) > 1:
            raise UsageError("--superwords boundless depends on the size of the vocabulary: train each size on its own")
        for size, folder in self.folders(options.vocab_size).items():
            replace(options, vocab_size=size)
            if os.path.lexists(folder):
                from ..formats import check_output  # imports all formats, which takes 5 MiB

                check_output(folder, overwrite=self.force)
        if self.log is not None:
            refuse_existing(self.log, overwrite=self.force)
        if self.html is not None and not self.compares:
            raise UsageError("--html shows the sizes of --vocab-size: give several, such as 16k,32k,64k, or --held-out")
        Forms(html=self.html, force=self.force).check()
        for source in self.held_out:
            find_sources(source)


def train_and_report(
    given: Input,
    options: Options,
    outputs: Outputs,
    *,
    sample: list[str] | None = None,
) -> Tokenizer:
    """Count, train, save, and report the result."""
    from ..counting.weights import scaled, shares
    from ..kernels.machine import free_memory, resident_memory
    from ..training import estimate_memory

    as_json = outputs.as_json
    outputs.check(options)
    check_sample(sample)
    text = _text(given, options)
    seconds: dict[str, float] = {}
    with _working_folder(given, options, outputs.folder) as folder:
        with progress_bar() as progress, _timed(seconds, "load" if is_saved(given.sources) else "count"):
            fair = _parity(given, options, progress)
            counts = _counts(given, options, folder, outputs.folder.parent, progress) if fair is None else fair.counts
        counted, mixture = _counted(counts), counts.mixture
        needed = None if _is_plain(options) and fair is None and not outputs.compares else counts
        if options.algorithm == "heap":
            least = scaled(options.min_count, counts.scale)
            freed = 0 if needed else counts.arena.nbytes + counts.offsets.nbytes + counts.counts.nbytes
            plain = partial(estimate_memory, vocab_size=options.vocab_size, min_count=least, refine=options.refine)
            needs = plain(counts) if fair is None else fair.memory()
            stage = "training" if options.superwords is None else "the stage before superwords"
            state_memory(needs, free_memory(), resident_memory() - freed, stage)
        with event_log(outputs.log) as event, progress_bar() as bar, _timed(seconds, "train"):
            watching = bar if event is None else Watching(bar, event)
            if fair is None:
                training = _training(counts, text, given, options, folder, watching)
            else:
                training = fair.watched(watching)
            del counts  # training has copied what it needs, and gets the memory
            vocabulary = training.run()
            n_tokens = training.n_tokens() if options.min_count == 1 else None
            del training
        from ..tokenizer import Tokenizer  # late: it takes 4 MiB

        tok = Tokenizer(vocabulary)
        folders = outputs.folders(options.vocab_size)
        toks = {size: tok.prefix(size) if size < options.vocab_size else tok for size in folders}
        with _timed(seconds, "save"):
            notes = [note for size in toks for note in toks[size].save(folders[size], overwrite=outputs.force)]
    for note in dict.fromkeys(notes):
        say(f"note: {note}")
    cost = cost_of_export(tok, sample, as_json, needed, given.reading.read if given.reading else None)
    if n_tokens is None:
        n_tokens = _tokens_used(tok, needed)
    if "load" in seconds and options.min_count > 1:
        n_tokens = 0  # the rare pretokens were not loaded
    rows = {"tokenizer": str(outputs.folder), **_summary(tok, counted, seconds, n_tokens)}
    if options.superwords is not None:  # no word counts tell how often they are used
        from ..quality.documents import Sample, survey
        from ..sources.blocks import ReadOptions
        from ..sources.find import find_sources

        sampled, read = Sample(), given.reading.read if given.reading else ReadOptions()
        survey(find_sources(given.text or given.sources), read, sampled, with_words=False)
        density = sampled.density(tok)
        rows["bytes_per_token"] = density and round(density, 4)
    rows |= shares_row(shares(mixture), as_json)
    tables = _sizes(toks, given, outputs, needed, options) if needed is not None and outputs.compares else {}
    if fair is not None:
        tables |= print_languages(fair.languages, fair.parity.ratios is None, as_json)
    report({**rows, **(cost | tables if as_json else {})}, as_json)
    if rows["tokens"] < options.vocab_size:
        say(f"The corpus ran out of pairs at {rows['tokens']:,} tokens, short of {options.vocab_size:,}.")
        if short := [str(folders[size]) for size in toks if rows["tokens"] < size < options.vocab_size]:
            say(f"The same tokens are in {', '.join(short)}.")
    return tok


@contextlib.contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start


def is_saved(sources: list[str]) -> bool:
    from ..counting import WordCounts

    return len(sources) == 1 and WordCounts.is_saved(sources[0])


def _text(given: Input, options: Options) -> Text | None:
    """The text that superwords read again; None without superwords. UsageError if it is missing or not needed."""
    saved = is_saved(given.sources)
    if given.text and not (saved and options.superwords):
        raise UsageError("--text is for --superwords with saved word counts; leave it out")
    if options.superwords is None:
        return None
    if saved and not given.text:
        raise UsageError("--superwords reads the text again: name with --text what was counted")
    from ..superwords import FileText

    return FileText(given.text or given.sources, given.reading)


@contextlib.contextmanager
def _working_folder(given: Input, options: Options, output: Path) -> Iterator[WorkingFolder | None]:
    """Where the training of superwords saves how far it came; None for other trainings, and without pyarrow."""
    from ..counting import CountOptions
    from ..jobs.work import JobOptions
    from ..jobs.working_folder import fingerprint, path_beside, working_folder
    from ..sources.find import find_sources
    from ._console import resumable

    job = given.job or JobOptions()
    if options.superwords is None and job.engine != "local":
        raise UsageError(
            "--engine ray is for --superwords; for other trainings, count on Ray: tokenmill count --engine ray"
        )
    if options.superwords is None or given.job is None or find_spec("pyarrow") is None:
        yield None
        return
    told = asdict(replace(options, num_threads=None)) | {"split": given.split}
    told |= asdict(replace(given.reading or CountOptions(), memory_limit=None))
    sources = {
        name: fingerprint(find_sources(paths))
        for name, paths in (("sources", given.sources), ("text", given.text))
        if paths
    }
    with (
        resumable(output),
        working_folder(
            path_beside(output), output, sources | {"options": told, "engine": job.engine}, job.resume
        ) as folder,
    ):
        yield folder


def _training(
    counts: WordCounts,
    text: Text | None,
    given: Input,
    options: Options,
    folder: WorkingFolder | None,
    progress: Progress | None,
) -> Training | SuperwordTraining:
    if text is None:
        from ..training import Training

        return Training(counts, options, progress)
    from ..superwords import SuperwordTraining

    limit = None if given.reading is None else given.reading.memory_limit
    return SuperwordTraining(counts, text, options, limit, progress, folder, given.job)


def _counts(
    given: Input, options: Options, folder: WorkingFolder | None, spill_folder: Path, progress: Progress | None
) -> WordCounts:
    """The saved word counts, or those of text files, which a training that resumes saves."""
    sources, split = given.sources, given.split
    from ..counting import WordCounts, count
    from ..split import Splitter

    if not is_saved(sources):
        splitter = options.splitter(split or "cl100k")
        running: dict[str, Any] = {
            "num_threads": options.num_threads,
            "spill_folder": spill_folder,
            "progress": progress,
        }
        if folder is None:
            return count(sources, splitter, given.reading, **running)
        saved = folder.path / "counts"
        if folder.load("counted") is not None:
            return WordCounts.load(saved)
        if given.job is not None and given.job.engine == "ray":
            from ..counting.count_jobs import count_to_folder

            count_to_folder(
                sources, saved, splitter, given.reading, job=replace(given.job, overwrite=True), progress=progress
            )
            counts = WordCounts.load(saved)
        else:
            counts = count(sources, splitter, given.reading, **running)
            counts.save(saved, overwrite=True)
        folder.save("counted", True)
        return counts
    counts = WordCounts.load(sources[0], options.min_count)
    if counts.split_patterns and split:
        raise UsageError(f"{sources[0]} holds word counts, whose split pattern is fixed: leave out --split")
    if not counts.split_patterns and not split:
        raise UsageError(f"{sources[0]} holds word counts without their split pattern: name it with --split")
    return replace(counts, split_patterns=Splitter(*split).patterns) if split else counts


@dataclass(frozen=True)
class Counted:
    """What was counted. weighted: the bytes of the counted pretokens, each as often as its weight says."""

    documents: int
    nbytes: int
    distinct: int
    weighted: int


def _counted(counts: WordCounts) -> Counted:
    from ..quality.usage import counted_bytes

    return Counted(counts.documents, counts.total_bytes, len(counts), counted_bytes(counts))


def _is_plain(options: Options) -> bool:
    """Whether the training itself tells all that is reported: then the word counts are not needed after it."""
    unusual = options.refine is not None or options.superwords is not None or options.algorithm != "heap"
    return options.alphabet == "bytes" and options.min_count == 1 and not unusual


def _tokens_used(tok: Tokenizer, counts: WordCounts | None) -> int:
    """How many tokens the counted text makes; 0 if the word counts do not tell."""
    from ..quality.usage import measure_usage

    vocabulary = tok.vocabulary
    if counts is None or vocabulary.split_patterns != counts.split_patterns or len(vocabulary.superwords):
        return 0  # tokens that span words are not used in single words
    return measure_usage(tok, counts).tokens


def _summary(tok: Tokenizer, counted: Counted, seconds: dict[str, float], n_tokens: int) -> dict[str, Any]:
    """What was trained. n_tokens: how many tokens the counted text makes; 0 if that is not known."""
    from ..kernels.machine import peak_memory

    vocabulary = tok.vocabulary
    present = sum(token is not None for token in vocabulary.tokens) - len(vocabulary.removed)
    return {
        "documents": counted.documents,
        "bytes": counted.nbytes,
        "distinct_pretokens": counted.distinct,
        "tokens": present + len(vocabulary.special_tokens),
        "special_tokens": len(vocabulary.special_tokens),
        "removed_tokens": len(vocabulary.removed),
        "bytes_per_token": round(counted.weighted / n_tokens, 4) if n_tokens else None,
        "seconds": {stage: round(took, 3) for stage, took in seconds.items()},
        "peak_memory_mib": round(peak_memory() / 2**20),
    }


def _parity(given: Input, options: Options, progress: Progress | None) -> ParityTraining | None:
    """The counted languages of parity-aware BPE; None if it is not wanted."""
    from ..training.parity import train_parity

    if (languages := given.languages) is None:
        return None
    texts = languages.training, languages.development
    return train_parity(*texts, options, languages.options, given.split, given.reading, progress)


def _sizes(
    toks: dict[int, Tokenizer], given: Input, outputs: Outputs, counts: WordCounts, options: Options
) -> dict[str, Any]:
    """Measure the sizes, and print or write what was found; the rows for JSON."""
    from ..quality.evaluation_text import EvaluationText
    from ..quality.sizes import measure_sizes
    from ._tables import Forms

    read = given.reading.read if given.reading else None
    if outputs.held_out:
        text, note = list(outputs.held_out), "On held-out text."
    else:  # word counts do not tell the tokens that span words
        text, note = list(given.text or given.sources), "On the text trained on; --held-out measures on other text."
    measured: Any = counts if not outputs.held_out and options.superwords is None else text
    with progress_bar() as progress:
        domains = EvaluationText(measured, options.num_threads, read, options.special_tokens)
        found = measure_sizes(toks, domains, note, progress)
    if outputs.html is not None:
        Forms(html=outputs.html, force=outputs.force).show(found)
    if not outputs.as_json:
        Forms().show(found)
    return {"sizes": found.tables[0].to_json()["rows"]}


def state_memory(needed: int, free: int, held: int = 0, stage: str = "training") -> None:
    """Say how much memory a stage needs, with what the process holds already, and warn if that is not free."""
    message = f"{stage} will need up to {math.ceil((needed + held) / 2**20):,} MiB of memory"
    if needed > free:
        message += f", but only {free >> 20:,} MiB are free. Leave out rare pretokens with --min-count 2 or more."
    say(message)
