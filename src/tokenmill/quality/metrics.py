"""Figures of a tokenizer on counted text: uses of each token, compression, fertility, share of tokens in use.

bytes, characters, words per token    the text in a token; a word is a run of characters other than white space
fertility                             tokens per word (Rust et al. 2021, "How Good is Your Tokenizer?")
word-initial                          a token that starts with white space and continues with something else
Rényi efficiency                      Zouhar et al. 2023, "Tokenization and the Noiseless Channel", arXiv 2306.16842:
                                      H_a(p) / log |V| with H_a(p) = log(sum p ** a) / (1 - a), a = 2.5, where p are the
                                      shares of the tokens in the text and |V| the number of tokens that text can produce
Gini coefficient                      of the token costs c of n languages, in ascending order (Foroutan, Meister et al. 2025,
                                      "Parity-Aware Byte-Pair Encoding", arXiv 2508.04796):
                                      (n + 1 - 2 * sum((n + 1 - i) * c[i] for i in 1..n) / sum(c)) / n
                                      0 if all languages cost the same, at most 1 - 1/n. The cost is the number of tokens where
                                      texts are translations of each other, else tokens per byte, which favours scripts with
                                      many bytes to a character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..counting import WordCounts
from ..errors import UsageError
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from ..tokenizer.display import ORDERS
from ..tokenizer.normalization import STRIPPED, repair
from ..tokenizer.offsets import text_sections
from ..vocabulary import Normalization, Vocabulary
from .tables import Best, Cell, Column, Figure, Table, Token

if TYPE_CHECKING:
    from .evaluation_text import Judgement, Judgements

SLICE = 1 << 18  # bytes of pretokens in a slice, about
BATCH = 64  # texts encoded at a time


@dataclass(frozen=True, eq=False)
class Usage:
    """The uses of tokens in a text.

    by_id: uint64 (n_ids,), the uses of each id, added tokens included.
    tokens, pretokens, bytes, characters: totals over the text. A character is counted at its first byte.
    words: runs of characters other than white space; None for word counts, which do not record them.
    counts: uint64, the count of each distinct pretoken.
    ids, tokens_by_pretoken: the result of `encode_pretokens`.
    dropped: characters that have no token and are dropped; see `Tokenizer.count_dropped`.
    """

    by_id: np.ndarray = field(repr=False)
    tokens: int
    pretokens: int
    bytes: int
    characters: int
    words: int | None
    counts: np.ndarray = field(repr=False)
    ids: np.ndarray = field(repr=False)
    tokens_by_pretoken: np.ndarray = field(repr=False)
    dropped: int = 0

    def __add__(self, other: Usage) -> Usage:
        sums = ("by_id", "tokens", "pretokens", "bytes", "characters", "dropped")
        columns = ("counts", "ids", "tokens_by_pretoken")
        both: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in sums}
        both |= {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in columns}
        words = None if self.words is None or other.words is None else self.words + other.words
        return Usage(words=words, **both)


def measure_usage(tok: Tokenizer, counts: WordCounts, progress: Progress | None = None) -> Usage:
    """Encode every distinct pretoken of `counts`, which must be cut by the tokenizer's own split pattern."""
    require_same_split(tok, counts)
    ids, lengths = encode_pretokens(tok, counts, progress)
    by_id = np.zeros(n_ids(tok), np.uint64)
    np.add.at(by_id, ids, np.repeat(counts.counts, lengths))
    return Usage(
        by_id,
        tokens=dot(lengths, counts.counts),
        pretokens=int(counts.counts.sum()),
        bytes=counts.counted_bytes,
        characters=dot(characters_by_pretoken(counts), counts.counts),
        words=None,
        counts=counts.counts,
        ids=ids,
        tokens_by_pretoken=lengths,
    )


def measure_texts(tok: Tokenizer, texts: Iterable[str]) -> Usage:
    """Encode whole texts with a tokenizer that another library runs: it has no pretokens and no merges to replay."""
    by_id = np.zeros(n_ids(tok), np.uint64)
    nbytes = characters = dropped = 0
    texts = iter(texts)
    while batch := list(islice(texts, BATCH)):
        ids, _ = tok.encode_batch_to_numpy(batch, disallowed_special=())
        by_id += np.bincount(ids, minlength=len(by_id)).astype(np.uint64)
        nbytes += sum(len(text.encode("utf-8", "replace")) for text in batch)
        characters += sum(map(len, batch))
        dropped += sum(map(tok.count_dropped, batch))
    empty = np.zeros(0, np.int64)
    return Usage(by_id, int(by_id.sum()), 0, nbytes, characters, None, empty.astype(np.uint64), empty, empty, dropped)


def require_same_split(tok: Tokenizer, counts: WordCounts) -> None:
    """Raise UsageError for word counts of another split pattern."""
    theirs, ours = counts.split_patterns, tok.vocabulary.split_patterns
    if theirs and theirs != ours:
        raise UsageError(
            f"the word counts are cut by {' then '.join(theirs)!r}, but the tokenizer {tok.name} cuts by "
            f"{' then '.join(ours)!r}; give the text itself, or counts made with the tokenizer's pattern"
        )


def require_unchanged(tok: Tokenizer, counts: WordCounts) -> None:
    """Raise UsageError for word counts with a pretoken that the tokenizer normalizes, or that contains an added token."""
    vocabulary = tok.vocabulary
    # "Prepend" and "Strip" change the ends of texts, which word counts do not record.
    steps = tuple(step for step in vocabulary.normalization.other_steps if step[0] not in ("Prepend", "Strip"))
    if not steps and all(token.special for token in vocabulary.added_tokens):
        return
    core = Tokenizer(vocabulary.replace(normalization=Normalization(steps)))._core
    for pretoken, _ in counts.items():
        text = repair(pretoken)
        sections = [*text_sections(core, text)] or [b""]
        if sections != [text.encode()]:
            added = any(isinstance(section, int) for section in sections)
            change = "finds an added token in it" if added else "normalizes it"
            raise UsageError(
                f"the word counts contain {text!r:.40}, but the tokenizer {tok.name} {change}; give the text itself"
            )


def n_ids(tok: Tokenizer) -> int:
    """The number of ids, those of added tokens included."""
    return max(len(tok.vocabulary.tokens), tok.n_vocab)


@lru_cache(maxsize=2)
def one_pretoken(vocabulary: Vocabulary) -> Tokenizer:
    """Return the tokenizer for which any text is one pretoken: no split, no added tokens, no normalization.

    Text that begins with a dropped character is a dropped pretoken.
    """
    normalization = Normalization(space_mark=vocabulary.normalization.space_mark)
    changes: dict[str, Any] = {"split_patterns": (), "normalization": normalization}
    if vocabulary.has_superwords:
        superwords = {*vocabulary.superwords[:, 2].tolist()}
        tokens = (None if id in superwords else token for id, token in enumerate(vocabulary.tokens))
        changes |= {"tokens": tuple(tokens), "superwords": ()}
    return Tokenizer(without_added(vocabulary).replace(**changes))


def without_added(vocabulary: Vocabulary) -> Vocabulary:
    """Return the vocabulary without its added tokens, except the unknown token."""
    unknown = tuple(token for token in vocabulary.added_tokens if token.id == vocabulary.unknown)
    return vocabulary.replace(added_tokens=unknown)


def encode_pretokens(
    tok: Tokenizer, counts: WordCounts, progress: Progress | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of all pretokens one after the other (uint32), and the number of ids of each pretoken (int64)."""
    core = (tok if tok.vocabulary.has_superwords else one_pretoken(tok.vocabulary))._core
    plan = core.plan((), ())
    lengths = np.zeros(len(counts), np.int64)
    slices_of_ids = [np.zeros(0, np.uint32)]
    for rows, data, offsets in slices(counts):  # each pretoken is encoded as a document
        ids, ends = core.encode_documents(data.tobytes(), offsets[1:], plan)
        slices_of_ids.append(np.frombuffer(ids, np.uint32))
        lengths[rows] = np.diff(np.asarray(ends, np.int64), prepend=0)
        if progress is not None:
            progress("segment", rows.stop, len(counts))
    return np.concatenate(slices_of_ids), lengths


def slices(counts: WordCounts) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield pretokens of about SLICE bytes: their rows, their bytes, and their offsets in these (uint64, one more)."""
    first = 0
    while first < len(counts):
        stop = int(np.searchsorted(counts.offsets, counts.offsets[first] + np.uint64(SLICE), "right")) - 1
        stop = min(max(stop, first + 1), len(counts))
        offsets = counts.offsets[first : stop + 1]
        yield slice(first, stop), counts.arena[offsets[0] : offsets[-1]], offsets - offsets[0]
        first = stop


def characters_by_pretoken(counts: WordCounts) -> np.ndarray:
    """Return the number of characters of each pretoken (int64), counted at their first bytes."""
    characters = np.zeros(len(counts), np.int64)
    for rows, data, offsets in slices(counts):
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum((data & 0xC0) != 0x80)])
        characters[rows] = np.diff(before[offsets.astype(np.int64)])
    return characters


def unnormalized(tok: Tokenizer) -> Tokenizer:
    """Return the tokenizer without the steps that change characters; itself if it has none."""
    vocabulary = tok.vocabulary
    if vocabulary.library is not None or not (steps := vocabulary.normalization.other_steps):
        return tok
    others = tuple(step for step in vocabulary.normalization.normalizers if step not in steps)
    return Tokenizer(vocabulary.replace(normalization=vocabulary.normalization._replace(normalizers=others)))


@lru_cache(maxsize=4)
def ordinary_tokens(vocabulary: Vocabulary) -> dict[int, bytes]:
    """The bytes of the tokens that ordinary text can produce, neither added nor removed, by id in ascending order."""
    left_out = vocabulary.removed | {token.id for token in vocabulary.added_tokens}
    return {id: token for id, token in enumerate(vocabulary.tokens) if token is not None and id not in left_out}


def decode_only_ids(vocabulary: Vocabulary) -> list[int]:
    """The ids that are only decoded, in ascending order, without added tokens."""
    return sorted({id for id, _ in vocabulary.decode_only}.difference(token.id for token in vocabulary.added_tokens))


def unknown_ids(vocabulary: Vocabulary) -> set[int]:
    """The ids that stand for text without a token, where special tokens in text are ordinary text."""
    return {token.id for token in vocabulary.added_tokens if token.special or token.id == vocabulary.unknown}


@lru_cache(maxsize=4)
def token_cells(vocabulary: Vocabulary) -> list[Token]:
    """The ordinary tokens as cells of a table, by id."""
    return [Token(id, content) for id, content in ordinary_tokens(vocabulary).items()]


@lru_cache(maxsize=4)
def texts_of_tokens(vocabulary: Vocabulary) -> dict[int, str]:
    """The text of the ordinary tokens that are text, by id, in ascending order."""
    texts = {}
    for id, token in ordinary_tokens(vocabulary).items():
        try:
            texts[id] = token.decode()
        except UnicodeDecodeError:
            continue
    return texts


def dot(values: np.ndarray, counts: np.ndarray) -> int:
    """The sum of values * counts, exact below 2**64."""
    return int((values.astype(np.uint64) * counts).sum(dtype=np.uint64))


ALPHA = 2.5
RENYI_CAUTION = (
    "Rényi efficiency is high if no token takes much more than its share of the text. It correlated with translation "
    "quality in Zouhar et al. 2023, but it can be gamed: Cognetta et al. 2024 (arXiv 2402.14614) raise it arbitrarily "
    "with worse tokenizers. Only compare it between tokenizers of one kind and size, together with other figures."
)
_SPACE = b"|".join(character.encode() for character in STRIPPED)
_WORD_INITIAL = re.compile(b"(?s)(?:%b)(?!%b)." % (_SPACE, _SPACE))


def renyi_efficiency(by_id: np.ndarray, vocab_size: int) -> float | None:
    """Return H_a of the uses over log(vocab_size): 1 if all tokens are used equally. None if nothing is used.

    >>> import numpy as np
    >>> renyi_efficiency(np.array([5, 5, 5, 5]), 4), renyi_efficiency(np.array([20, 0, 0, 0]), 4)
    (1.0, 0.0)
    """
    total = float(by_id.sum(dtype=np.float64))
    if total == 0 or vocab_size < 2:
        return None
    p = by_id[by_id > 0] / total
    return abs(float(np.log((p**ALPHA).sum()) / (1 - ALPHA) / np.log(vocab_size)))


@lru_cache(maxsize=4)
def word_initial_ids(vocabulary: Vocabulary) -> list[int]:
    return [id for id, token in ordinary_tokens(vocabulary).items() if _WORD_INITIAL.match(token)]


def word_initial_share(tok: Tokenizer) -> float | None:
    return ratio(len(word_initial_ids(tok.vocabulary)), len(ordinary_tokens(tok.vocabulary)))


def mean_token_characters(tok: Tokenizer) -> float | None:
    """The mean length of the tokens, in characters counted at their first bytes."""
    tokens = ordinary_tokens(tok.vocabulary).values()
    first_bytes = (np.frombuffer(b"".join(tokens), np.uint8) & 0xC0) != 0x80
    return ratio(int(first_bytes.sum()), len(tokens))


def used_tokens(tok: Tokenizer, usage: Usage) -> int:
    return int((usage.by_id[list(ordinary_tokens(tok.vocabulary))] > 0).sum())


class Measure(NamedTuple):
    """A figure of a tokenizer on a text: its column in tables, and the function that computes it."""

    column: Column
    compute: Callable[[Judgement], float | None]


def _total(name: str) -> Measure:
    return Measure(Column(name, "count"), lambda judged: getattr(judged.usage, name))


def _quotient(name: str, help: str = "", best: Best = "max") -> Measure:
    """Return the measure for the ratio of two totals of a Usage, such as "bytes per token"."""
    above, below = name.split(" per ")
    column = Column(name, "number", help, 3, best=best)
    return Measure(column, lambda judged: ratio(getattr(judged.usage, above), getattr(judged.usage, f"{below}s")))


BYTES, TOKENS = _total("bytes"), _total("tokens")
DENSITY = (
    _quotient("bytes per token"),
    _quotient("characters per token"),
    _quotient("words per token"),
    _quotient("tokens per word", "fertility", "min"),
)
USED = Measure(
    Column("vocabulary used", "share", best="max"),
    lambda judged: ratio(used_tokens(judged.tok, judged.usage), judged.size),
)
WORD_INITIAL = Measure(
    Column("word-initial, of the tokens of the text", "share"),
    lambda judged: ratio(int(judged.usage.by_id[word_initial_ids(judged.tok.vocabulary)].sum()), judged.usage.tokens),
)
RENYI = Measure(
    Column("Rényi efficiency", "number", f"alpha {ALPHA}", 4),
    lambda judged: renyi_efficiency(judged.usage.by_id, judged.size),
)
LOSSES = (  # what the tokens do not represent
    Measure(
        Column("unknown tokens", "count"),
        lambda judged: int(judged.usage.by_id[[*unknown_ids(judged.tok.vocabulary)]].sum()),
    ),
    Measure(Column("dropped characters", "count"), lambda judged: judged.usage.dropped),
)
TEXT_MEASURES = (
    BYTES,
    _total("characters"),
    _total("words"),
    _total("pretokens"),
    TOKENS,
    *LOSSES,
    *DENSITY,
    _quotient("tokens per pretoken", best=""),
    USED,
    Measure(Column("tokens used", "count"), lambda judged: used_tokens(judged.tok, judged.usage)),
    WORD_INITIAL,
    RENYI,
)


def overview_table(tok: Tokenizer) -> Table:
    """Facts about the vocabulary that do not depend on a text."""
    vocabulary = tok.vocabulary
    tokens, decode_only = ordinary_tokens(vocabulary).values(), decode_only_ids(vocabulary)
    count, number = Column("", "count"), Column("", "number", digits=3)
    superwords = "; then superwords of whole pretokens" if vocabulary.has_superwords else ""
    without_pattern = "by the library" if vocabulary.library else "none: a text is one pretoken"
    rows: list[tuple[Cell, ...]] = [
        ("ordinary tokens", Figure(len(tokens), count)),
        ("added tokens", Figure(len(vocabulary.added_tokens), count)),
        ("ids (rows of an embedding table)", Figure(vocabulary.n_vocab, count)),
        ("removed tokens", Figure(len(vocabulary.removed), count)),
        *([("decode-only tokens", Figure(len(decode_only), count))] if decode_only else []),
        ("merging", ORDERS[vocabulary.order] + superwords),
        ("alphabet", vocabulary.alphabet),
        ("split pattern", " then ".join(vocabulary.split_patterns) or without_pattern),
        ("mean bytes of a token", Figure(ratio(sum(map(len, tokens)), len(tokens)), number)),
        ("mean characters of a token", Figure(mean_token_characters(tok), number)),
        ("word-initial tokens", Figure(word_initial_share(tok), Column("", "share"))),
        ("fingerprint", vocabulary.fingerprint()),
    ]
    return Table("vocabulary", "The vocabulary", (Column("what"), Column("value", "figure")), rows)


def text_table(judged: Judgement, scale: int = 1) -> Table:
    """The figures of a text, in one column, with those of LOSSES if it has any. scale: see `EvaluationText.scale`.

    Those of pretokens are left out where more than the split pattern decides on them.
    """
    usage, pretokens = judged.usage, has_pretokens(judged.tok.vocabulary)
    measures = [measure for measure in TEXT_MEASURES if pretokens or "pretoken" not in measure.column.name]
    measures = [measure for measure in measures if measure not in LOSSES or measure.compute(judged)]
    rows = [(column.name, Figure(compute(judged), column)) for column, compute in measures]
    rows += [("counts are multiplied by", Figure(scale, BYTES.column))] if scale > 1 else []
    unknown = " Word counts alone do not record how many there are." if usage.words is None else ""
    note = f"A word is a run of characters other than white space.{unknown} {RENYI_CAUTION}"
    return Table("text", "On this text", (Column("what"), Column("value", "figure")), rows, note)


def has_pretokens(vocabulary: Vocabulary) -> bool:
    """Return whether the split pattern alone cuts text into pretokens."""
    return bool(vocabulary.split_patterns) and not vocabulary.has_superwords


def measured_table(
    key: str, title: str, judged: Judgements, measures: Sequence[Measure], note: str = "", first: str = "tokenizer"
) -> Table:
    """A row of measures for each name in `judged`. first: the heading of the names."""
    rows = [(name, *(measure.compute(each) for measure in measures)) for name, each in judged.items()]
    return Table(key, title, (Column(first), *(measure.column for measure in measures)), rows, note)


def domains_table(judged: Judgement) -> Table:
    """The figures of each domain: a file, a folder, a language."""
    by_domain = {name: replace(judged, usage=usage) for name, usage in judged.usages.items()}
    measures = (BYTES, TOKENS, *DENSITY, USED, RENYI)
    plain = [Measure(replace(column, best=""), compute) for column, compute in measures]
    return measured_table("domains", "By source", by_domain, plain, first="source")


def gini(costs: Iterable[float]) -> float | None:
    """Return the Gini coefficient of positive costs; None for fewer than two of them.

    >>> gini([3, 3, 3]), gini([1, 3])
    (0.0, 0.25)
    """
    ordered = sorted(costs)
    n, total = len(ordered), sum(ordered)
    if n < 2 or not total:
        return None
    weighted = sum((n - i) * cost for i, cost in enumerate(ordered))
    return (n + 1 - 2 * weighted / total) / n


def languages_table(judged: Judgements) -> Table:
    """A row for each tokenizer: the inequality of its domains, and the most expensive of them."""
    rows = []
    for name, judgement in judged.items():
        usages = judgement.usages
        costs = {domain: usage.tokens / usage.bytes for domain, usage in usages.items() if usage.bytes}
        dearest = max(costs, key=costs.__getitem__, default=None)
        gini_of_tokens = gini(usage.tokens for usage in usages.values() if usage.tokens)
        density = None if dearest is None else ratio(1, costs[dearest])
        rows.append((name, gini_of_tokens, gini(costs.values()), dearest, density))
    columns = (
        Column("tokenizer"),
        Column("Gini of tokens", "number", "0: every language takes the same number of tokens", 3, best="min"),
        Column("Gini of tokens per byte", "number", "for texts that are not translations of each other", 3, best="min"),
        Column("costs most"),
        Column("its bytes per token", "number", digits=3, best="max"),
    )
    note = (
        "The Gini coefficient of tokens compares languages only where the sources are "
        "translations of each other; elsewhere read that of tokens per byte."
    )
    return Table("languages", "Parity between languages", columns, rows, note)


def ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below
