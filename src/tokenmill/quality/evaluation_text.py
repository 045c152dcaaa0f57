"""The text that tokenizers are judged on: named domains, counted once for each way of splitting. And the judgement on it.

One more pass over the files counts the words and draws an even sample of the documents.
"""

from __future__ import annotations

import itertools
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from ..counting import CountOptions, WordCounts, count, count_iterator
from ..counting.options import Binary
from ..counting.reading import stored_size
from ..errors import UsageError, printable
from ..jobs.progress import Meter, Progress
from ..sources.blocks import Block, ReadOptions
from ..sources.documents import ResumePoint, blocks_of, documents_of, refuse_text
from ..sources.find import can_read_again, find_sources, report_skips, shown
from ..split import Splitter
from ..tokenizer import Tokenizer
from ..tokenizer.offsets import text_sections
from ..vocabulary.lazy import lazy
from .names import free_name, given_name, group_name, text_name
from .replay import Swallowed, swallowed_tokens
from .replay import replay as replay_events
from .scripts import scripts_table
from .tables import Table
from .usage import (
    Usage,
    has_pretokens,
    measure_texts,
    measure_usage,
    ordinary_tokens,
    ratio,
    require_same_split,
    require_unchanged,
    unnormalized,
)

Sources = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass
class CountedText:
    """A domain as a tokenizer splits it. added: the count of each added token that is not special, by id.

    nbytes, characters: sizes of the text before normalization; None where they are those of the pretokens.
    """

    counts: WordCounts
    added: Counter[int] = field(default_factory=Counter)
    nbytes: int | None = None
    characters: int | None = None


Source = list[Path | str] | WordCounts
# The type of the text of `inspect`, `compare`, `prune` and `extend`.
Text = Sources | WordCounts | Mapping[str, Sources | WordCounts]
MOST_FILES = 32  # of a single folder or glob, to be separate domains
MOST, MOST_BYTES = 4096, 16 << 20  # excerpts in a sample, and their bytes
EXCERPT = 1 << 14  # bytes; a longer document is cut into excerpts of this size, at the ends of lines
_WORDS = r"\S++\s*+|\s++"  # a word and the white space after it


class EvaluationText:
    """Named domains, each a set of sources or word counts.

    read: how text files are cut into documents, and which field or column contains the text. binary: see `CountOptions`.
    text: sources, word counts, or a mapping of names to either. Each source is a domain; a single folder or glob of up to
        32 files gives one domain per file. "de=corpus/german.txt" is a source with the name of its language.
    special_tokens: texts that are cut out of the documents.
    normalized: whether word counts are known to be of text as the tokenizers normalize it.

    >>> EvaluationText({"low": WordCounts.from_mapping({b"low": 5})}).names
    ['low']
    """

    @classmethod
    def of(cls, text: Text | EvaluationText, num_threads: int | None, read: ReadOptions | None) -> EvaluationText:
        """Return the text with these options. One that a job has prepared is returned unchanged."""
        return text if isinstance(text, EvaluationText) else cls(text, num_threads, read)

    def __init__(
        self,
        text: Text,
        num_threads: int | None = None,
        read: ReadOptions | None = None,
        special_tokens: Iterable[str] = (),
        binary: Binary = "error",
        normalized: bool = False,
    ):
        self.num_threads, self.special_tokens = num_threads, tuple(special_tokens)
        self.read, self.binary, self.normalized = read or ReadOptions(), binary, normalized
        self.sources: dict[str, Source] = {}
        self.arguments: list[str] = []  # the sources as the caller wrote them, for commands
        self.named = isinstance(text, Mapping)  # whether the caller named the domains, as languages have to be
        if isinstance(text, WordCounts):
            self.sources["word counts"] = text
        elif isinstance(text, Mapping):
            for name, source in text.items():
                self.sources[name] = source if isinstance(source, WordCounts) else self._find(source)
        else:
            if not isinstance(text, (str, os.PathLike, Iterable)):
                raise UsageError(f"expected files, folders, globs or word counts, not {text!r}")
            sources = [text] if isinstance(text, (str, os.PathLike)) else list(text)
            self.arguments = list(map(printable, sources))
            self._add_sources(sources)
        if not self.sources:
            raise UsageError("there is no text to evaluate on: give at least one source")
        self._counted: dict[tuple, CountedText] = {}

    def _find(self, source: Any) -> Any:
        return find_sources(source, self.read.skipper(None))

    def _add_sources(self, sources: list[str | os.PathLike[str]]) -> None:
        """Add each source under its name. Sources with the same name, such as "de=corpus/german.txt", are one domain."""
        unnamed: list[tuple[str, list[Path | str]]] = []
        self.named = all(given_name(os.fspath(source))[0] for source in sources)
        for source in sources:
            name, path = given_name(os.fspath(source))
            if Path(path).is_dir() and WordCounts.is_saved(path):
                self.sources[free_name(name or text_name(path), self.sources)] = WordCounts.load(path)
                continue
            files = self._find(path)
            if name is not None:
                domain = self.sources.setdefault(name, [])
                if not isinstance(domain, list):
                    message = f"{name} is saved word counts; its other sources must have another name than {name}="
                    raise UsageError(message)
                domain += files
            elif len(sources) == 1 and len(files) <= MOST_FILES:
                unnamed += [(text_name(file), [file]) for file in files]
            else:
                single = path if os.path.lexists(path) else files[0]  # a glob may match one file
                unnamed.append((text_name(single) if len(files) == 1 else group_name(path), files))
        short_names = [name for name, _ in unnamed]
        for name, files in unnamed:
            if short_names.count(name) > 1 or name in self.sources:  # then by the path, or the common folder
                name = printable(os.path.commonpath(files) if len(files) > 1 else files[0])
            self.sources[free_name(name, self.sources)] = files

    @property
    def names(self) -> list[str]:
        return list(self.sources)

    @property
    def scale(self) -> int:
        """The common denominator of the weights, by which all counts are multiplied; 1 without weighted word counts."""
        return max(getattr(source, "scale", 1) for source in self.sources.values())

    def counts(self, tok: Tokenizer, progress: Progress | None = None) -> list[WordCounts]:
        """Return the word counts of each domain, split as `tok` splits. Pretokens that superwords may join count as one.

        Text is counted again only for another way of splitting.
        """
        return [text.counts for text in self._counted_texts(tok, progress)]

    def merged_counts(self, tok: Tokenizer, progress: Progress | None = None) -> WordCounts:
        """Return the word counts of all domains, split as `tok` splits. Pretokens that superwords may join count separately."""
        return WordCounts.merge([text.counts for text in self._counted_texts(tok, progress, join=False)])

    def read_fronts(self) -> None:
        """Read the first block of each file, so that a file that cannot be read is an error before long work."""
        for source in self.sources.values():
            files = [*filter(can_read_again, source)] if isinstance(source, list) else []
            refuse_text(files, self.read)
            for file in files:
                for block in itertools.islice(text_blocks([file], self.read, binary=self.binary), 1):
                    report_skips(block.skips, self.read.skipper(None))

    def refuse_empty(self, size: int) -> None:
        """Raise UsageError if the text has no byte or no pretoken."""
        if not size:
            raise UsageError(f"the text is empty ({', '.join(self.names)}). Check that the sources contain text")

    def _counted_texts(self, tok: Tokenizer, progress: Progress | None, join: bool = True) -> list[CountedText]:
        """Return the counted text of each domain. join: whether pretokens that superwords may join count as one."""
        meter = self._meter("count", progress)
        return [self._counted_text(name, tok, progress and meter.part(i), join) for i, name in enumerate(self.names)]

    def _meter(self, stage: str, progress: Progress | None) -> Meter:
        sizes = [stored_size(source) if isinstance(source, list) else 0 for source in self.sources.values()]
        return Meter(progress and partial(progress, stage), sizes)

    def refuse_pipes(self, tokenizers: Iterable[Tokenizer]) -> None:
        """Raise UsageError for a pipe, which can be read only once, if the tokenizers need several passes over the text."""
        toks = (each for tok in tokenizers for each in (tok, unnormalized(tok)))
        passes = {_counting_key(tok, join) for tok in toks for join in (True, False)}
        for source in self.sources.values():
            if len(passes) > 1 and isinstance(source, list) and not all(map(can_read_again, source)):
                raise UsageError(
                    f"{', '.join(map(shown, source))} can be read only once, and this needs {len(passes)} passes over the "
                    "text. Save it to a file, and give that"
                )

    def _counted_text(self, name: str, tok: Tokenizer, progress: Progress | None, join: bool) -> CountedText:
        source = self.sources[name]
        patterns, joins, normalization, searched = counting_key = _counting_key(tok, join)
        if (key := (name, *counting_key)) in self._counted:
            return self._counted[key]
        splitter = Splitter(*patterns, special_tokens=self.special_tokens, joins=joins)
        if isinstance(source, WordCounts):
            require_same_split(tok, source)
            if joins is not None:
                raise UsageError(
                    f"{name} contains word counts, which do not record where the superwords of {tok.name} are; give the text"
                )
            if not self.normalized:
                require_unchanged(tok, source)
            counted = CountedText(source)
        elif any(normalization) or searched:
            read_on = (lambda done: progress("count", done, None)) if progress else None
            counted = count_texts(tok, self.texts(name, read_on), splitter, self.num_threads)
        else:
            options = CountOptions(read=self.read, binary=self.binary)
            run: dict[str, Any] = {"num_threads": self.num_threads, "progress": progress}
            counted = CountedText(count(source, split=splitter, options=options, **run))
        self._counted[key] = counted
        return counted

    def usages(self, tok: Tokenizer, progress: Progress | None = None) -> dict[str, Usage]:
        """Return the usage of `tok` on each domain, with the number of words, which takes another pass over the text."""
        usages, words = self._usages(tok, progress), self.surveyed[0]
        return {name: replace(usage, words=words.get(name)) for name, usage in usages.items()}

    def usage(self, tok: Tokenizer, progress: Progress | None = None) -> Usage:
        """Return the usage of `tok` on all domains, without the number of words."""
        return reduce(add, self._usages(tok, progress).values())

    def _usages(self, tok: Tokenizer, progress: Progress | None) -> dict[str, Usage]:
        if tok.vocabulary.library is not None:
            meter = self._meter("encode", progress)  # all domains are checked before the first is read
            texts = {name: self.texts(name, partial(meter.set, i)) for i, name in enumerate(self.names)}
            return {name: measure_texts(tok, documents) for name, documents in texts.items()}
        usages, counted = {}, self._counted_texts(tok, progress)
        meter = Meter(progress and partial(progress, "segment"), [len(text.counts) for text in counted])
        for i, (name, text) in enumerate(zip(self.names, counted, strict=True)):
            usage = measure_usage(tok, text.counts, progress and meter.part(i))
            for id, uses in text.added.items():
                usage.by_id[id] += np.uint64(uses)
            usages[name] = replace(
                usage,
                tokens=usage.tokens + sum(text.added.values()),
                bytes=usage.bytes if text.nbytes is None else text.nbytes,
                characters=usage.characters if text.characters is None else text.characters,
            )
        return usages

    def texts(self, name: str, read_on: Callable[[int], None] | None = None) -> Iterator[str]:
        """Return the documents of a domain. read_on: see `documents_of`. Raises UsageError for word counts."""
        source = self.sources[name]
        if isinstance(source, WordCounts):
            raise UsageError(f"{name} contains word counts, which only byte-pair tokenizers encode; give the text")
        return (document.text for document in documents_of(source, self.read, read_on, binary=self.binary))

    @lazy
    def surveyed(self) -> tuple[dict[str, int], Sample]:
        """The number of words of each domain except word counts and pipes, and an even sample of their documents."""
        return self.survey(count_words)

    @property
    def are_parallel(self) -> bool:
        """True if the sources may be translations of each other: all have names and the same number of lines."""
        if not self.named or len(self.sources) < 2:
            return False
        lines = self.surveyed[1].lines
        return len(lines) == len(self.sources) and len({*lines.values()}) == 1

    def survey(self, words_in: Callable[[memoryview, np.ndarray], int]) -> tuple[dict[str, int], Sample]:
        """Return the result of `surveyed` with another function in place of `count_words`, which takes 2/3 of the time."""
        words, sample = {}, Sample()
        on_skip = (lambda skip: None) if self.read.skip_damaged else None  # the count of the same text warns
        for name, source in self.sources.items():
            if isinstance(source, WordCounts) or not all(map(can_read_again, source)):
                continue
            words[name] = 0
            for block in text_blocks(source, self.read, binary=self.binary):
                report_skips(block.skips, on_skip)
                data, ends = memoryview(block.data)[: block.nbytes], np.asarray(block.ends, np.int64)
                words[name] += words_in(data, ends)
                sample.add(data, ends)
                sample.lines[name] = sample.lines.get(name, 0) + _count_lines(data, ends)
        return words, sample


def _counting_key(tok: Tokenizer, join: bool) -> tuple[Any, ...]:
    """Return the properties of a tokenizer that decide how text is counted. Tokenizers with the same ones share the counts."""
    vocabulary = tok.vocabulary
    if vocabulary.library is not None:
        return (id(tok),)  # it encodes whole texts
    searched = tuple(token for token in vocabulary.added_tokens if not token.special)
    joins = vocabulary.joined_bytes() if join else None
    return vocabulary.split_patterns, joins, (*vocabulary.normalization, tok._core.cutter), searched


def count_texts(
    tok: Tokenizer, texts: Iterable[str], splitter: Splitter | None = None, num_threads: int | None = None
) -> CountedText:
    """Count text that is normalized or searched for added tokens before it is split, one whole document at a time.

    splitter: by default the tokenizer's. Without a split pattern, text is cut where no token spans.
    """
    added: Counter[int] = Counter()
    nbytes = characters = 0

    def sections() -> Iterator[bytes]:
        nonlocal nbytes, characters
        for text in texts:
            nbytes += len(text.encode("utf-8", "replace"))
            characters += len(text)
            for section in text_sections(tok._core, text):
                if isinstance(section, int):
                    added[section] += 1
                else:
                    yield section

    splitter = splitter or Splitter(*tok.vocabulary.split_patterns)
    if tok._core.cutter is not None:
        splitter = SegmentSplitter(tok._core.cutter)
    return CountedText(count_iterator(sections(), split=splitter, num_threads=num_threads), added, nbytes, characters)


class SegmentSplitter(Splitter):
    """Cuts a text that is one pretoken between characters that no token spans, as SentencePiece-style encoding does."""

    def __init__(self, cutter: Any):
        super().__init__()
        self._cutter, self.scanner = cutter, None

    def ends(self, data: bytes | memoryview) -> array[int]:
        return self._cutter.ends(data)

    def warn_of_long_pretokens(self, text: bytes) -> None:
        """Warn of nothing: there is no pattern."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """The figures of one tokenizer on one text.

    size: the number of ordinary tokens. usages: by domain. usage: of all text. scripts: the figures by script.
    swallowed: each token with its highest IoS; None without merges (WordPiece, Unigram).
    """

    tok: Tokenizer
    size: int
    usages: dict[str, Usage] = field(repr=False)
    usage: Usage
    scripts: Table
    swallowed: list[Swallowed] | None = field(repr=False)

    def junk_share(self, ios: float) -> float | None:
        """Return the share of the tokens with an IoS of at least `ios`; None without merges."""
        tokens = self.swallowed
        return None if tokens is None else ratio(sum(token.ios >= ios for token in tokens), self.size)

    def density(self) -> dict[str, float | None]:
        """Bytes per token by domain."""
        return {domain: ratio(usage.bytes, usage.tokens) for domain, usage in self.usages.items()}

    def fertility(self) -> dict[str, float | None]:
        """Tokens per word by domain."""
        return {domain: ratio(usage.tokens, usage.words) for domain, usage in self.usages.items()}


Judgements = Mapping[str, Judgement]  # of one text, by the names of the tokenizers


def judge(tok: Tokenizer, text: EvaluationText, progress: Progress | None = None) -> Judgement:
    """Encode the text with `tok`, and replay its merges."""
    # Tokenizers that other libraries run (WordPiece, Unigram) have no pretokens and no merges to replay.
    counts = text.counts(tok, progress) if tok.vocabulary.library is None else []
    swallowed: list[Swallowed] | None = None
    if counts:
        replayed = replay_events(tok.vocabulary, text.merged_counts(tok, progress), progress)
        swallowed = swallowed_tokens(tok.vocabulary, replayed)
    usages = text.usages(tok, None if counts else progress)
    originals = text.counts(unnormalized(tok)) if counts else []
    scripts = scripts_table(zip(counts, usages.values(), originals, strict=False), has_pretokens(tok.vocabulary))
    usage = reduce(add, usages.values())
    text.refuse_empty(usage.bytes)
    if not usage.tokens:
        raise UsageError(f"{tok.name} makes no token of the text ({', '.join(text.names)}). Give more text")
    return Judgement(tok, len(ordinary_tokens(tok.vocabulary)), usages, usage, scripts, swallowed)


@dataclass
class Sample:
    """Every `step`-th of the `total` excerpts of a text, which are its documents, long ones cut. At most MOST excerpts are kept.

    lines: the number of lines of each domain.
    """

    excerpts: list[bytes] = field(default_factory=list)
    total: int = 0
    step: int = 1
    nbytes: int = 0
    lines: dict[str, int] = field(default_factory=dict)

    def add(self, data: memoryview, ends: np.ndarray) -> None:
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        if len(ends) and int((ends - starts).max()) > EXCERPT:
            starts, ends = _cut_long(data, starts, ends)
        for i in range(-self.total % self.step, len(ends), self.step):
            if (excerpt := bytes(data[starts[i] : ends[i]])).strip():
                self.excerpts.append(excerpt)
                self.nbytes += len(excerpt)
        self.total += len(ends)
        while len(self.excerpts) > MOST or self.nbytes > MOST_BYTES:
            self.excerpts = self.excerpts[::2]
            self.nbytes = sum(map(len, self.excerpts))
            self.step *= 2

    def tokens(self, tok: Tokenizer) -> np.ndarray:
        """Return the number of tokens of each excerpt (int64)."""
        texts = [excerpt.decode("utf-8", "replace") for excerpt in self.excerpts]
        return np.diff(tok.encode_batch_to_numpy(texts, disallowed_special=())[1])

    def density(self, tok: Tokenizer, special_tokens: Iterable[str]) -> float | None:
        """Return bytes per token, without the special tokens; None if there is no text."""
        cut = re.compile(b"|".join(re.escape(text.encode()) for text in sorted(special_tokens, key=len, reverse=True)))
        excerpts = [*itertools.chain(*map(cut.split, self.excerpts))] if cut.pattern else self.excerpts
        sample = Sample(excerpts, nbytes=sum(map(len, excerpts)))
        return sample.nbytes / int(sample.tokens(tok).sum()) if sample.nbytes else None


def _cut_long(data: memoryview, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts and ends of documents, with long ones cut at the ends of lines."""
    spans: list[tuple[int, int]] = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        while end - start > EXCERPT:
            size = bytes(data[start : start + EXCERPT]).rfind(b"\n") + 1 or EXCERPT
            spans.append((start, start + size))
            start += size
        spans.append((start, end))
    return tuple(np.array(spans, np.int64).reshape(-1, 2).T)  # type: ignore[return-value]


def count_words(data: bytes | memoryview, ends: np.ndarray) -> int:
    """Return the number of words in documents that end at `ends`. A word is a run of anything but white space."""
    text = b"\n".join([b"\n", *(data[start:end] for start, end in pairwise([0, *ends.tolist()]))])
    return len(Splitter(_WORDS).ends(text)) - 1  # the first match is white space


def _count_lines(data: memoryview, ends: np.ndarray) -> int:
    """Return the number of lines in documents that end at `ends`. The end of a document ends a line."""
    text = np.frombuffer(data, np.uint8)
    last_bytes = text[ends[np.diff(ends, prepend=0) > 0] - 1]  # of the documents that are not empty
    return int(np.count_nonzero(text == ord("\n")) + np.count_nonzero(last_bytes != ord("\n")))


def text_blocks(sources: Sequence[Path | str], read: ReadOptions, **opening: Any) -> Iterator[Block]:
    """Yield the blocks of files. A file that is one document is cut between lines. opening: see `open_source`."""

    def cut(buffer: bytearray, start: int, length: int) -> int:
        return buffer.rfind(b"\n", start, length) + 1

    for block, _, _ in blocks_of([(source, 0, None) for source in sources], ResumePoint(), read, cut=cut, **opening):
        block.finish()
        yield block
