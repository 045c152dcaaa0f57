"""The text that tokenizers are judged on: named domains, counted once for each way of splitting."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ..counting import WordCounts
from ..errors import UsageError, printable
from ..jobs.progress import Progress
from ..sources.blocks import ReadOptions
from ..sources.documents import read_documents
from ..sources.find import can_read_again, find_sources
from ..split import Splitter
from ..tokenizer import Tokenizer
from .documents import Sample, survey
from .names import free_name, group_name, text_name
from .usage import Usage, ids_of, measure_usage, require_same_split

Sources = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Texts(tuple[str, ...]):
    """Texts in memory, each a document."""


Part = list[Path | str] | Texts | WordCounts
# What `inspect`, `compare`, `prune` and `extend` take.
Text = Sources | WordCounts | Mapping[str, Sources | Texts | WordCounts]
MOST_FILES = 32  # of a single folder or glob, to be separate domains
# A source with the name of its language: "de=corpus/german.txt".
NAMED = re.compile(r"([^\W\d_][\w-]*)=(.+)", re.DOTALL)


class EvaluationText:
    """Named domains, each a set of sources or word counts.

    read: how text files are cut into documents, and which field or column holds the text.
    text: sources, word counts, or a mapping of names to either. Each source is a domain; a single folder or glob of up to
        32 files gives one domain per file. "de=corpus/german.txt" is a source with the name of its language.
    special_tokens: texts that are cut out of the documents.

    >>> EvaluationText({"low": WordCounts.from_mapping({b"low": 5})}).names
    ['low']
    """

    def __init__(
        self,
        text: Text,
        num_threads: int | None = None,
        read: ReadOptions | None = None,
        special_tokens: Iterable[str] = (),
    ):
        self.num_threads, self.special_tokens = num_threads, tuple(special_tokens)
        self.read = read or ReadOptions()
        self.parts: dict[str, Part] = {}
        if isinstance(text, WordCounts):
            self.parts["word counts"] = text
        elif isinstance(text, Mapping):
            for name, part in text.items():
                self.parts[name] = part if isinstance(part, (WordCounts, Texts)) else find_sources(part)
        else:
            self._add_sources([text] if isinstance(text, (str, os.PathLike)) else list(text))
        if not self.parts:
            raise UsageError("there is no text to judge on: give at least one source")
        self._counted: dict[tuple, tuple[WordCounts, Counter[int]]] = {}
        self._words: dict[str, int] = {}
        self._sample: Sample | None = None
        self._surveying = threading.Lock()

    def _add_sources(self, sources: list[str | os.PathLike[str]]) -> None:
        named: list[tuple[str, list[Path | str]]] = []
        for source in sources:
            if (name := NAMED.fullmatch(os.fspath(source))) and not os.path.lexists(source):
                self._add_language(name[1], name[2])
                continue
            if Path(source).is_dir() and WordCounts.is_saved(source):
                self.parts[text_name(source)] = WordCounts.load(source)
                continue
            files = find_sources(source)
            if len(sources) == 1 and len(files) <= MOST_FILES:
                named += [(text_name(file), [file]) for file in files]
            else:
                named.append((text_name(source) if len(files) == 1 else group_name(source), files))
        short = [name for name, _ in named]
        for name, files in named:
            clear = name if short.count(name) == 1 and name not in self.parts else _apart(files)
            self.parts[free_name(clear, self.parts)] = files

    def _add_language(self, name: str, source: str) -> None:
        """Add "de=corpus/german.txt"; several sources of one language are one domain."""
        if Path(source).is_dir() and WordCounts.is_saved(source):
            self.parts[free_name(name, self.parts)] = WordCounts.load(source)
            return
        known = self.parts.setdefault(name, [])
        if not isinstance(known, list):
            raise UsageError(f"{name} is saved word counts; its other sources must have another name than {name}=")
        known += find_sources(source)

    @property
    def names(self) -> list[str]:
        return list(self.parts)

    def counts(self, name: str, tok: Tokenizer, progress: Progress | None = None) -> WordCounts:
        """The word counts of one domain, split as `tok` splits. Text is counted again only for another way of splitting.

        Pretokens that superwords may join are counted together, as one.
        """
        return self._counts(name, tok, progress)[0]

    def together(self, tok: Tokenizer, progress: Progress | None = None) -> WordCounts:
        """The word counts of all domains, split as `tok` splits, each pretoken apart."""
        return WordCounts.merge([self._counts(name, tok, progress, apart=True)[0] for name in self.names])

    def _counts(
        self, name: str, tok: Tokenizer, progress: Progress | None, apart: bool = False
    ) -> tuple[WordCounts, Counter[int]]:
        """The word counts of one domain, and how often it contains each added token that is not special."""
        part = self.parts[name]
        joins = None if apart else tok.vocabulary.joined_bytes()
        if isinstance(part, WordCounts):
            require_same_split(tok, part)
            if joins is not None:
                raise UsageError(
                    f"{name} holds word counts, which do not tell where the superwords of {tok.name} are; give the text"
                )
            return part, Counter()
        vocabulary = tok.vocabulary
        searched = tuple(token for token in vocabulary.added_tokens if not token.special)
        changes = (vocabulary.normalizers, vocabulary.add_prefix_space, vocabulary.space_mark, tok.core.cutter)
        key = (name, vocabulary.split_patterns, joins, *changes, searched)
        if key not in self._counted:
            if any(changes) or searched:
                self._counted[key] = self._count_sections(part, tok, joins, progress)
            else:
                self._counted[key] = self._count(part, vocabulary.split_patterns, progress, joins), Counter()
        return self._counted[key]

    def usages(self, tok: Tokenizer, progress: Progress | None = None, words: bool = True) -> dict[str, Usage]:
        """The usage of `tok` on each domain; `words`: with the number of words, which takes another pass over the text."""
        usages = {}
        for name in self.names:
            counts, added = self._counts(name, tok, progress)
            number = self.words(name, progress) if words else None
            usages[name] = measure_usage(tok, counts, number, progress, added)
        return usages

    def added(self, tok: Tokenizer) -> np.ndarray:
        """uint64, by id: how often the text contains each added token that is not special."""
        by_id = np.zeros(ids_of(tok), np.uint64)
        for name in self.names:
            for id, times in self._counts(name, tok, None)[1].items():
                by_id[id] += np.uint64(times)
        return by_id

    def words(self, name: str, progress: Progress | None = None) -> int | None:
        """The number of words of a domain: runs of non-white-space. None for word counts and pipes."""
        self._survey()
        return self._words.get(name)

    def sample(self) -> Sample:
        """An even sample of the documents; without units for word counts, which have none."""
        self._survey()
        assert self._sample is not None
        return self._sample

    def density(self, tok: Tokenizer) -> float | None:
        """Bytes per token on the sample."""
        return self.sample().density(tok)

    def _survey(self) -> None:
        with self._surveying:
            if self._sample is not None:
                return
            sample = Sample()
            for name, part in self.parts.items():
                if isinstance(part, Texts):
                    self._words[name] = sum(len(text.split()) for text in part)
                elif not isinstance(part, WordCounts) and all(map(can_read_again, part)):
                    self._words[name] = survey(part, self.read, sample)
            self._sample = sample

    def _splitter(self, patterns: tuple[str, ...], joins: bytes | None) -> Splitter:
        return Splitter(*patterns, special_tokens=self.special_tokens, joins=joins)

    def _count(
        self,
        part: list[Path | str] | Texts,
        patterns: tuple[str, ...],
        progress: Progress | None,
        joins: bytes | None = None,
    ) -> WordCounts:
        from ..counting import CountOptions, count, count_iterator

        if isinstance(part, Texts):
            return count_iterator(part, self._splitter(patterns, joins), num_threads=1)
        options = CountOptions(read=self.read)
        return count(part, self._splitter(patterns, joins), options, num_threads=self.num_threads, progress=progress)

    def _count_sections(
        self, part: list[Path | str] | Texts, tok: Tokenizer, joins: bytes | None, progress: Progress | None
    ) -> tuple[WordCounts, Counter[int]]:
        """Count text that is normalised or searched for added tokens before it is split, one whole document at a time.

        The parts between which no token spans are counted where a text is one pretoken.
        """
        from ..counting import count_iterator

        cutter = tok.core.cutter
        added: Counter[int] = Counter()

        def sections() -> Iterator[bytes]:
            texts = part if isinstance(part, Texts) else (d.text for d in read_documents(part, **asdict(self.read)))
            for text in texts:
                for section, token, prefix in tok.core.sections(text, frozenset()):
                    if token is not None:
                        added[token.id] += 1
                    elif cutter is None:
                        yield prefix + section.encode()
                    else:
                        yield from cutter.parts(prefix + section.encode())

        splitter, threads = self._splitter(tok.vocabulary.split_patterns, joins), self.num_threads
        return count_iterator(sections(), split=splitter, num_threads=threads, progress=progress), added


def _apart(files: list[Path | str]) -> str:
    """A name that distinguishes these files: their path, or their common folder."""
    return printable(os.path.commonpath(files) if len(files) > 1 else files[0])
