"""Check whether two tokenizers give the same ids: by proof from their tables where possible, otherwise by trial.

A difference is reported with the shortest text found that shows it. Agreement is proved if both vocabularies reduce to the
same ranks, patterns and added tokens; otherwise it only means that no difference was found on the texts tried.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ..errors import ConversionError, UsageError
from ..formats.rank_merges import ranks_of
from ..jobs.progress import Progress
from ..sources.blocks import ReadOptions
from ..sources.documents import read_documents
from ..vocabulary import Vocabulary
from .check_texts import EDGE_CASES, distinguishing_texts, fuzzed_bytes, fuzzed_texts

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

Encode = Callable[[str], list[int]]
_Mode = tuple[bool, Callable, Callable]  # special tokens are allowed, the two ways to encode

_PART = 1 << 16  # characters
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

    proof: why the two give the same ids on every text, or None if their tables do not tell.
    difference: the difference found, or None if they agree on all texts tried.
    texts, bytes, tokens: how much was tried, sources and fuzzed texts together.
    """

    proof: str | None
    difference: Difference | None
    texts: int
    bytes: int
    tokens: int


def proof(vocabulary: Vocabulary, other: Vocabulary) -> str | None:
    """Why two vocabularies give the same ids on every text, or None if their tables do not tell."""
    if vocabulary.fingerprint() == other.fingerprint():
        return "the vocabularies are the same: tokens, order, patterns and added tokens"
    around = ("split_patterns", "alphabet", "unknown", "normalizers", "add_prefix_space")
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


def check(
    tokenizer: Tokenizer,
    other: Tokenizer,
    texts: Iterable[tuple[str, str]] = (),
    *,
    fuzz: int = 5000,
    seed: int = 0,
    library: Encode | None = None,
    progress: Progress | None = None,
) -> Agreement:
    """Look for a text on which two tokenizers give different ids.

    texts: the caller's own texts, as (source, text).
    fuzz: how many texts to generate besides the built-in sample. The same seed generates the same texts.
    library: encodes in place of `other`, from whose file another library has read it; allows all special tokens.

    >>> check(load("cl100k_base"), load("cl100k-as-huggingface/")).difference is None
    True
    """
    if fuzz < 0:
        raise UsageError(f"fuzz is {fuzz}; give the number of texts to generate, 0 or more")
    trial = _Trial(tokenizer, other, library)
    proved = None if library else proof(tokenizer.vocabulary, other.vocabulary)
    both = (tokenizer.vocabulary, other.vocabulary)
    stages: list[tuple[str, Iterable[tuple[str, str | bytes]], int | None]] = [
        ("text", texts, None),
        ("sample", (("sample", text) for text in EDGE_CASES), len(EDGE_CASES)),
        ("tokens", (("a token that only one of them has", text) for text in distinguishing_texts(*both)), None),
        ("fuzz", (("fuzz", text) for text in fuzzed_texts(both, fuzz, seed)), fuzz),
    ]
    if library is None:
        stages.append(("bytes", (("fuzzed bytes", data) for data in fuzzed_bytes(both, fuzz // 4, seed)), fuzz // 4))
    found = (trial.run(*stage, progress) for stage in stages)
    difference = next((difference for difference in found if difference is not None), None)
    return Agreement(proved, difference, trial.texts, trial.bytes, trial.tokens)


def document_texts(sources: Iterable[str | os.PathLike], read: ReadOptions | None = None) -> Iterator[tuple[str, str]]:
    """The text of sources in parts of about 64 kB, each with the place where it begins.

    A file that is one document is cut between lines, so that a difference in it can be made short.
    """
    read = read or ReadOptions()
    if read.unit == "file":
        read = replace(read, unit="line")
    where, size = "", 0
    lines: list[str] = []
    for document in read_documents(sources, **asdict(read)) if sources else ():
        if lines and (size > _PART or not where.startswith(f"{document.source}:")):
            yield where, "\n".join(lines)
            lines, size = [], 0
        if not lines:
            where = f"{document.source}:{document.id}"
        lines.append(document.text)
        size += len(document.text)
    if lines:
        yield where, "\n".join(lines)


class _Trial:
    """Encodes texts on both sides and counts what was encoded."""

    def __init__(self, tokenizer: Tokenizer, other: Tokenizer, library: Encode | None):
        self.tokenizer = tokenizer
        self.texts = self.bytes = self.tokens = 0
        self.of_bytes: list[_Mode] = [(True, tokenizer.encode_bytes, other.encode_bytes)]
        self.of_text: list[_Mode] = [(True, _with_specials(tokenizer), library or _with_specials(other))]
        if library is None and (tokenizer.special_tokens_set or other.special_tokens_set):
            self.of_text.append((False, tokenizer.encode_ordinary, other.encode_ordinary))

    def run(
        self, stage: str, texts: Iterable[tuple[str, str | bytes]], total: int | None, progress: Progress | None
    ) -> Difference | None:
        for done, (source, text) in enumerate(texts):
            if progress is not None and done % 64 == 0:
                progress(stage, done, total)
            for specials, encode, encode_other in self.of_text if isinstance(text, str) else self.of_bytes:
                ids, other_ids = _try(encode, text), _try(encode_other, text)
                if ids != other_ids:
                    short = _shorten(text, lambda part: _try(encode, part) != _try(encode_other, part))  # noqa: B023
                    ids, other_ids = _try(encode, short), _try(encode_other, short)
                    return Difference(source, short, ids, other_ids, self.offset(ids, other_ids), specials)
            self.texts += 1
            self.bytes += len(text.encode("utf-8", "replace") if isinstance(text, str) else text)
            self.tokens += len(ids or ())
        return None

    def offset(self, ids: list[int] | None, other_ids: list[int] | None) -> int:
        """The byte at which the first different tokens begin."""
        both = zip(ids or (), other_ids or (), strict=False)
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], both)
        return sum(len(self.tokenizer.decode_single_token_bytes(id)) for id, _ in same)


def _with_specials(tokenizer: Tokenizer) -> Encode:
    return lambda text: tokenizer.encode(text, allowed_special="all")


def _try(encode: Callable, text) -> list[int] | None:
    """The ids, or None where the tokenizer raises that it has no token for a byte or a character."""
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
