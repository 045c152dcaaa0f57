"""Training merge for merge like rustbpe, on real text cut by the cl100k pattern."""

import os
from collections import Counter

import pytest
import regex

from tokenmill import WordCounts
from trained import train_from_counts

rustbpe = pytest.importorskip("rustbpe")

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)


def both(texts: list[str], vocab_size: int) -> tuple[list[bytes], list[bytes]]:
    """The tokens by id, of tokenmill and of rustbpe."""
    pattern = regex.compile(CL100K)
    pretokens: Counter[str] = Counter()
    for text in texts:
        pretokens.update(pattern.findall(text))
    counts = WordCounts.from_mapping({pretoken.encode(): count for pretoken, count in pretokens.items()})
    theirs = rustbpe.Tokenizer()
    theirs.train_from_iterator(texts, vocab_size=vocab_size, pattern=CL100K)
    ranks = sorted((rank, bytes(token)) for token, rank in theirs.get_mergeable_ranks())
    return list(train_from_counts(counts, vocab_size).tokens), [token for _, token in ranks]


@pytest.mark.parametrize("name", ["en", "multi", "code"])
def test_real_text(corpus_bytes, name):
    lines = corpus_bytes(name, 2_000_000 * SWEEP).decode().splitlines(keepends=True)
    texts = ["".join(lines[i : i + 1000]) for i in range(0, len(lines), 1000)]
    ours, theirs = both(texts, 16_384)
    assert ours == theirs


def test_runs_and_repeats():
    texts = ["a" * n + " " + "ab" * n for n in range(1, 60)] + ["hello hello help\n\n\n    yes " * 7]
    ours, theirs = both(texts, 400)
    assert len(ours) > 300
    assert ours == theirs[: len(ours)]
