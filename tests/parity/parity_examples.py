"""Text to compare tokenizers on: the real corpora, every code point in context, long runs, hypothesis's strategies."""

import os
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pytest
from hypothesis import strategies as st

import tokenmill

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1")) > 1
CORPORA = ("en", "multi", "code")
EXAMPLES = 3000 if SWEEP else 300  # of hypothesis
SLICE = -1 if SWEEP else 1_000_000
LONG = 1 << (20 if SWEEP else 18)


@dataclass
class Pair:
    """A tokenizer of tokenmill, another library's of the same vocabulary, and how that encodes a text and a list of texts.

    options: those with which `ours.encode` gives the same ids.
    """

    ours: tokenmill.Tokenizer
    theirs: Any
    encode: Callable[[str], list[int]]
    encode_batch: Callable[[list[str]], list[list[int]]]
    options: dict[str, Any]


def same_ids(pair: Pair, given_texts: Iterable[str]) -> None:
    """Compare in batches, which both libraries spread among threads."""
    left = iter(given_texts)
    while some := [*islice(left, 100)]:
        rows = pair.ours.encode_batch(some, **pair.options)
        for text, ids, expected in zip(some, rows, pair.encode_batch(some), strict=True):
            if ids != expected:
                at = next((i for i, (a, b) in enumerate(zip(ids, expected, strict=False)) if a != b), len(ids))
                start = len(pair.ours.decode(ids[: max(0, at - 3)]))
                pytest.fail(f"ids differ at {text[start : start + 60]!r}: {ids[at : at + 5]}, {expected[at : at + 5]}")
            assert pair.ours.vocabulary.normalization.normalizers or pair.ours.decode(ids) == text


def texts_of(data: bytes, size: int = 15_000):
    """The text in parts of about so many bytes, cut at line ends."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + size) + 1 or len(data)
        yield data[start:end].decode()
        start = end


def other_sources(shared):
    """The texts of the dumps among the shared corpora, as they stand in their files."""
    import bz2

    import pyarrow.parquet as pq

    folder = shared / "corpus"
    yield from texts_of((folder / "stackexchange-posts.xml").read_bytes())
    yield from texts_of((folder / "wikipedia-2006-head.xml").read_bytes())
    yield from texts_of(bz2.decompress((folder / "enwiki-pages-articles-shortened.xml.bz2").read_bytes()))
    yield from pq.read_table(folder / "fineweb-schema-sample.parquet").column("text").to_pylist()


def code_points():
    """Every code point in the sweep; else all of the scripts in common use, and some of the others."""
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    return points if SWEEP else [c for c in points if c < 0x800 or 0x2000 <= c < 0x3100 or c % 17 == 0]


def lines_in_context(points, size=2000):
    """Texts of so many lines, each with one code point beside letters, digits, signs, spaces and itself."""
    for first in range(0, len(points), size):
        chosen = map(chr, points[first : first + size])
        yield "".join(f"a{c}b 1{c}2.{c}! {c} {c}{c}'{c}\n{c}\n" for c in chosen)


def long_runs():
    """Much of one thing, which must not take time that grows with its square."""
    chosen = random.Random(5)
    letters = "".join(chosen.choices("abcdefghijklmnopqrstuvwxyz", k=LONG))
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
    return {
        "one letter": "a" * LONG,
        "spaces": " " * LONG,
        "newlines": "\n" * LONG,
        "random letters": letters,
        "emoji with joiners": family * (LONG // len(family.encode())),
    }


# Characters on which split patterns decide, in many scripts, so that short texts meet many rules.
TELLING = "aZ'sré漢字ß1٣½²  \t\n\r\u00a0\u3000\u2028\x1c\x85.!_-\u200d\u0301\ufeff😀İıſK\u0345\U0001d7d8"
texts = (
    st.text() | st.text(TELLING) | st.lists(st.sampled_from([*TELLING, "'ll", "'VE", "\r\n", "  ", "123"])).map("".join)
)
texts_with_surrogates = st.text(st.characters(codec=None) | st.sampled_from("\ud83d\ude00\udfff\ud800a "))
