"""Superwords against plain BPE: the command that trains 49,152 tokens, with and without the exact cut, and encoding.

python -m benchmarks.superwords [--quick]

The text of 500 MB is the three corpora, then the same with the letters a to z renamed by a seeded permutation, which makes
new words with the same lengths and frequencies.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import shutil
import statistics
import string
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .harness import CACHE, CORPORA, alternate, command, corpus_file, main, renamed_copies

SIZES = (32_768, 49_152)
ENCODED = 60_000_000  # bytes
SLICES = 6
TOKENIZERS = {"superbpe": CACHE / "superbpe-en", "boundless": CACHE / "boundless-en"}
SIZE = 500_000_000  # bytes of the largest text
ENCODERS = ("encode", "encode-boundless", "tokenizers")
WAYS = ("plain", "superbpe", "uncut", "boundless")


def large_file(size: int) -> Path:
    """The first `size` bytes of the large text."""
    letters = string.ascii_lowercase
    others = "".join(random.Random(1).sample(letters, 26))
    names = itertools.chain([letters], itertools.repeat(others))
    return renamed_copies(CACHE / f"superwords-{size}.txt", CORPORA, size, names)


def train(path: str, way: str) -> dict:
    """The whole command, with what it prints and saves."""
    from tokenmill.superwords import passes

    if way == "uncut":
        passes.guess = lambda totals, wanted: 1
    options = ["--superwords", "superbpe", "--stage1-size", str(SIZES[0])]
    options = {"plain": [], "boundless": ["--superwords", "boundless"]}.get(way, options)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "tokenizer"
        command("train", path, "--vocab-size", str(SIZES[1]), "-o", str(output), "--json", *options)
        found = (output / "tokenizer.json").read_bytes()
        if way in TOKENIZERS and not TOKENIZERS[way].exists() and path == str(corpus_file("en")):
            shutil.copytree(output, TOKENIZERS[way])
    return {"check": hashlib.sha256(found).hexdigest()[:16]} if way in ("superbpe", "uncut") else {}


def slices(call: Callable[[str], object], text: bytes) -> dict:
    """MB per CPU second of the first call, and the median of the later ones, each with new text."""
    size, rates = len(text) // SLICES, []
    for number in range(SLICES):
        part = text[number * size : (number + 1) * size].decode(errors="ignore")
        start = time.process_time()
        call(part)
        rates.append(size / 1e6 / (time.process_time() - start))
    return {"cold_mb_per_s": rates[0], "warm_mb_per_s": statistics.median(rates[1:])}


def encode(path: str, way: str = "superbpe") -> dict:
    """Speeds of one thread."""
    import tokenmill

    tok = tokenmill.load(TOKENIZERS[way])
    tok.encode_to_numpy("a")
    return slices(tok.encode_to_numpy, Path(path).read_bytes())


def tokenizers(path: str) -> dict:
    """The same for tokenizers, on the first megabytes."""
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(str(TOKENIZERS["superbpe"] / "tokenizer.json"))
    return slices(tok.encode, Path(path).read_bytes()[:4_000_000])


def job(way: str, path: str) -> dict:
    jobs = {"encode": encode, "encode-boundless": partial(encode, way="boundless"), "tokenizers": tokenizers}
    return train(path, way) if way in WAYS else jobs[way](path)


def run() -> dict:
    text, part = str(corpus_file("en")), str(corpus_file("en", ENCODED))
    trained = alternate({way: ["benchmarks.superwords", "job", way, text] for way in WAYS})
    encoded = alternate({way: ["benchmarks.superwords", "job", way, part] for way in ENCODERS})
    file = str(large_file(SIZE))
    grown = alternate({way: ["benchmarks.superwords", "job", way, file] for way in WAYS if way != "uncut"})
    return {"en": trained | encoded, "grown": {f"{SIZE // 10**6} MB": grown}}


if __name__ == "__main__":
    main(run, job)
