"""Picky BPE on real text, measured as in its paper: what it removes and what that gains.

    Chizhov, Arnett, Korotkova, Yamshchikov: BPE Gets Picky, EMNLP 2024 (arXiv 2409.04599)

For each corpus, vocabulary size and threshold: the number of removed tokens, the number of tokens that plain BPE does not
have, the size of the training text in tokens relative to plain BPE, the mean length of a token, and the share of
word-initial tokens among all, added and lost tokens.

Then, at 32,768 tokens and T = 0.9: how the share of removed tokens depends on the amount of text, the split pattern and
the alphabet.

python -m benchmarks.picky_paper [--quick]      # --quick: 20 MB of each corpus, without the last
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Collection, Iterator

from .harness import QUICK, corpus_file, main
from .picky import counts_folder

SIZES = (8_192, 16_384, 32_768)
THRESHOLDS = (None, 0.9, 0.8, 0.7, 0.6)


def measure(name: str, limit: int | None) -> list[dict]:
    import tokenmill
    from tokenmill.quality.metrics import mean_token_characters, word_initial_share
    from tokenmill.quality.replay import replay
    from tokenmill.quality.usage import ordinary_tokens

    counts = tokenmill.WordCounts.load(counts_folder(name, limit))
    rows = []
    for size in SIZES:
        plain_tokens: set[bytes] = set()
        plain_length = 0
        for threshold in THRESHOLDS:
            start = time.perf_counter()
            tok = tokenmill.train_from_counts(counts, size, refine=threshold)
            seconds = time.perf_counter() - start
            # Event order encodes each pretoken as training left it, so this is the size of the encoded text.
            text_tokens = int(replay(tok.vocabulary, counts).final.sum())
            tokens = set(ordinary_tokens(tok.vocabulary).values())
            if threshold is None:
                plain_tokens, plain_length = tokens, text_tokens
            added, lost = tokens - plain_tokens, plain_tokens - tokens
            removals = sum(event[0] == "remove" for event in tok.events)
            rows.append(
                {
                    "corpus": name,
                    "bytes": counts.total_bytes,
                    "size": len(tokens),
                    "threshold": threshold,
                    "removals": removals,
                    "removed for good": len(tok.vocabulary.removed),
                    "added": len(added),
                    "lost": len(lost),
                    "tokens": text_tokens,
                    "relative": text_tokens / plain_length,
                    "bytes per token": counts.total_bytes / text_tokens,
                    "mean characters": mean_token_characters(tok),
                    "word-initial": word_initial_share(tok),
                    "word-initial, added": word_initial(added),
                    "word-initial, lost": word_initial(lost),
                    "seconds": round(seconds, 3),
                }
            )
            print(rows[-1], file=sys.stderr)
    return rows


def word_initial(tokens: Collection[bytes]) -> float | None:
    """The share of tokens that start with white space and continue with something else."""
    from tokenmill.tokenizer.normalization import WHITE_SPACE

    pattern = re.compile(f"[{WHITE_SPACE}][^{WHITE_SPACE}]")
    found = [token for token in tokens if pattern.match(token.decode("utf-8", "surrogateescape"))]
    return len(found) / len(tokens) if tokens else None


def variations(name: str) -> list[dict]:
    """How many tokens are removed at the end at 32,768 and T = 0.9, with one condition changed at a time."""
    import tokenmill

    characters = {"alphabet": "characters", "coverage": 0.9999, "unknown_token": "<unk>"}
    whole = tokenmill.WordCounts.load(counts_folder(name))
    cases = [("as above", whole, {}), ("characters in place of bytes", whole, characters)]
    for limit in (20_000_000, 60_000_000):
        cases.append((f"the first {limit // 1_000_000} MB", tokenmill.count(corpus_file(name, limit)), {}))
    cases.append(("cut at white space only", tokenmill.count(corpus_file(name), split="whitespace"), {}))
    cases.append(("each line once", tokenmill.count_iterator(distinct_lines(name)), {}))
    rows = []
    for case, counts, options in cases:
        vocabulary = tokenmill.train_from_counts(counts, SIZES[-1], refine=0.9, **options).vocabulary
        removed = [vocabulary.tokens[id] for id in vocabulary.removed]
        rows.append(
            {
                "case": case,
                "removed for good": len(removed),
                "not whole UTF-8": sum(token.decode("utf-8", "ignore").encode() != token for token in removed),
                "word-initial": word_initial(removed),
            }
        )
        print(name, rows[-1], file=sys.stderr)
    return rows


def distinct_lines(name: str) -> Iterator[str]:
    """The text without repeated lines, in chunks."""
    seen: set[int] = set()
    with open(corpus_file(name), "rb") as file:
        while lines := file.readlines(1 << 20):
            new = []
            for line in lines:
                mark = hash(line)
                if mark not in seen:
                    seen.add(mark)
                    new.append(line)
            yield b"".join(new).decode("utf-8", "replace")


def run() -> dict:
    corpora = ("en", "multi")
    results: dict = {name: measure(name, 20_000_000 if QUICK else None) for name in corpora}
    return results if QUICK else results | {"variations": {name: variations(name) for name in corpora}}


if __name__ == "__main__":
    main(run)
