"""The job of training: files or word counts to a tokenizer, or to several sizes of one."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .counting.options import Binary, CountOptions, MemoryLimit, Sources, Split, Weights
from .errors import OptionName, UsageError
from .jobs.work import JobOptions
from .options import Argument, Option, checked, fields_of, whole_number
from .sources.blocks import ReadOptions
from .training.options import PARITY, Options, Parity, by_name

if TYPE_CHECKING:
    from .counting import WordCounts
    from .counting.weights import Part
    from .jobs.progress import Progress
    from .jobs.working_folder import WorkingFolder
    from .superwords import SuperwordTraining, Text
    from .tokenizer import Tokenizer
    from .training import Training
    from .training.parity import LanguageReport, ParityTraining

Note = Callable[[str], None]


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(whole_number(part.strip()) for part in text.split(","))


@dataclass(frozen=True, kw_only=True)
class Train(Options):
    """Train a byte-level BPE tokenizer, or several sizes of it at once.

    tokenmill train corpus/*.txt --vocab-size 32768 --split cl100k -o my-tokenizer

    tokenmill train corpus/*.txt --vocab-size 16k,32k,64k --held-out other.txt -o tokenizers

    tokenmill train --parity --language en=en/ hi=hi/ --dev en=dev.en hi=dev.hi --vocab-size 32k -o fair
    """

    output: Annotated[Path | None, Option("The folder to write the tokenizer to.", "--output", "-o", needed=True)] = (
        None
    )
    vocab_size: Annotated[
        Any,
        Option(
            "Number of ids, with bytes and special tokens; 32k is 32,000. Several, e.g. 16k,32k, come from one training.",
            metavar="N[,N...]",
            parse=_sizes,
        ),
    ]
    sources: Annotated[
        Sources, Argument("Text: files, folders, globs, URLs, plain or compressed, -; or word counts.")
    ] = ()
    split: Split = ()
    text: Annotated[
        Sequence[str | os.PathLike[str]],
        Option("For word counts: the text that was counted.", metavar="SRC...", section="Superwords"),
    ] = ()
    parity: Annotated[
        bool, Option("Parity-aware BPE: the language compressed worst chooses each merge.", "--parity", section=PARITY)
    ] = False
    language: Annotated[
        Any,
        Option("The text of a language, or its saved word counts.", metavar="NAME=SRC...", many=True, section=PARITY),
    ] = ()
    dev: Annotated[
        Any,
        Option(
            "The development text of a language, best the same text in each. The one with the most tokens chooses.",
            metavar="NAME=SRC...",
            many=True,
            section=PARITY,
        ),
    ] = ()
    fairness: Parity = field(default_factory=Parity)
    read: ReadOptions = field(default_factory=ReadOptions)
    binary: Binary = "error"
    weights: Weights = ()
    memory_limit: MemoryLimit = None
    job: JobOptions = field(default_factory=JobOptions)
    sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        sizes = self.vocab_size if isinstance(self.vocab_size, tuple | list) else [self.vocab_size]
        for name in ("language", "dev"):
            object.__setattr__(self, name, by_name(getattr(self, name) or ()) or ())
        fields = fields_of(Options)
        for size in sizes:  # also those that are cut from the largest
            object.__setattr__(self, "vocab_size", size)
            super().__post_init__()
        sizes = tuple(sorted({checked(fields["vocab_size"], size) for size in sizes}))  # type: ignore[arg-type]
        object.__setattr__(self, "vocab_size", sizes[-1])
        object.__setattr__(self, "sizes", sizes)
        if self.superwords == "boundless" and len(sizes) > 1:
            boundless = OptionName("superwords", "boundless")
            raise UsageError(boundless, " depends on the size of the vocabulary: train each size on its own")

    @property
    def options(self) -> Options:
        """Those that decide the vocabulary, but for the text and its split pattern."""
        return Options(**{name: getattr(self, name) for name in fields_of(Options)})

    @property
    def reading(self) -> CountOptions:
        """How the text is counted."""
        return CountOptions(memory_limit=self.memory_limit, read=self.read, binary=self.binary, weights=self.weights)

    @property
    def counted_before(self) -> bool:
        """Whether the source is saved word counts."""
        from .counting import WordCounts

        return len(self.sources) == 1 and WordCounts.is_saved(self.sources[0])

    def folders(self) -> dict[int, Path]:
        """The folder of each size; none without an output."""
        if self.output is None:
            return {}
        return {size: self.output / str(size) if len(self.sizes) > 1 else self.output for size in self.sizes}

    def unused(self) -> Iterator[tuple[Sequence[Any], Collection[str]]]:
        how = {"unit", "separator", "field", "binary"}
        if not self.parity:
            path: tuple[Any, ...] = ("a training without ", OptionName("parity", True))
            yield path, {"language", "dev", *fields_of(Parity)}
        else:
            path = (OptionName("parity", True), ", which takes its text from ", OptionName("language"))
            yield path, {"sources", "text", "weights"}
        if self.superwords is None:
            path = ("a training without ", OptionName("superwords", ...))
            yield path, {"text", "engine", "ray_address", "resume"}
        else:
            yield (OptionName("superwords", ...), ", which reads the text as it is"), {"weights"}
        if self.sources and self.counted_before:
            merge = " (weight them with: tokenmill count --merge A B --weight A=3/2 -o BOTH)"
            yield ("a training on saved word counts", merge), {"weights"}
            if self.superwords is None:
                yield ("a training on saved word counts",), {"memory_limit", *how}
        elif self.superwords is not None:
            yield ("a training on text",), {"text"}

    def check(self) -> None:
        """Raise an error now for what would fail after hours of counting and training."""
        self.refuse_unused()
        if not self.sources and not self.parity:
            raise UsageError("name the text to train on: files, folders, globs, or - for standard input")
        if self.superwords and self.counted_before and not self.text:
            text = OptionName("text", ...)
            raise UsageError(
                OptionName("superwords", ...), " reads the text again: name with ", text, " what was counted"
            )
        for folder in self.folders().values():
            if os.path.lexists(folder):
                from .formats import check_output  # imports all formats, which takes 5 MiB

                check_output(folder, overwrite=self.job.overwrite)

    def run(
        self, progress: Progress | None = None, note: Note = lambda text: None, keep_counts: bool = False
    ) -> Trained:
        """Count, train and save. note: called with the memory that training needs. keep_counts: return the word counts too."""
        from .counting.weights import scaled
        from .kernels.machine import free_memory, resident_memory
        from .training import estimate_memory

        self.check()
        options = self.options
        seconds: dict[str, float] = {}
        with self._working_folder() as folder:
            with _timed(seconds, "load" if self.sources and self.counted_before else "count"):
                fair = self._count_languages(progress) if self.parity else None
                counts = self._count(folder, progress) if fair is None else fair.counts
            counted = Counted(counts.documents, counts.total_bytes, len(counts), counts.counted_bytes, counts.mixture)
            kept = counts if keep_counts else None
            if options.algorithm == "heap":
                least = scaled(options.min_count, counts.scale)
                freed = 0 if keep_counts else counts.arena.nbytes + counts.offsets.nbytes + counts.counts.nbytes
                plain = partial(estimate_memory, vocab_size=options.vocab_size, min_count=least, refine=options.refine)
                needed = plain(counts) if fair is None else fair.memory()
                stage = "training" if options.superwords is None else "the stage before superwords"
                note(memory_note(needed, free_memory(), resident_memory() - freed, stage))
            with _timed(seconds, "train"):
                training = self._training(counts, folder, progress) if fair is None else fair.watched(progress)
                del counts  # training has copied what it needs, and gets the memory
                vocabulary = training.run()
                n_tokens = training.n_tokens() if options.min_count == 1 else None
                del training
            from .tokenizer import Tokenizer  # late: it takes 4 MiB

            tok = Tokenizer(vocabulary)
            toks = {size: tok.prefix(size) if size < options.vocab_size else tok for size in self.sizes}
            with _timed(seconds, "save"):
                saved = [toks[size].save(path, overwrite=self.job.overwrite) for size, path in self.folders().items()]
        notes = tuple(dict.fromkeys(each for notes in saved for each in notes))
        return Trained(tok, toks, counted, seconds, n_tokens, notes, fair.languages if fair else (), kept)

    @contextlib.contextmanager
    def _working_folder(self) -> Iterator[WorkingFolder | None]:
        """Where the training of superwords saves how far it came; None for other trainings, and without pyarrow."""
        from .jobs.working_folder import fingerprint, path_beside, working_folder
        from .sources.find import find_sources

        if self.superwords is None or self.output is None or find_spec("pyarrow") is None:
            yield None
            return
        key: dict[str, Any] = asdict(replace(self.options, num_threads=None)) | {"split": list(self.split)}
        key |= asdict(replace(self.reading, memory_limit=None))
        names = {"sources": self.sources, "text": self.text}
        sources = {name: fingerprint(find_sources(paths)) for name, paths in names.items() if paths}
        beside = path_beside(self.output)
        key = sources | {"options": key, "engine": self.job.engine}
        with working_folder(beside, self.output, key, self.job.resume) as folder:
            yield folder

    def _training(
        self, counts: WordCounts, folder: WorkingFolder | None, progress: Progress | None
    ) -> Training | SuperwordTraining:
        if self.superwords is None:
            from .training import Training

            return Training(counts, self.options, progress)
        from .superwords import FileText, SuperwordTraining

        text: Text = FileText(list(self.text or self.sources), self.reading)
        return SuperwordTraining(counts, text, self.options, self.memory_limit, progress, folder, self.job)

    def _count(self, folder: WorkingFolder | None, progress: Progress | None) -> WordCounts:
        """The saved word counts, or those of text files, which a training that resumes saves."""
        from .counting import WordCounts, count
        from .split import Splitter

        if self.counted_before:
            (source,) = self.sources
            counts = WordCounts.load(source, self.min_count)
            if counts.split_patterns and self.split:
                raise UsageError(
                    f"{source} holds word counts, whose split pattern is fixed: leave out ", OptionName("split")
                )
            if not counts.split_patterns and not self.split:
                raise UsageError(
                    f"{source} holds word counts without their split pattern: name it with ", OptionName("split", ...)
                )
            return replace(counts, split_patterns=Splitter(*self.split).patterns) if self.split else counts
        splitter = self.options.splitter(self.split or "cl100k")
        run = partial(
            count,
            self.sources,
            splitter,
            self.reading,
            num_threads=self.num_threads,
            spill_folder=None if self.output is None else self.output.parent,
            progress=progress,
        )
        if folder is None:
            return run()
        saved = folder.path / "counts"
        if folder.load("counted") is None:
            if self.job.engine == "ray":
                from .counting.to_folder import count_to_folder

                job = replace(self.job, overwrite=True)
                count_to_folder(self.sources, saved, splitter, self.reading, job=job, progress=progress)
            else:
                counts = run()
                counts.save(saved, overwrite=True)
                folder.save("counted", True)
                return counts
            folder.save("counted", True)
        return WordCounts.load(saved)

    def _count_languages(self, progress: Progress | None) -> ParityTraining:
        """The counted languages of parity-aware BPE."""
        from .training.parity import train_parity

        split = self.split or None
        return train_parity(self.language, self.dev or None, self.options, self.fairness, split, self.reading, progress)


@dataclass(frozen=True)
class Counted:
    """What was counted. weighted: the bytes of its pretokens, each as often as its weight says. mixture: the weighted sources."""

    documents: int
    nbytes: int
    distinct: int
    weighted: int
    mixture: Sequence[Part]


@dataclass(frozen=True)
class Trained:
    """The result of a training.

    tok: the tokenizer, of the largest size. toks: by size.
    seconds: by stage. n_tokens: how many tokens the counted text makes; None if training does not know.
    notes: on what a saved file does not hold. languages: of parity-aware BPE. counts: if they were to be kept.
    """

    tok: Tokenizer
    toks: dict[int, Tokenizer]
    counted: Counted
    seconds: dict[str, float]
    n_tokens: int | None
    notes: Sequence[str]
    languages: Sequence[LanguageReport]
    counts: WordCounts | None


def memory_note(needed: int, free: int, held: int = 0, stage: str = "training") -> str:
    """How much memory a stage needs, with what the process holds already, and a warning if that is not free."""
    message = f"{stage} will need up to {math.ceil((needed + held) / 2**20):,} MiB of memory"
    if needed > free:
        message += f", but only {free >> 20:,} MiB are free. Leave out rare pretokens with --min-count 2 or more."
    return message


@contextlib.contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start
