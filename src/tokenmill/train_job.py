"""The job of training, from files, texts or word counts to one or several tokenizers, and the functions for it."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from .counting.options import Binary, CountOptions, MemoryLimit, Paths, Sources, Split, Weights
from .errors import OptionName, UsageError
from .jobs.outputs import named, refuse_existing, refuse_same, refuse_source_folder
from .jobs.progress import Progress, drawn
from .jobs.work import Overwrite
from .jobs.working_folder import alone
from .options import Argument, Option, checked, fields_of, takes_options, whole_number
from .sources.blocks import ReadOptions
from .training.options import PARITY, TRAINING, Options, Parity, by_name

if TYPE_CHECKING:
    from .counting import WordCounts
    from .counting.weights import WeightedSource
    from .tokenizer import Tokenizer
    from .training import Training
    from .training.parity import LanguageReport, ParityTraining

Note = Callable[[str], None]
Languages = Mapping[str, object] | Sequence[str]  # name to text, or NAME=TEXT


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(whole_number(size.strip()) for size in text.split(","))


@dataclass(frozen=True, kw_only=True)
class Train(Options, Parity):
    """Train a byte-level BPE tokenizer, or several sizes of it at once.

    tokenmill train corpus/*.txt --vocab-size 32768 --special-token '<|endoftext|>' -o my-tokenizer

    tokenmill train corpus/*.txt --vocab-size 16k,32k,64k --held-out other.txt -o tokenizers

    tokenmill train --parity --language en=en/ hi=hi/ --dev en=dev.en hi=dev.hi --vocab-size 32k -o fair
    """

    # fmt: off
    output: Annotated[Path | None, Option("The folder to write; for sentencepiece, the .model file.", "-o", "--output", needed=True)] = None
    vocab_size: Annotated[int | Sequence[int], Option("Number of ids, with bytes and special tokens; 32k is 32,000. Several, e.g. 16k,32k, come from one training.", metavar="N[,N...]", parse=_sizes)] = field(kw_only=False)  # type: ignore[assignment]
    sources: Annotated[Sources, Argument("Text: files, folders, globs, URLs, plain or compressed, -; or word counts.", unless="language")] = ()
    texts: Iterable[Any] | None = None  # documents, in place of sources
    counts: object = None  # WordCounts, in place of sources
    split: Split = ()
    target: Annotated[Literal["tiktoken", "transformers", "llama.cpp", "sentencepiece"] | None, Option("The program that will load the result, checked before training: tiktoken, transformers, llama.cpp or sentencepiece (trains a .model).", "--for", section=TRAINING)] = None
    text: Annotated[Sequence[str | os.PathLike[str]], Option("For word counts: the text that was counted.", metavar="SRC...", section="Superwords")] = ()
    parity: Annotated[bool, Option("Parity-aware BPE: the language compressed worst chooses each merge.", section=PARITY)] = False
    language: Annotated[Languages, Option("The text of a language, or its saved word counts.", metavar="NAME=SRC...", many=True, section=PARITY)] = ()
    development: Annotated[Languages, Option("The development text of a language, ideally the same text in each. The one with the most tokens chooses.", "--dev", metavar="NAME=SRC...", many=True, section=PARITY)] = ()
    # fmt: on
    read: ReadOptions = field(default_factory=ReadOptions)
    binary: Binary = "error"
    weights: Weights = ()
    memory_limit: MemoryLimit = None
    overwrite: Overwrite = False
    sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        for name in ("sources", "text", "split"):
            if isinstance(value := getattr(self, name), str | os.PathLike):
                object.__setattr__(self, name, (value,))
        for name in ("language", "development"):
            object.__setattr__(self, name, by_name(getattr(self, name) or ()) or ())
        if self._makes_pieces:
            object.__setattr__(self, "alphabet", "characters")
        requested = (isinstance(self.vocab_size, tuple | list | range) and self.vocab_size) or [self.vocab_size]
        size_field = fields_of(Options)["vocab_size"]
        try:
            sizes = tuple(sorted({checked(size_field, size) for size in requested}))  # type: ignore[arg-type]
            for size in sizes:  # each size is checked with the other options
                object.__setattr__(self, "vocab_size", size)
                super().__post_init__()
        except UsageError as error:
            if len(requested) > 1 and error.args[0] == OptionName("vocab_size"):
                sizes_read = " and ".join(map(str, requested))
                advice = f". Commas separate sizes, here {sizes_read}; write one size without them"
                raise UsageError(*error.args, advice) from error
            raise
        object.__setattr__(self, "vocab_size", sizes[-1])
        object.__setattr__(self, "sizes", sizes)
        if self.superwords == "boundless" and len(sizes) > 1:
            boundless = OptionName("superwords", "boundless")
            raise UsageError(boundless, " depends on the size of the vocabulary: train each size on its own")

    @property
    def _options(self) -> Options:
        """The options that decide the vocabulary, without the text and its split pattern.

        For sentencepiece, the special tokens include those that its models begin with.
        """
        options: dict[str, Any] = {name: getattr(self, name) for name in fields_of(Options)}
        if self._makes_pieces:
            roles: dict[str, str] = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", **by_name(self.roles or {})}
            # For characters outside of the alphabet.
            byte_pieces = [] if self.unknown_token else [f"<0x{byte:02X}>" for byte in range(256)]
            special = tuple(dict.fromkeys((roles["bos"], roles["eos"], *self.special_tokens, *byte_pieces)))
            options |= {"unknown_token": self.unknown_token or roles["unk"], "special_tokens": special}
        return Options(**options)

    @property
    def _makes_pieces(self) -> bool:
        """Return whether the result is a SentencePiece model."""
        return self.target == "sentencepiece" and self.superwords is None

    @property
    def _format(self) -> str:
        return "sentencepiece" if self._makes_pieces else "huggingface"

    @property
    def _split(self) -> tuple[str, ...]:
        """The split patterns, by default that of the target."""
        from .split.patterns import DEFAULT, SENTENCEPIECE

        return (*self.split,) or (SENTENCEPIECE if self._makes_pieces else DEFAULT,)

    @property
    def _reading(self) -> CountOptions:
        return CountOptions(memory_limit=self.memory_limit, read=self.read, binary=self.binary, weights=self.weights)

    @property
    def _languages(self) -> list[Any]:
        """The texts of the languages, for training and development."""
        return [text for texts in (self.language, self.development) for text in by_name(texts).values()]

    @property
    def counted_before(self) -> bool:
        """Return whether the text is word counts; with parity, the text of every language."""
        texts = self._languages if self.parity else [self.sources]
        return self.counts is not None or (bool(texts) and all(map(_is_counts, texts)))

    def folders(self) -> dict[int, Path]:
        """The folder of each size, or the file for sentencepiece; {} without an output."""
        if self.output is None:
            return {}
        suffix = ".model" if self._makes_pieces else ""
        return {size: self.output / f"{size}{suffix}" if len(self.sizes) > 1 else self.output for size in self.sizes}

    def _unused(self) -> Iterator[tuple[Sequence[Any], Collection[str]]]:
        reading = {"unit", "separator", "field", "binary"}
        if not self.parity:
            yield ("a training without ", OptionName("parity", True)), {"language", "development", *fields_of(Parity)}
        else:
            path = OptionName("parity", True), ", which takes its text from ", OptionName("language")
            yield path, {"sources", "text", "weights", "normalize"}
        if self.superwords is None:
            yield ("a training without ", OptionName("superwords", ...)), {"text"}
        else:
            yield (OptionName("superwords", ...), ", which reads the text as it is"), {"weights"}
        if self.texts is not None:
            yield ("texts of an iterator",), {"sources", "text", "weights", *reading}
        if self.counted_before:
            merge = " (weight them with: tokenmill count --merge A B --weight A=3/2 -o BOTH)"
            yield ("a training on saved word counts", merge), {"weights"}
            if self.superwords is None:
                yield ("a training on saved word counts",), {"memory_limit", *reading}
        elif self.superwords is not None:
            yield ("a training on text",), {"text"}

    def check(self, *, also_read: Collection[Any] = (), also_written: Collection[Path] = ()) -> None:
        """Raise the errors of options and outputs that would otherwise come after hours of counting and training.

        also_read, also_written: other sources and files of the caller, which must not conflict with those of the job.
        """
        from .vocabulary.validation import MAX_FILE_ID, refuse_ordinary

        self._refuse_unused(used=fields_of(ReadOptions) if also_read else ())
        if self.sizes[-1] > MAX_FILE_ID + 1:
            size, most = f"{self.sizes[-1]:,}", f"{MAX_FILE_ID + 1:,}"
            raise UsageError(OptionName("vocab_size"), f" is {size}; the files of a tokenizer have at most {most} ids")
        if not self.sources and not self.parity and self.texts is None and self.counts is None:
            raise UsageError("name the text to train on: files, folders, globs, or - for standard input")
        if self.counts is not None and (self.sources or self.texts is not None or self.parity):
            raise UsageError(OptionName("counts"), " takes the place of all text: give the one or the other")
        if self.superwords and self.counted_before and not self.text:
            text = OptionName("text", ...)
            raise UsageError(
                OptionName("superwords", ...), " reads the text again: name with ", text, " what was counted"
            )
        if self.output is not None and self.alphabet == "bytes":
            refuse_ordinary(self.special_tokens, {bytes([byte]) for byte in range(256)})
        if self.target is not None:
            self._check_target(self.target)
        texts = [[text] if isinstance(text, str | os.PathLike) else text for text in self._languages]
        languages = itertools.chain(*(text for text in texts if isinstance(text, Sequence)))
        sources, folders = [*self.sources, *self.text, *languages, *also_read], self.folders().values()
        if self.output is not None:
            refuse_source_folder(sources, named(self.output))
        if also_written:
            from .formats.writing import paths_of

            files = [file for folder in folders for file in paths_of(named(folder), self._format)]
            refuse_same(*{*folders, *files, *([self.output] if self.output else [])}, *also_written)
            refuse_existing(*also_written, overwrite=self.overwrite, sources=sources)
        for folder in folders:
            if os.path.lexists(named(folder)):
                from .formats import check_output  # imports all formats, which takes 5 MiB

                check_output(folder, self._format, overwrite=self.overwrite, sources=sources)

    def _check_target(self, target: str) -> None:
        """Raise UsageError if `target` cannot load such a tokenizer. This trains one merge, and checks its format."""
        from .counting import WordCounts
        from .errors import ConversionError
        from .formats.writing import check_writable
        from .split import Splitter
        from .split.patterns import SUPERWORDS
        from .training import Training

        options = self._options
        options.check_size(1)
        if self.parity and target == "sentencepiece":
            raise UsageError("sentencepiece needs a training on characters, and parity-aware BPE is trained on bytes")
        by_events = self.refine is not None or self.superwords == "boundless"
        split = [self.stage2_split or SUPERWORDS] if self.superwords == "superbpe" else self._split
        size = 258 + options.vocab_size - options.n_ordinary
        limits: dict[str, Any] = {"min_count": 1, "min_pair_count": 1, "max_token_bytes": None}
        small = options.without_superwords(vocab_size=size, characters=None, coverage=1.0, **limits)
        vocabulary = Training(WordCounts.from_mapping({b"ab": 1}), small).run()
        vocabulary = vocabulary.replace(
            split_patterns=Splitter(*split).patterns, order="events" if by_events else "merges"
        )
        try:
            if self._makes_pieces and not by_events:
                from .formats.sentencepiece_model import as_pieces

                vocabulary = as_pieces(vocabulary, self.sizes[0])
            check_writable(vocabulary, {"transformers": "huggingface", "llama.cpp": "gguf"}.get(target, target))
        except ConversionError as error:
            raise UsageError(f"{target} cannot load a tokenizer that these options train: {error}") from None

    def run(
        self,
        *,
        progress: Progress | None = None,
        note: Note | None = None,
        keep_counts: bool = False,
        also_read: Collection[Any] = (),
    ) -> Trained:
        """Count, train and save.

        note: called with messages, such as the memory that training needs. keep_counts: return the word counts too.
        also_read: see `check`.
        """
        self.check(also_read=also_read)
        with alone(self.output) as folder:
            return self._run(progress, note, keep_counts, folder)

    def _run(self, progress: Progress | None, note: Note | None, keep_counts: bool, spill: Path | None) -> Trained:
        from .formats.merges_txt import with_roles

        options = self._options
        start = self._start(progress, spill)  # raises for text that can be read only once
        seconds: dict[str, float] = {}
        with _timed(seconds, "load" if self.counted_before else "count"):
            parity = None
            if self.parity:
                from .training.parity import ParityTraining

                languages: tuple[Any, Any] = (self.language, self.development or None)
                parity = ParityTraining(*languages, options, self, self.split or None, self._reading, progress)
            counts = self._count(progress, note, spill) if parity is None else parity.counts
        whole = int(sum(source.weighted for source in counts.mixture) * counts.scale) or counts.total_bytes
        weighted, notes = counts.counted_bytes, []
        if self.normalize and not self.counted_before:  # the bytes before normalization
            weighted = whole
        elif self.counted_before and weighted < whole:
            notes = [f"the word counts leave out {100 - 100 * weighted / whole:.3g}% of the text, as rare or special"]
        about: dict[str, Any] = {"documents": counts.documents, "nbytes": counts.total_bytes, "distinct": len(counts)}
        about |= {"weighted": weighted, "mixture": counts.mixture, "counts": counts if keep_counts else None}
        if note is not None:
            note(self._memory(counts, parity, keep_counts))
        with _timed(seconds, "train"):
            training = start(counts) if parity is None else parity
            del counts  # `training` has its own copy, and needs the memory
            vocabulary = training.run()
            if self.roles:
                roles = {f"{role}_token": text for role, text in by_name(self.roles).items()}
                vocabulary = with_roles(vocabulary, roles)
            n_tokens = training.n_tokens() if options.min_count == 1 else None
            del training
        from .tokenizer import Tokenizer  # late: it takes 4 MiB

        if self._makes_pieces:
            from .formats.sentencepiece_model import as_pieces

            toks = {size: Tokenizer(as_pieces(vocabulary, size)) for size in self.sizes}
        else:
            tok = Tokenizer(vocabulary)
            toks = {size: tok.prefix(size) if size < options.vocab_size else tok for size in self.sizes}
        tok = toks[options.vocab_size]
        with _timed(seconds, "save"):
            for size, path in self.folders().items():
                notes += toks[size].save(path, format=self._format, overwrite=self.overwrite)
        notes = list(dict.fromkeys(notes))
        return Trained(tok, toks, seconds, n_tokens, notes, parity.languages if parity else (), **about)

    def _memory(self, counts: WordCounts, parity: ParityTraining | None, keep_counts: bool) -> str:
        """A message with the memory that training needs, and a warning if that is not free."""
        from .counting.weights import scaled
        from .kernels.machine import free_memory, resident_memory
        from .training.trainer import LEAST_MEMORY, estimate_memory, memory_note

        options: dict[str, Any] = {"min_count": scaled(self.min_count, counts.scale), "refine": self.refine}
        freed = 0 if keep_counts else counts.arena.nbytes + counts.offsets.nbytes + counts.counts.nbytes
        needed = parity.memory() if parity else estimate_memory(counts, self._options.vocab_size, **options)
        # An alphabet of characters and normalization take tables of all code points.
        needed = max(needed, LEAST_MEMORY + (8 << 20 if self.alphabet == "characters" or self.normalize else 0))
        stage = "training" if self.superwords is None else "the stage before superwords"
        return memory_note(needed, free_memory(), resident_memory() - freed, stage)

    def _start(self, progress: Progress | None, spill: Path | None) -> Callable[[WordCounts], Any]:
        """The constructor of the training. UsageError for superwords whose text or pattern does not fit them."""
        if self.superwords is None:
            return lambda counts: self._training(counts, progress)
        from .split import Splitter
        from .superwords import SuperwordTraining, file_text, memory_text, stage2_splitter

        if self.superwords == "superbpe":
            stage2_splitter(self._options)
        elif not self.counted_before:
            Splitter(*self._split, joins=bytes(1 << 13))
        files = self.text or self.sources
        text = file_text(files, self._reading) if self.texts is None else memory_text(self.texts)
        return lambda counts: SuperwordTraining(counts, text, self._options, self.memory_limit, progress, spill)

    def _training(self, counts: WordCounts, progress: Progress | None) -> Training:
        from .training import Training  # late: NumPy takes memory, which a decompressor may need

        if not self._makes_pieces:
            return Training(counts, self._options, progress)
        # No piece contains NUL. Without a piece for the space, sentencepiece would encode it as the bytes of U+2581.
        training = Training(counts, self._options, progress, [b"\0"], "" if self.unknown_token else " ")
        # `as_pieces` drops some tokens.
        training.options = replace(training.options, vocab_size=training.options.vocab_size + 8)
        return training

    def _count(self, progress: Progress | None, note: Note | None, spill: Path | None) -> WordCounts:
        from .counting import WordCounts, count, count_iterator
        from .counting.ddfreq import is_split_by_ddtokens
        from .split import Splitter

        if self.counted_before:
            if isinstance(self.counts, WordCounts):
                counts, name = self.counts, "counts"
            else:
                counts, name = WordCounts.load(self.sources[0], min_count=self.min_count), os.fspath(self.sources[0])
            if counts.split_patterns and self.split:
                raise UsageError(
                    f"{name} contains word counts, whose split pattern is fixed: leave out ", OptionName("split")
                )
            split = self.split
            if not counts.split_patterns and not split and counts is not self.counts:
                rows = counts.arena, counts.offsets, counts.counts
                if name.endswith(".ddfreq") and is_split_by_ddtokens(rows):
                    split = ("ddtokens",)
                    if note is not None:
                        note(f"{name} does not name its split pattern; training uses ddtokens")
                else:
                    named = OptionName("split", ...)
                    raise UsageError(f"{name} contains word counts without their split pattern: name it with ", named)
            return replace(counts, split_patterns=Splitter(*split).patterns) if split else counts
        normalize = None
        if self.normalize:
            from .tokenizer.normalization import normalizer_of

            normalize = normalizer_of(self._options.normalizers)
        splitter = self._options.splitter(self._split, normalize=normalize)
        run: dict[str, Any] = {"num_threads": self.num_threads, "progress": progress}
        if self.texts is not None:
            return count_iterator(self.texts, split=splitter, memory_limit=self.memory_limit, **run)
        return count(self.sources, split=splitter, options=self._reading, spill_folder=spill, **run)


@dataclass(frozen=True)
class Trained:
    """The result of a training.

    tok: the tokenizer of the largest size. toks: the tokenizers by size.
    seconds: the time of each stage. n_tokens: the number of tokens of the counted text; None if unknown.
    notes: properties that the saved files cannot represent. languages: the results of parity-aware BPE for each language.
    documents, nbytes, distinct: of the counted text, and of its pretokens. weighted: its bytes times their weights.
    mixture: the weighted sources. counts: the word counts, with `keep_counts`.
    """

    tok: Tokenizer
    toks: dict[int, Tokenizer]
    seconds: dict[str, float]
    n_tokens: int | None
    notes: Sequence[str]
    languages: Sequence[LanguageReport]
    documents: int
    nbytes: int
    distinct: int
    weighted: int
    mixture: Sequence[WeightedSource]
    counts: WordCounts | None


@dataclass(frozen=True, kw_only=True)
class _Arguments(Train):
    """The keyword arguments of the functions that train: the options of the job, and `progress`."""

    progress: Progress | bool | None = None

    def trained(self, **text: Any) -> Tokenizer:
        """The tokenizer of the largest size. text: the options of `Train` that name the text."""
        with drawn(self.progress) as show:
            return replace(self, vocab_size=self.sizes, **text).run(progress=show).tok


@takes_options(_Arguments)
def train(sources: Paths, options: _Arguments) -> Tokenizer:
    """Train a tokenizer on files: paths, folders and globs of text, plain or compressed; or on saved word counts.

    The text is streamed once into word counts. Only the table of distinct pretokens is kept in memory.

    vocab_size: the number of tokens, including the 256 bytes and the special tokens.
    split: the name of a split pattern ("cl100k"), of an encoding or a model that uses it ("gpt-4o"), a regular expression,
        or several of these, each of which cuts the pretokens of the one before.
    weights: the weight of each occurrence by source, such as {"code/": "1/2"}. See `CountOptions`.
    refine: the threshold T of Picky BPE, above 0 and at most 1; None trains plain BPE.
    superwords: "superbpe" for tokens that span words, trained in a second stage, or "boundless" for tokens of whole pretokens.
    target: "tiktoken", "transformers", "llama.cpp" or "sentencepiece". Options that this program does not support are an error
        before training. For "sentencepiece", the result is a BPE model of characters in its format, with a token for each byte
        unless there is an `unknown_token` for other characters.
    normalize: normalizations of text before it is split, in training and encoding, such as ["nfkc", "lowercase"]. With word
        counts, those of the counted text.
    alphabet: "bytes", or "characters" with `coverage`, the share of all characters to keep, or with the `characters`
        themselves, and `unknown_token` for the others.
    output: the folder to save the tokenizer in.
    progress: True draws bars, also in a notebook. Otherwise it is called as progress(stage, done, total). Its method `event`, if
        there is one, is called with a `TrainingEvent` for each merge and removal as it happens.
    All options are those of `tokenmill train`: see `Train`.
    Raises UsageError for invalid options, InputError for a source that cannot be read.
    """
    return options.trained(sources=sources)


@takes_options(_Arguments)
def train_from_iterator(texts: Iterable[str | bytes], options: _Arguments) -> Tokenizer:
    """Train a tokenizer on the texts of an iterator; each text is one document. Options as for `train`.

    An exception that the iterator raises is passed on. A tokenizer is never trained on half a corpus.
    """
    return options.trained(texts=texts)


@takes_options(_Arguments)
def train_from_counts(counts: WordCounts | Mapping[bytes, int] | Mapping[str, int], options: _Arguments) -> Tokenizer:
    """Train a tokenizer on word counts, or on a mapping of words to counts such as a Counter. Options as for `train`.

    split: the tokenizer's split pattern, for counts without one. By default the tokenizer does not split text.
    text: the counted files, for `superwords`, whose second stage reads them.
    """
    from .counting import WordCounts

    return options.trained(counts=WordCounts.from_mapping(counts) if isinstance(counts, Mapping) else counts)


@takes_options(_Arguments)
def train_parity(languages: Mapping[str, Paths | WordCounts], options: _Arguments) -> Tokenizer:
    """Train by parity-aware BPE: at each step, the language that is compressed worst chooses the merge.

    The result is an ordinary tokenizer. Source: Foroutan et al. 2025 (arXiv 2508.04796).

    languages: the training text of each language by name: sources as for `train`, saved word counts, or WordCounts.
    development: a text of each language, ideally the same text in each; the language with the most tokens chooses.
    ratios: in place of development texts, the bytes per token that each language should have, relative to the others.
    window, alpha: a language chooses at most alpha / n of any `window` merges, for n languages.
    global_merges: the number of first merges by plain BPE on all languages together.
    split: as for `train`; by default that of saved word counts, or "llama3".
    Raises UsageError for invalid options, InputError for a source that cannot be read.
    """
    return options.trained(language=languages, parity=True)


def _is_counts(text: Any) -> bool:
    """Return whether a text is WordCounts, or one path of word counts, alone or in a list."""
    from .counting import WordCounts

    paths = [text] if isinstance(text, str | os.PathLike) else text
    saved = isinstance(paths, Sequence) and len(paths) == 1 and WordCounts.is_saved(paths[0])
    return saved or isinstance(text, WordCounts)


@contextlib.contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start
