"""Check whether two tokenizers return the same ids: by proof from their tables where possible, otherwise by trial.

A difference is reported with the shortest text found that shows it. Agreement is proved if both vocabularies reduce to the
same ranks, patterns and added tokens. Otherwise it means only that no tried text shows a difference.
"""

from __future__ import annotations

import io
import itertools
import os
import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConversionError, UsageError, checked_texts, suggests_options
from ..formats.rank_merges import ranks_of
from ..jobs.progress import Progress, drawn
from ..kernels.machine import threads_for
from ..options import refuse_given
from ..sources.blocks import ReadOptions
from ..sources.documents import refuse_text
from ..sources.find import OnSkip, Source, find_sources, report_skips
from ..vocabulary import Vocabulary
from .evaluation_text import text_blocks
from .replay import events_of

if TYPE_CHECKING:
    from ..formats.libraries import LibraryEncoder
    from ..tokenizer import Tokenizer

_Texts = Iterable[tuple[str, str | bytes]]  # sources and texts
_Encode = Callable[[Any], list[int] | None]  # None for a text with a byte or a character that has no token
_Merge = tuple[bytes, bytes]
_Mode = tuple[bool, _Encode, _Encode]  # whether special tokens are allowed, the encoders of both tokenizers

_TEXT_SIZE = 1 << 16  # characters
_BATCH = 64  # texts that several threads encode at a time
_LINE = 32  # tokens in a text of tokens
_MAX_DIFFERING = 4000  # tokens of one vocabulary only that are tried
_MAX_OVERLAPS = 1_000_000  # pairs of merges that are compared
_MAX_TRIES = 400  # encodings to shorten a difference

# Most differences are at the edges: runs of white space, digits in threes, contractions in capitals, characters that
# normalization changes, bytes that are not UTF-8, overlapping special tokens. The generated texts are made of these too.
EDGE_CASES = (
    "", " ", "  ", "\n", "\r\n", "\t\t\t", " \n \r\n\t \n", "a", " a", "a ", "  a", "\na", "a\n\n\nb", "a  \n  b",
    "x\u00a0y", "Hello, world!", "The quick brown fox jumps over the lazy dog.", "naïve façade, Ærøskøbing, Þórr",
    "don't DON'T don’t I'LL we'Ve 'tis 'so 'the 'ready 'very 'most 'llo 'does", "it'ſ K'S ſ'ſ",
    "0 12 345 6789 01234567890", "3.14159 1,000,000 ½ ² Ⅷ ٣ ४५६", "x=y+1; if(a!=b){return!c}", "def f(x):\n    return x ** 2\n",
    "\tfor (int i = 0; i < n; ++i)\r\n\t\tsum += a[i];\r\n", "https://example.org/a_b?c=d&e=%20#f",
    "foo_bar fooBar FooBAR FOO-bar", "....... !!! ??? --- ___ ***", "“quoted” ‘single’ «guillemets»", "漢字とひらがなとカタカナ",
    "한국어 문장입니다.", "Русский текст, українська мова", "Ελληνικά κείμενα", "שלום עולם", "مرحبا بالعالم", "हिन्दी भाषा",
    "ภาษาไทยไม่มีช่องว่าง", "tiếng Việt có dấu", "e\u0301 n\u0303 \u212b \ufb01 \u1e9b\u0323",
    "\uac00\u1100\u1161\u11a8", "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽", "\U0001f600\U0001f600\U0001f600", "a\u200bb\u200dc\ufeffd",
    "\x00\x01\x1b[0m\x7f", "\u0085\u2028\u2029\u3000\u180e\u1680", "\ue000\U000f0000\U0010ffff", "𝕬𝖇𝖈 𝟙𝟚𝟛",
    "ǅ ᾼ ʰ ª ー 々", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", " " * 300, "\n" * 40,
    "ab" * 60, "<|endoftext|>", "a<|endoftext|>b <|endoftext|> <|endoftext", "<|endoftext|><|endoftext|>",
    "<|im_start|>user\nhi<|im_end|>", "[MASK] <s> </s> <pad> <unk>", "2024-01-31T23:59:59Z", "user@example.com",
    "C:\\path\\to\\file.txt", "SELECT * FROM t WHERE a='b''c';", "<div class=\"x\">&nbsp;</div>",
    "{\"a\": [1, 2.5e-3, null]}",
)  # fmt: skip

_FRAGMENTS = (
    " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "a", "s", "t", "ll", "RE", "'", "'s", "’", "\u017f",
    "0", "7", "123", "\u00bd", "\u0663", ".", ",", "!", "/", "_", "-", "(", ")", "\"", "#", "é", "e\u0301", "\u0301",
    "ß", "İ", "ﬁ", "漢", "字", "ア", "한", "я", "Ж", "ω", "ש", "م", "ह", "ไ", "👍", "🏽", "\u200d", "\ufe0f", "\U0001f1e9",
    "\x00", "\x7f", "\ufffd", "ǅ", "ʰ", "ª", "\u0e33", "\U00010400", "\u0378",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """A text on which two tokenizers differ.

    source: the origin of the text: "fuzz", "sample", or the caller's name for it.
    text: the shortest excerpt found that shows the difference; bytes if it is not UTF-8.
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

    proof: the reason why the two return the same ids on every text, or None if their tables do not prove it. Then rare texts
        may differ, even if no difference was found.
    difference: None if they agree on all tried texts.
    texts, bytes, tokens: the size of the tried texts, sources and fuzzed texts together.
    refused: texts with a byte for which the tokenizer has no token. It refuses them, and a library drops the byte.
    """

    proof: str | None
    difference: Difference | None
    texts: int
    bytes: int
    tokens: int
    refused: int = 0


def proof(vocabulary: Vocabulary, other: Vocabulary) -> str | None:
    """Return the reason why two vocabularies give the same ids on every text, or None if their tables do not prove it."""
    if vocabulary.fingerprint() == other.fingerprint():
        return "the vocabularies are the same: tokens, order, patterns and added tokens"
    attributes = ("split_patterns", "alphabet", "unknown", "normalization", "dropped", "byte_patterns", "library")
    if any(getattr(vocabulary, name) != getattr(other, name) for name in attributes):
        return None
    if {*vocabulary.added_tokens} != {*other.added_tokens} or vocabulary.alphabet != "bytes":
        return None
    try:
        ranks, other_ranks = ({*enumerate(ranks_of(v, "this")[0])} for v in (vocabulary, other))
    except ConversionError:  # an order of merges or events that ranks cannot express
        return None
    unused = {(id, None) for id in range(max(len(vocabulary.tokens), len(other.tokens)))}
    if ranks - unused == other_ranks - unused:
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
    fuzz: the number of texts to generate in addition to the built-in sample. The same seed generates the same texts.
    library: another library with the file of `other`, which encodes in place of `other`.
    num_threads: the threads that encode `texts` (None: all cores). Generated texts are so short that one thread is faster.

    >>> check(load("cl100k_base"), load("cl100k-as-huggingface/")).difference is None
    True
    """
    if fuzz < 0:
        raise UsageError(f"fuzz is {fuzz!r}; give the number of texts to generate, 0 or more")
    if library is not None:
        from ..formats.libraries import LibraryEncoder

        if not isinstance(library, LibraryEncoder):
            raise UsageError(f"library is {library!r}; give what formats.encode_with_library returns, or None")
    trial, seed = _Trial(tokenizer, other, library, threads_for(num_threads)), index(seed)
    both = (tokenizer.vocabulary, other.vocabulary)
    reason = proof(*both)
    stages: list[tuple[str, _Texts, int | None]] = [
        ("text", (("text", text) if isinstance(text, str) else text for text in checked_texts(texts)), None),
        ("sample", (("sample", text) for text in EDGE_CASES), len(EDGE_CASES)),
        ("tokens", (("a token that only one of them has", text) for text in distinguishing_texts(*both)), None),
        ("merges", (("merges in another order", text) for text in (() if reason else reordered_texts(*both))), None),
        ("own tokens", (("the tokens of the vocabularies", text) for text in joined_tokens(both, seed)), None),
        ("fuzz", (("fuzz", text) for text in fuzzed_texts(both, fuzz, seed)), fuzz),
    ]
    if library is None:
        stages.append(("bytes", (("fuzzed bytes", data) for data in fuzzed_bytes(both, fuzz // 4, seed)), fuzz // 4))
    with drawn(progress) as show:
        difference = next(filter(None, (trial.run(*stage, show) for stage in stages)), None)
    return Agreement(None if library else reason, difference, trial.texts, trial.bytes, trial.tokens, trial.refused)


def document_texts(sources: Iterable[str | os.PathLike], read: ReadOptions | None = None) -> Iterator[tuple[str, str]]:
    """Return the text of sources in pieces of about 64 kB, each with the position where it begins.

    A file that is one document is cut between lines, so that a difference in it can be shortened. Raises an error at once
    for a source that does not exist.
    """
    read = read or ReadOptions()
    if not sources:
        refuse_given(read, "a command without text")
    on_skip = read.skipper(None)
    files = find_sources(sources, on_skip) if sources else []
    refuse_text(files, read)
    return _pieces(files, read, on_skip)


def _pieces(files: Sequence[Source], read: ReadOptions, on_skip: OnSkip | None) -> Iterator[tuple[str, str]]:
    line = 1
    for block in text_blocks(files, read, ids=True):
        report_skips(block.skips, on_skip)
        texts = ((block.name(i), text.decode()) for i, text in enumerate(block.texts()))
        separator = "\n"
        if block.format == "text" and read.unit == "file":
            document = "".join(text for _, text in texts)
            texts, separator = ((str(n), each) for n, each in enumerate(io.StringIO(document), line)), ""
            line = line + document.count("\n") if block.goes_on else 1
        position, size, piece = "", 0, []
        for name, text in texts:
            position = position or f"{block.source}:{name}"
            piece.append(text)
            size += len(text)
            if size > _TEXT_SIZE:
                yield position, separator.join(piece)
                position, size, piece = "", 0, []
        if size:
            yield position, separator.join(piece)


class _Trial:
    """Encodes texts with both tokenizers, and counts the texts and tokens."""

    def __init__(self, tokenizer: Tokenizer, other: Tokenizer, library: LibraryEncoder | None, num_threads: int | None):
        self.tokenizer, self.other, self.num_threads = tokenizer, other, num_threads
        self.texts = self.bytes = self.tokens = self.refused = 0
        self.library = library
        specials = [token.id for tok in (tokenizer, other) for token in tok.vocabulary.added_tokens if token.special]
        self.is_special = np.zeros(max(tokenizer.n_vocab, other.n_vocab), bool)
        self.is_special[specials] = True
        allowed = (True, False)[: 1 + bool(specials)] if library is None else (library.specials,)
        self.modes: list[_Mode] = []
        for each in allowed:
            encode_other = _encoder(other, each) if library is None else library.encode
            self.modes.append((each, _encoder(tokenizer, each), encode_other))

    def run(self, stage: str, texts: _Texts, total: int | None, progress: Progress | None) -> Difference | None:
        texts, done = iter(texts), 0
        threads = self.num_threads if stage == "text" else 1  # starting threads takes longer than a generated text
        while batch := list(itertools.islice(texts, _BATCH)):
            batch_tokens = self.tokens_if_same([text for _, text in batch], threads)
            for source, text in batch:
                result = 0 if batch_tokens else self.try_one(source, text)
                if isinstance(result, Difference):
                    return result
                self.texts += 1
                self.bytes += len(text.encode("utf-8", "replace") if isinstance(text, str) else text)
                self.tokens += result
            self.tokens += batch_tokens
            done += len(batch)
            if progress is not None:
                progress(stage, done, total)
        return None

    def tokens_if_same(self, texts: list[Any], num_threads: int | None) -> int:
        """Return the number of tokens of a batch that both encode alike; 0 if they may not, so that each text must be tried."""
        tokens = 0
        if self.library is not None or not isinstance(texts[0], str):
            return 0
        for specials, *_ in self.modes:
            options: dict[str, Any] = {"allowed_special": "all" if specials else (), "disallowed_special": ()}
            try:
                ids, ends = self.tokenizer.encode_batch_to_numpy(texts, num_threads=num_threads, **options)
                other_ids, other_ends = self.other.encode_batch_to_numpy(texts, num_threads=num_threads, **options)
            except UsageError:
                return 0
            if not (np.array_equal(ids, other_ids) and np.array_equal(ends, other_ends)):
                return 0
            tokens = len(ids)
            if not self.is_special[ids].any():
                break
        return tokens

    def try_one(self, source: str, text: str | bytes) -> Difference | int:
        """Return the shortest difference found on a text, or the number of its tokens."""
        ids: list[int] | None = None
        for specials, encode, encode_other in self.modes if isinstance(text, str) else self.modes[:1]:
            ids, other_ids = encode(text), encode_other(text)
            if self.library and ids is None and other_ids is not None and self.tokenizer.decode(other_ids) != text:
                self.refused += 1
            elif ids != other_ids:
                short = _shorten(text, lambda text: encode(text) != encode_other(text))  # noqa: B023
                ids, other_ids = encode(short), encode_other(short)
                same = itertools.takewhile(
                    lambda pair: pair[0] == pair[1], zip(ids or (), other_ids or (), strict=False)
                )
                offset = sum(len(self.tokenizer.decode_single_token_bytes(id)) for id, _ in same)
                return Difference(source, short, ids, other_ids, offset, specials)
        return len(ids or ())


def _encoder(tokenizer: Tokenizer, specials: bool) -> _Encode:
    """Return a function that encodes a text or bytes. specials: whether special tokens are allowed in a text."""
    options: dict[str, Any] = {"allowed_special": "all" if specials else (), "disallowed_special": ()}

    def encode(text: str | bytes) -> list[int] | None:
        try:
            return tokenizer.encode(text, **options) if isinstance(text, str) else tokenizer.encode_bytes(text)
        except UsageError:
            return None

    return encode


def _shorten(text, differs: Callable[..., bool]):
    """Cut ever smaller pieces out of `text` while the two still differ, and return the rest."""
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


def distinguishing_texts(vocabulary: Vocabulary, other: Vocabulary) -> Iterator[str]:
    """Yield texts with what only one of the two has, or has under another id: tokens, added tokens, text that it replaces."""
    steps = {*vocabulary.normalization.normalizers} ^ {*other.normalization.normalizers}
    replaced = {text for step in steps if isinstance(step, tuple) for text in step[1:] if isinstance(text, str)}
    added = {token.content for token in {*vocabulary.added_tokens} ^ {*other.added_tokens}}
    for text in sorted(replaced | added):
        yield from (text, f"a{text}b", f" {text} {text}", text.lower(), text.upper())
    tokens, other_tokens = (
        {(id, token) for id, token in enumerate(each.tokens) if token is not None and id not in each.removed}
        for each in (vocabulary, other)
    )
    differing = sorted(tokens ^ other_tokens)
    for _, token in differing[:: max(1, len(differing) // _MAX_DIFFERING)]:
        text = token.decode("utf-8", "ignore")
        yield from (text, f"a{text} {text}")


def reordered_texts(vocabulary: Vocabulary, other: Vocabulary) -> Iterator[str]:
    """Yield texts in which two merges overlap that come in another order: "abc" for ab and bc. At most _MAX_DIFFERING."""
    ranks, other_ranks = (
        {(each.tokens[left] or b"", each.tokens[right] or b""): rank for rank, (left, right, _) in rows if right >= 0}
        for each in (vocabulary, other)
        for rows in [enumerate(events_of(each).tolist())]
    )
    common = [merge for merge in ranks if merge in other_ranks]
    moved = {*common} - _longest_ascending(common, other_ranks)
    starting: dict[bytes, list[_Merge]] = defaultdict(list)
    ending: dict[bytes, list[_Merge]] = defaultdict(list)
    for merge in common if moved else ():
        starting[merge[0]].append(merge)
        ending[merge[1]].append(merge)
    overlaps = itertools.chain.from_iterable(
        (*((merge, after) for after in starting[merge[1]]), *((before, merge) for before in ending[merge[0]]))
        for merge in sorted(moved)
    )

    def swapped(pair: tuple[_Merge, _Merge]) -> bool:
        first, second = pair
        return (ranks[first] < ranks[second]) != (other_ranks[first] < other_ranks[second])

    swaps = filter(swapped, itertools.islice(overlaps, _MAX_OVERLAPS))
    for (left, middle), (_, right) in itertools.islice(swaps, _MAX_DIFFERING):
        text = (left + middle + right).decode("utf-8", "ignore")
        yield from (text, f" {text}")


def _longest_ascending(merges: Sequence[_Merge], ranks: dict[_Merge, int]) -> set[_Merge]:
    """Return a longest subsequence of `merges` whose ranks ascend."""
    ends: list[int] = []  # the least last rank of a subsequence of each length
    before: dict[int, int] = {}
    for rank in map(ranks.__getitem__, merges):
        length = bisect_left(ends, rank)
        before[rank] = ends[length - 1] if length else -1
        ends[length : length + 1] = [rank]
    ascending, rank = set(), ends[-1] if ends else -1
    while rank >= 0:
        ascending.add(rank)
        rank = before[rank]
    return {merge for merge in merges if ranks[merge] in ascending}


def joined_tokens(vocabularies: Sequence[Vocabulary], seed: int) -> Iterator[str]:
    """Yield the tokens of the vocabularies that are text, _LINE in each text: one on each line, then without a space."""
    tokens = {token for vocabulary in vocabularies for token in vocabulary.tokens if token}
    texts = sorted(text for token in tokens if "\ufffd" not in (text := token.decode("utf-8", "replace")))
    for separator in ("\n", ""):
        for start in range(0, len(texts), _LINE):
            yield separator.join(texts[start : start + _LINE])
        random.Random(seed).shuffle(texts)


def fuzzed_texts(vocabularies: Sequence[Vocabulary], count: int, seed: int) -> Iterator[str]:
    """Generate `count` texts: tokens of the vocabularies, added tokens whole and cut, edge cases, and changed edge cases."""
    chosen = random.Random(seed)
    tokens = [[token for token in vocabulary.tokens if token] or [b"a"] for vocabulary in vocabularies]
    added = [token.content for vocabulary in vocabularies for token in vocabulary.added_tokens]

    def fragment() -> str:
        number = chosen.random()
        if number < 0.5:
            return chosen.choice(chosen.choice(tokens)).decode("utf-8", "ignore")
        if number < 0.55 and added:
            content = chosen.choice(added)
            return content if chosen.random() < 0.6 else content[: chosen.randint(1, len(content))]
        if number < 0.6:
            return chr(chosen.choice((chosen.randrange(0xD800), chosen.randrange(0xE000, 0x110000))))
        return chosen.choice(_FRAGMENTS) * (chosen.randint(2, 20) if number < 0.65 else 1)

    for _ in range(count):
        if chosen.random() < 0.2:
            text = chosen.choice(EDGE_CASES)
            offset = chosen.randint(0, len(text))
            yield text[:offset] + fragment() + text[offset + chosen.randint(0, 2) :]
        else:
            yield "".join(fragment() for _ in range(chosen.randint(1, 12)))


def fuzzed_bytes(vocabularies: Sequence[Vocabulary], count: int, seed: int) -> Iterator[bytes]:
    """Generate `count` byte strings, mostly not UTF-8: tokens of the vocabularies, cut and joined, and random bytes."""
    chosen = random.Random(seed)
    tokens = [[token for token in vocabulary.tokens if token] or [b"a"] for vocabulary in vocabularies]

    def fragment() -> bytes:
        token = chosen.choice(chosen.choice(tokens))
        return token[chosen.randint(0, len(token) - 1) :] if chosen.random() < 0.7 else chosen.randbytes(2)

    for _ in range(count):
        yield b"".join(fragment() for _ in range(chosen.randint(1, 8)))
