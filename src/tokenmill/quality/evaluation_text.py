"""The text that tokenizers are judged on: named domains, counted once for each way of splitting."""

from __future__ import annotations

import os
import re
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
from ..sources.find import find_sources
from ..split import Splitter
from ..tokenizer import Tokenizer
from ..tokenizer.export_loss import require_same_split
from .names import free_name, group_name, text_name
from .usage import Usage, measure_usage

Sources = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
# What `inspect`, `compare`, `prune` and `extend` take.
Text = Sources | WordCounts | Mapping[str, Sources | WordCounts]
MOST_FILES = 32  # of a single folder or glob, to be separate domains
WORD = r"\S+"  # a word, for fertility: a run of anything but white space
# The first bytes of white space in UTF-8 (Unicode's White_Space), to tell gaps from words.
SPACE = re.compile(rb"[\t-\r ]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80")


class EvaluationText:
    """Named domains, each a set of sources or word counts.

    read: how text files are cut into documents, and which field or column holds the text.
    text: sources, word counts, or a mapping of names to either. Each source is a domain; a single folder or glob of up to
        32 files gives one domain per file.
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
        self.parts: dict[str, list[Path | str] | WordCounts] = {}
        if isinstance(text, WordCounts):
            self.parts["word counts"] = text
        elif isinstance(text, Mapping):
            for name, part in text.items():
                self.parts[name] = part if isinstance(part, WordCounts) else find_sources(part)
        else:
            self._add_sources([text] if isinstance(text, (str, os.PathLike)) else list(text))
        if not self.parts:
            raise UsageError("there is no text to judge on: give at least one source")
        self._counted: dict[tuple, tuple[WordCounts, Counter[int]]] = {}
        self._words: dict[str, int | None] = {}

    def _add_sources(self, sources: list[str | os.PathLike[str]]) -> None:
        named: list[tuple[str, list[Path | str]]] = []
        for source in sources:
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

    def words(self, name: str, progress: Progress | None = None) -> int | None:
        """The number of words of a domain: runs of non-white-space. None for word counts."""
        part = self.parts[name]
        if isinstance(part, WordCounts):
            return None
        if name not in self._words:
            counts = self._count(part, (WORD,), progress)  # of words, and of the gaps between them
            self._words[name] = int(counts.counts.sum()) - _gaps(counts)
        return self._words[name]

    def _splitter(self, patterns: tuple[str, ...], joins: bytes | None) -> Splitter:
        return Splitter(*patterns, special_tokens=self.special_tokens, joins=joins)

    def _count(
        self, files: list[Path | str], patterns: tuple[str, ...], progress: Progress | None, joins: bytes | None = None
    ) -> WordCounts:
        from ..counting import CountOptions, count

        options = CountOptions(read=self.read)
        return count(files, self._splitter(patterns, joins), options, num_threads=self.num_threads, progress=progress)

    def _count_sections(
        self, files: list[Path | str], tok: Tokenizer, joins: bytes | None, progress: Progress | None
    ) -> tuple[WordCounts, Counter[int]]:
        """Count text that is normalised or searched for added tokens before it is split, one whole document at a time.

        The parts between which no token spans are counted where a text is one pretoken.
        """
        from ..counting import count_iterator

        cutter = tok.core.cutter
        added: Counter[int] = Counter()

        def sections() -> Iterator[bytes]:
            for document in read_documents(files, **asdict(self.read)):
                for section, token, prefix in tok.core.sections(document.text, frozenset()):
                    if token is not None:
                        added[token.id] += 1
                    elif cutter is None:
                        yield prefix + section.encode()
                    else:
                        yield from cutter.parts(prefix + section.encode())

        splitter, threads = self._splitter(tok.vocabulary.split_patterns, joins), self.num_threads
        return count_iterator(sections(), split=splitter, num_threads=threads, progress=progress), added


def _gaps(counts: WordCounts) -> int:
    """How often the pretokens of `counts` that begin with white space occur."""
    starts = counts.offsets[:-1][np.diff(counts.offsets) > 0]
    times, first = counts.counts[np.diff(counts.offsets) > 0], counts.arena[starts]
    gap = (first == 0x20) | ((first >= 0x09) & (first <= 0x0D))
    for i in np.flatnonzero(np.isin(first, (0xC2, 0xE1, 0xE2, 0xE3))).tolist():
        gap[i] = SPACE.match(counts.arena[starts[i] : starts[i] + np.uint64(3)].tobytes()) is not None
    return int(times[gap].sum())


def _apart(files: list[Path | str]) -> str:
    """A name that distinguishes these files: their path, or their common folder."""
    return printable(os.path.commonpath(files) if len(files) > 1 else files[0])
