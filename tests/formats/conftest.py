"""Small vocabularies of every kind, and a naive encoder that needs no split pattern."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
import zstandard

from tokenmill.formats import read
from tokenmill.split.patterns import PATTERNS
from tokenmill.vocabulary import AddedToken, Vocabulary

WORDS = b"low low low lower lowest newest newest wider \xc3\xa9t\xc3\xa9 \xc3\xa9t\xc3\xa9s  x\ty\n# a b ##".split(b" ")
SPECIAL = ("<|endoftext|>", "<|user|>")


def train(words: list[bytes], merges: int) -> tuple[list[bytes], list[tuple[int, int, int]]]:
    """Plain BPE, the textbook loop: the tokens by id and the merges."""
    tokens = [bytes([byte]) for byte in range(256)]
    counts = Counter(words)
    pretokens = {word: list(word) for word in counts}
    rows: list[tuple[int, int, int]] = []
    while len(rows) < merges:
        pairs: Counter[tuple[int, int]] = Counter()
        for word, parts in pretokens.items():
            for pair in itertools.pairwise(parts):
                pairs[pair] += counts[word]
        if not pairs:
            break
        (left, right), _ = min(pairs.items(), key=lambda item: (-item[1], item[0]))
        new = len(tokens)
        tokens.append(tokens[left] + tokens[right])
        rows.append((left, right, new))
        for word, parts in pretokens.items():
            merged: list[int] = []
            for part in parts:
                if merged and (merged[-1], part) == (left, right):
                    merged[-1] = new
                else:
                    merged.append(part)
            pretokens[word] = merged
    return tokens, rows


@pytest.fixture
def plain() -> Vocabulary:
    """A vocabulary as plain training makes it, with two special tokens after the others."""
    tokens, rows = train([word + b" " for word in WORDS] + [b" " + word for word in WORDS], 60)
    return Vocabulary(
        tokens=tuple(tokens),
        split_patterns=(PATTERNS["gpt2"],),
        order="merges",
        events=np.array(rows, np.int32),
        added_tokens=tuple(AddedToken(text, len(tokens) + i) for i, text in enumerate(SPECIAL)),
        whole_pretokens=False,
    )


@pytest.fixture
def ranked(plain) -> Vocabulary:
    """The same as ranks, with a gap before the special tokens, as in cl100k_base."""
    added = tuple(token._replace(id=token.id + 7 * (i + 1)) for i, token in enumerate(plain.added_tokens))
    return plain.replace(order="ranks", events=(), whole_pretokens=True, added_tokens=added)


@pytest.fixture
def picky() -> Vocabulary:
    """Four tokens made, "th" and "he" removed, "th" made again under its old id: present are "th", "the" and " the"."""
    th, the, space_the, end_of_text, he = range(256, 261)
    t, h, e, space = b"the "
    events = [(t, h, th), (th, e, the), (th, -1, -1), (h, e, he), (space, the, space_the), (he, -1, -1), (t, h, th)]
    return Vocabulary(
        tokens=(*(bytes([byte]) for byte in range(256)), b"th", b"the", b" the", None, b"he"),
        split_patterns=(PATTERNS["gpt2"],),
        order="events",
        events=np.array(events, np.int32),
        added_tokens=(AddedToken("<|endoftext|>", end_of_text),),
        whole_pretokens=False,
    )


@pytest.fixture(scope="session")
def published_files(shared):
    """published_files("gpt2"): the tokenizer.json text of a published tokenizer."""

    def text(name: str) -> str:
        return zstandard.open(shared / "vocab" / f"{name}-tokenizer.json.zst").read().decode()

    return text


@pytest.fixture(scope="session")
def cl100k(shared) -> Vocabulary:
    return read(shared / "vocab" / "cl100k_base.tiktoken")
