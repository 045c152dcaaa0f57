"""Figures that judge a tokenizer on text: compression, fertility, the share of the vocabulary in use.

bytes, characters, words per token    how much text a token holds; a word is a run of non-white-space
fertility                             tokens per word (Rust et al. 2021, "How Good is Your Tokenizer?")
word-initial                          a token that starts with white space and continues with something else
Rényi efficiency                      Zouhar et al. 2023, "Tokenization and the Noiseless Channel", arXiv 2306.16842:
                                      H_a(p) / log |V| with H_a(p) = log(sum p ** a) / (1 - a), a = 2.5, where p is how
                                      often each token is used and |V| the number of tokens that text can produce
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..counting import WordCounts
from ..tokenizer import Tokenizer
from ..tokenizer.special import WHITE_SPACE
from .tables import Column, Figure, Table
from .usage import Usage, characters_by_pretoken, ordinary_tokens

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "RENYI_CAUTION",
    "baseline_table",
    "domains_table",
    "is_word_initial",
    "mean_token_characters",
    "overview_table",
    "ratio",
    "renyi_efficiency",
    "scripts_table",
    "text_table",
    "word_initial_ids",
    "word_initial_share",
]

ALPHA = 2.5
RENYI_CAUTION = (
    "Rényi efficiency is high if no token takes much more than its share of the text. It correlated with translation "
    "quality in Zouhar et al. 2023, but it can be gamed: Cognetta et al. 2024 (arXiv 2402.14614) raise it arbitrarily "
    "with worse tokenizers. Only compare it between tokenizers of one kind and size, together with other figures."
)
_WORD_INITIAL = re.compile(f"[{WHITE_SPACE}][^{WHITE_SPACE}]")


def renyi_efficiency(by_id: np.ndarray, vocab_size: int, alpha: float = ALPHA) -> float | None:
    """H_alpha of the usage over log(vocab_size): 1 if all tokens are used equally. None if nothing is used.

    >>> import numpy as np
    >>> renyi_efficiency(np.array([5, 5, 5, 5]), 4), renyi_efficiency(np.array([20, 0, 0, 0]), 4)
    (1.0, 0.0)
    """
    import numpy as np

    total = float(by_id.sum(dtype=np.float64))
    if total == 0 or vocab_size < 2:
        return None
    p = by_id[by_id > 0] / total
    if alpha == 1:
        entropy = float(-(p * np.log(p)).sum())
    else:
        entropy = float(np.log((p**alpha).sum()) / (1 - alpha))
    return abs(entropy) / float(np.log(vocab_size))


def is_word_initial(token: bytes) -> bool:
    """Whether a token starts with white space and continues with something else."""
    return _WORD_INITIAL.match(token.decode("utf-8", "surrogateescape")) is not None


def word_initial_ids(tok: Tokenizer) -> list[int]:
    """The word-initial tokens of the vocabulary."""
    return [id for id, token in ordinary_tokens(tok).items() if is_word_initial(token)]


def word_initial_share(tok: Tokenizer) -> float | None:
    """The share of the vocabulary that is word-initial."""
    return ratio(len(word_initial_ids(tok)), len(ordinary_tokens(tok)))


def mean_token_characters(tok: Tokenizer) -> float | None:
    """The mean length of the tokens, in characters counted at their first bytes."""
    tokens = ordinary_tokens(tok).values()
    return ratio(sum(sum((byte & 0xC0) != 0x80 for byte in token) for token in tokens), len(tokens))


def overview_table(tok: Tokenizer) -> Table:
    """Facts about the vocabulary that do not depend on a text."""
    vocabulary = tok.vocabulary
    tokens = ordinary_tokens(tok).values()
    lengths = [len(token) for token in tokens]
    rows = [
        ("ordinary tokens", _count(len(tokens))),
        ("added tokens", _count(len(vocabulary.added_tokens))),
        ("ids (rows of an embedding table)", _count(vocabulary.n_vocab)),
        ("tokens removed in training", _count(len(vocabulary.removed))),
        ("merging", _MERGING[vocabulary.order]),
        ("alphabet", vocabulary.alphabet),
        ("split pattern", " then ".join(vocabulary.split_patterns) or "none: a text is one pretoken"),
        ("mean bytes of a token", _number(ratio(sum(lengths), len(tokens)))),
        ("mean characters of a token", _number(mean_token_characters(tok))),
        ("word-initial tokens", _percent(word_initial_share(tok))),
        ("content hash", vocabulary.fingerprint()),
    ]
    return Table("vocabulary", "The vocabulary", (Column("what"), Column("value", "figure")), rows)


_MERGING = {
    "ranks": "by rank: any two adjacent tokens whose bytes are a token, the lowest id first",
    "merges": "by a list of merges, the earliest first",
    "events": "by events in training order, merges and removals (Picky BPE)",
}


def text_table(tok: Tokenizer, usage: Usage) -> Table:
    """The figures of a text, in one column."""
    import numpy as np

    ids = list(ordinary_tokens(tok))
    used = int(np.count_nonzero(usage.by_id[ids])) if ids else 0
    initial = word_initial_ids(tok)
    rows = [
        ("bytes", _count(usage.bytes)),
        ("characters", _count(usage.characters)),
        ("words", _count(usage.words)),
        ("pretokens", _count(usage.pretokens)),
        ("tokens", _count(usage.tokens)),
        ("bytes per token", _number(ratio(usage.bytes, usage.tokens))),
        ("characters per token", _number(ratio(usage.characters, usage.tokens))),
        ("words per token", _number(ratio(usage.words, usage.tokens))),
        ("tokens per word (fertility)", _number(ratio(usage.tokens, usage.words))),
        ("tokens per pretoken", _number(ratio(usage.tokens, usage.pretokens))),
        ("vocabulary used", _percent(ratio(used, len(ids)))),
        ("tokens used", _count(used)),
        ("word-initial, of the tokens of the text", _percent(ratio(int(usage.by_id[initial].sum()), usage.tokens))),
        (f"Rényi efficiency (alpha {ALPHA})", _number(renyi_efficiency(usage.by_id, len(ids)), 4)),
    ]
    note = "A word is a run of non-white-space. Word counts alone do not tell how many there are. " + RENYI_CAUTION
    return Table("text", "On this text", (Column("what"), Column("value", "figure")), rows, note)


def domains_table(tok: Tokenizer, usages: Mapping[str, Usage]) -> Table:
    """The figures of each domain: a file, a folder, a language."""
    import numpy as np

    ids = list(ordinary_tokens(tok))
    rows = []
    for name, usage in usages.items():
        used = int(np.count_nonzero(usage.by_id[ids])) if ids else 0
        rows.append(
            (
                name,
                usage.bytes,
                usage.tokens,
                ratio(usage.bytes, usage.tokens),
                ratio(usage.characters, usage.tokens),
                ratio(usage.words, usage.tokens),
                ratio(usage.tokens, usage.words),
                ratio(used, len(ids)),
                renyi_efficiency(usage.by_id, len(ids)),
            )
        )
    columns = (
        Column("domain"),
        Column("bytes", "count"),
        Column("tokens", "count"),
        Column("bytes per token", "number"),
        Column("characters per token", "number"),
        Column("words per token", "number"),
        Column("tokens per word", "number", "fertility"),
        Column("vocabulary used", "share", digits=1),
        Column("Rényi efficiency", "number", f"alpha {ALPHA}", digits=3),
    )
    return Table("domains", "By domain", columns, rows)


def baseline_table(usages: Mapping[str, Usage], baseline: Mapping[str, Usage], name: str) -> Table:
    """The number of tokens compared with a baseline tokenizer, by domain."""
    rows = []
    for domain, usage in usages.items():
        theirs = baseline[domain].tokens
        rows.append((domain, usage.tokens, theirs, ratio(usage.tokens, theirs), ratio(theirs, usage.tokens)))
    columns = (
        Column("domain"),
        Column("tokens", "count"),
        Column("baseline tokens", "count"),
        Column("tokens, relative", "share", "tokens as a share of the baseline's; below 100 % is shorter"),
        Column("compression, relative", "number", "text per token as a multiple of the baseline's", 4),
    )
    return Table("baseline", f"Beside {name}", columns, rows)


def scripts_table(parts: Iterable[tuple[WordCounts, Usage]]) -> Table:
    """Figures by script: a pretoken belongs to the script of its first letter. Separates languages in mixed text."""
    import numpy as np

    sums = np.zeros((len(SCRIPTS), 4))  # pretokens, bytes, characters, tokens
    for counts, usage in parts:
        scripts = script_of_pretokens(counts)
        weights = counts.counts.astype(np.float64)
        lengths = np.diff(counts.offsets).astype(np.float64)
        for place, values in enumerate(
            (np.ones(len(counts)), lengths, characters_by_pretoken(counts), usage.tokens_by_pretoken)
        ):
            sums[:, place] += np.bincount(scripts, values * weights, len(SCRIPTS))
    rows = []
    for script, (pretokens, size, characters, tokens) in zip(SCRIPTS, sums.tolist(), strict=True):
        if tokens:
            fertility = None if script == SCRIPTS[0] else tokens / pretokens
            rows.append((script, round(size), round(tokens), size / tokens, characters / tokens, fertility))
    rows.sort(key=lambda row: -row[1])
    columns = (
        Column("script"),
        Column("bytes", "count"),
        Column("tokens", "count"),
        Column("bytes per token", "number"),
        Column("characters per token", "number"),
        Column(
            "tokens per pretoken",
            "number",
            "tokens per pretoken that contains a letter: the fertility over the words of the split pattern",
        ),
    )
    return Table(
        "scripts",
        "By script",
        columns,
        rows,
        "Each pretoken counts for the script of its first letter. Tokens per pretoken is the fertility over the words of the "
        "split pattern. In a script without spaces a pretoken may be a whole sentence; there, characters per token says "
        "more.",
    )


# The most common scripts; index 0 is for pretokens without letters.
SCRIPTS = (
    "no letters", "Latin", "Han", "Cyrillic", "Arabic", "Hiragana", "Katakana", "Hangul", "Greek", "Hebrew", "Devanagari",
    "Bengali", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi", "Oriya", "Sinhala", "Thai", "Lao", "Khmer",
    "Myanmar", "Tibetan", "Georgian", "Armenian", "Ethiopic", "Mongolian", "Other",
)  # fmt: skip


def script_of_pretokens(counts: WordCounts) -> np.ndarray:
    """int64: for each pretoken the index in SCRIPTS of the script of its first letter, 0 without a letter."""
    import numpy as np
    import regex

    text = counts.arena.tobytes().decode("utf-8", "surrogateescape")
    code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    script_of = np.zeros(0x110000, np.uint8)
    letters = [chr(code) for code in np.unique(code_points).tolist() if regex.match(r"\p{L}", chr(code))]
    names = [name for name in SCRIPTS if name not in ("no letters", "Other")]
    groups = regex.compile("|".join(rf"(\p{{Script={name}}})" for name in names))
    for letter in letters:
        match = groups.match(letter)
        script_of[ord(letter)] = match.lastindex if match else len(SCRIPTS) - 1
    scripts = script_of[code_points]
    # The offset of each letter in the arena, and the first letter of each pretoken.
    sizes = np.ones(len(code_points), np.int64)
    for limit in (0x80, 0x800, 0x10000):
        sizes += (code_points >= limit) & ~((code_points >= 0xDC80) & (code_points <= 0xDCFF))
    starts = np.cumsum(sizes) - sizes
    places = starts[scripts > 0]
    kinds = scripts[scripts > 0].astype(np.int64)
    offsets = counts.offsets.astype(np.int64)
    first = np.searchsorted(places, offsets[:-1])
    inside = np.zeros(len(counts), bool)
    inside[first < len(places)] = places[first[first < len(places)]] < offsets[1:][first < len(places)]
    result = np.zeros(len(counts), np.int64)
    result[inside] = kinds[first[inside]]
    return result


def ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below


def _count(value: int | None) -> Figure:
    return Figure(value, "unknown" if value is None else f"{value:,}")


def _number(value: float | None, digits: int = 3) -> Figure:
    return Figure(value, "unknown" if value is None else f"{value:,.{digits}f}")


def _percent(value: float | None) -> Figure:
    return Figure(value, "unknown" if value is None else f"{100 * value:.2f} %")
