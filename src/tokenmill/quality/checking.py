"""Check whether two tokenizers give the same ids: by proof from their tables where possible, otherwise by trial.

A difference is reported with the shortest text found that shows it. Agreement is proved if both vocabularies reduce to the
same ranks, patterns and added tokens; otherwise it only means that no difference was found on the texts tried.
"""

from __future__ import annotations

import itertools
import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import TYPE_CHECKING

from ..errors import ConversionError, UsageError, suggests_options
from ..formats.rank_merges import ranks_of
from ..jobs.progress import Progress, drawn
from ..sources.blocks import Block, ReadOptions
from ..sources.documents import open_source, read_documents
from ..sources.find import Source, find_sources, report_skips
from ..sources.text import FileSource
from ..tokenizer.batches import map_batch
from ..tokenizer.encoding._finder_cy import Finder
from ..tokenizer.tokenizer import expect_tokenizers
from ..vocabulary import Vocabulary
from .check_texts import EDGE_CASES, distinguishing_texts, fuzzed_bytes, fuzzed_texts, texts_of_tokens

if TYPE_CHECKING:
    from ..formats.libraries import LibraryEncoder
    from ..tokenizer import Tokenizer

Encode = Callable[[str], list[int]]
_Mode = tuple[bool, Callable, Callable]  # special tokens are allowed, the two ways to encode

_PART = 1 << 16  # characters
_TOGETHER = 64  # texts that several threads encode at a time
_MAX_TRIES = 400  # encodings spent on making a difference shorter


@dataclass(frozen=True)
class Difference:
    """A text on which two tokenizers differ.

    source: where the text is from: "fuzz", "sample", or the caller's name for it.
    text: the shortest part of it found that shows the difference; bytes if it is not UTF-8.
    ids, other_ids: the ids of `text` from the two tokenizers; None for one that refuses the text.
    offset: the byte of `text` at which the first different tokens begin.
    specials: whether special tokens were allowed.
    """

    source: str
    text: str | bytes
    ids: list[int] | None
    other_ids: list[int] | None
    offset: int
    specials: bool = True


@dataclass(frozen=True)
class Agreement:
    """The result of a check.

    proof: why the two return the same ids on every text, or None if their tables do not prove it. Then a difference on rare texts
        may remain, even if none was found.
    difference: the difference found, or None if they agree on all texts tried.
    texts, bytes, tokens: how much was tried, sources and fuzzed texts together.
    refused: texts with a byte for which the tokenizer has no token. It refuses them, and a library leaves the byte out.
    """

    proof: str | None
    difference: Difference | None
    texts: int
    bytes: int
    tokens: int
    refused: int = 0


def proof(vocabulary: Vocabulary, other: Vocabulary) -> str | None:
    """Why two vocabularies give the same ids on every text, or None if their tables do not tell."""
    if vocabulary.fingerprint() == other.fingerprint():
        return "the vocabularies are the same: tokens, order, patterns and added tokens"
    around = ("split_patterns", "alphabet", "unknown", "normalizers", "add_prefix_space", "library")
    if any(getattr(vocabulary, name) != getattr(other, name) for name in around):
        return None
    if {*vocabulary.added_tokens} != {*other.added_tokens} or vocabulary.alphabet != "bytes":
        return None
    try:
        ranks, other_ranks = ({*enumerate(ranks_of(v, "this")[0])} for v in (vocabulary, other))
    except ConversionError:  # an order of merges or events that no ranks give
        return None
    holes = {(id, None) for id in range(max(len(vocabulary.tokens), len(other.tokens)))}
    if ranks - holes == other_ranks - holes:
        return "both reduce to the same tokens merged in the same order, with the same patterns and added tokens"
    return None


@suggests_options
def check(
    tokenizer: Tokenizer,
    other: Tokenizer,
    *,
    texts: Iterable[str | tuple[str, str]] = (),
    fuzz: int = 5000,
    seed: int = 0,
    library: LibraryEncoder | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Agreement:
    """Search for a text on which two tokenizers return different ids.

    texts: the caller's own texts, or pairs of a source and its text.
    fuzz: how many texts to generate in addition to the built-in sample. The same seed generates the same texts.
    library: encodes in place of `other`, from whose file another library has read it.
    num_threads: the threads that encode `texts` (None: all cores). The texts generated are so short that one thread is faster.

    >>> check(load("cl100k_base"), load("cl100k-as-huggingface/")).difference is None
    True
    """
    expect_tokenizers(tokenizer, other)
    if not isinstance(fuzz, Integral) or fuzz < 0:
        raise UsageError(f"fuzz is {fuzz!r}; give the number of texts to generate, 0 or more")
    if isinstance(texts, str):
        raise UsageError("texts is one string; give a list of texts, such as [text]")
    trial = _Trial(tokenizer, other, library, num_threads)
    proved = None if library else proof(tokenizer.vocabulary, other.vocabulary)
    both = (tokenizer.vocabulary, other.vocabulary)
    stages: list[tuple[str, Iterable[tuple[str, str | bytes]], int | None]] = [
        ("text", (("text", text) if isinstance(text, str) else text for text in texts), None),
        ("sample", (("sample", text) for text in EDGE_CASES), len(EDGE_CASES)),
        ("tokens", (("a token that only one of them has", text) for text in distinguishing_texts(*both)), None),
        ("own tokens", (("the tokens of the vocabularies", text) for text in texts_of_tokens(both, seed)), None),
        ("fuzz", (("fuzz", text) for text in fuzzed_texts(both, fuzz, seed)), fuzz),
    ]
    if library is None:
        stages.append(("bytes", (("fuzzed bytes", data) for data in fuzzed_bytes(both, fuzz // 4, seed)), fuzz // 4))
    with drawn(progress) as show:
        found = (trial.run(*stage, show) for stage in stages)
        difference = next((difference for difference in found if difference is not None), None)
    return Agreement(proved, difference, trial.texts, trial.bytes, trial.tokens, trial.refused)


def document_texts(sources: Iterable[str | os.PathLike], read: ReadOptions | None = None) -> Iterator[tuple[str, str]]:
    """The text of sources in parts of about 64 kB, each with the place where it begins.

    A file that is one document is cut between lines, so that a difference in it can be made short.
    """
    read = read or ReadOptions()
    for source in find_sources(sources) if sources else ():
        opened = open_source(source, read, cut=lambda buffer, start, length: buffer.rfind(b"\n", start, length) + 1)
        with closing(opened):
            yield from (
                _parts_of_file(opened, read) if isinstance(opened, FileSource) else _parts_of_documents(source, read)
            )


def _parts_of_file(opened: FileSource, read: ReadOptions) -> Iterator[tuple[str, str]]:
    block, line = Block(), 1
    while opened.draw(block):
        block.finish()
        report_skips(block.skips, read.skipper(None))
        text, start = str(memoryview(block.data)[: block.nbytes], "utf-8"), 0
        while start < len(text):
            end = text.find("\n", start + _PART) + 1 or len(text)
            yield f"{block.source}:{line}", text[start:end]
            line += text.count("\n", start, end)
            start = end


def _parts_of_documents(source: Source, read: ReadOptions) -> Iterator[tuple[str, str]]:
    where, size, texts = "", 0, []
    for document in read_documents(source, **asdict(read)):
        where = where or f"{document.source}:{document.id}"
        texts.append(document.text)
        size += len(document.text)
        if size > _PART:
            yield where, "\n".join(texts)
            where, size, texts = "", 0, []
    if texts:
        yield where, "\n".join(texts)


class _Trial:
    """Encodes texts on both sides and counts what was encoded."""

    def __init__(self, tokenizer: Tokenizer, other: Tokenizer, library: LibraryEncoder | None, num_threads: int | None):
        self.tokenizer, self.other, self.num_threads = tokenizer, other, num_threads
        self.texts = self.bytes = self.tokens = self.refused = 0
        self.library = library
        self.of_bytes: list[_Mode] = [(True, tokenizer.encode_bytes, other.encode_bytes)]
        self.of_text: list[_Mode] = [(True, _with_specials(tokenizer), _with_specials(other))]
        if library is not None:
            own = _with_specials(tokenizer) if library.specials else tokenizer.encode_ordinary
            self.of_text = [(library.specials, own, library.encode)]
        if library is None and (tokenizer.special_tokens_set or other.special_tokens_set):
            self.of_text.append((False, tokenizer.encode_ordinary, other.encode_ordinary))
        allowed = ("all", frozenset[str]())[: len(self.of_text)]
        cores = (tokenizer._core, other._core)
        # What the kernels of both sides do for each of `of_text`; none where one side is a library.
        self.plans = [] if library else [(cores[0].plan(a, ()), cores[1].plan(a, ())) for a in allowed]
        # Finds the control tokens of both sides: text without them has the same ids whether they are allowed or not.
        # None where they are searched for in normalized text.
        controls = {content.encode(): 0 for core in cores for content in core.added.special}
        direct = all(core.scanner and core.added.simple for core in cores)
        self.controls = Finder(controls) if controls and direct else None

    def run(
        self, stage: str, texts: Iterable[tuple[str, str | bytes]], total: int | None, progress: Progress | None
    ) -> Difference | None:
        texts, done = iter(texts), 0
        while some := list(itertools.islice(texts, _TOGETHER)):
            threads = self.num_threads if stage == "text" else 1  # starting threads takes longer than a generated text
            agreed = map_batch(self.size_if_same, [text for _, text in some], threads)
            for (source, text), same in zip(some, agreed, strict=True):
                tried = self.try_one(source, text) if same is None else same
                if isinstance(tried, Difference):
                    return tried
                self.texts += 1
                self.bytes += tried[0]
                self.tokens += tried[1]
            done += len(some)
            if progress is not None:
                progress(stage, done, total)
        return None

    def size_if_same(self, text: str | bytes) -> tuple[int, int] | None:
        """The bytes and tokens where the kernels of both sides give the same ids; None if they do not, or cannot tell."""
        if not self.plans or not isinstance(text, str):
            return None
        try:
            data = text.encode()
            ends = array("Q", [len(data)])
            modes = 1 if self.controls is not None and self.controls.find(data) is None else len(self.plans)
            for plan, other_plan in self.plans[:modes]:
                ids = self.tokenizer._core.encode_documents(data, ends, plan)[0]
                if ids != self.other._core.encode_documents(data, ends, other_plan)[0]:
                    return None
        except (UnicodeEncodeError, UsageError):
            return None
        return len(data), len(ids) // 4

    def try_one(self, source: str, text: str | bytes) -> Difference | tuple[int, int]:
        """The shortest difference found on a text, or its bytes and tokens."""
        ids: list[int] | None = None
        for specials, encode, encode_other in self.of_text if isinstance(text, str) else self.of_bytes:
            ids, other_ids = _try(encode, text), _try(encode_other, text)
            if self.library is not None and ids is None and other_ids is not None and not self.holds(other_ids, text):
                self.refused += 1
            elif ids != other_ids:
                short = _shorten(text, lambda part: _try(encode, part) != _try(encode_other, part))  # noqa: B023
                ids, other_ids = _try(encode, short), _try(encode_other, short)
                return Difference(source, short, ids, other_ids, self.offset(ids, other_ids), specials)
        return len(text.encode("utf-8", "replace") if isinstance(text, str) else text), len(ids or ())

    def holds(self, ids: list[int], text: str | bytes) -> bool:
        """Whether ids decode to the text that they are of."""
        return self.tokenizer.decode(ids) == text

    def offset(self, ids: list[int] | None, other_ids: list[int] | None) -> int:
        """The byte at which the first different tokens begin."""
        both = zip(ids or (), other_ids or (), strict=False)
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], both)
        return sum(len(self.tokenizer.decode_single_token_bytes(id)) for id, _ in same)


def _with_specials(tokenizer: Tokenizer) -> Encode:
    return lambda text: tokenizer.encode(text, allowed_special="all")


def _try(encode: Callable, text) -> list[int] | None:
    """The ids, or None if the tokenizer raises that it has no token for a byte or a character."""
    try:
        return encode(text)
    except UsageError:
        return None


def _shorten(text, differs: Callable[..., bool]):
    """A short text on which the two still differ: ever smaller parts are cut out of `text` while they do."""
    tries = 0
    size = len(text) // 2
    while size > 0:
        start = 0
        while start < len(text):
            shorter = text[:start] + text[start + size :]
            tries += 1
            if tries > _MAX_TRIES:
                return text
            if shorter and differs(shorter):
                text = shorter
            else:
                start += size
        size //= 2
    return text
