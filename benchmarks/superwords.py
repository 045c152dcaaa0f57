"""Superwords against plain BPE: the command that trains 49,152 tokens, with and without the exact cut, and encoding.

python -m benchmarks.superwords                          # English, and 500 MB; saves the results
python -m benchmarks.superwords job plain|superbpe|uncut|boundless|encode|encode-boundless|tokenizers FILE    # one job, as JSON

The text of 500 MB is the three corpora, then the same with the letters a to z renamed by a seeded permutation, which makes
new words with the same lengths and frequencies.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import statistics
import string
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .harness import CACHE, alternate, command, corpus_file, median, ratio, save

SIZES = (32_768, 49_152)
ENCODED = 60_000_000  # bytes
SLICES = 6
ROUNDS = 5
TOKENIZERS = {"superbpe": CACHE / "superbpe-en", "boundless": CACHE / "boundless-en"}
SIZE = 500_000_000  # bytes of the largest text
ENCODERS = ("encode", "encode-boundless", "tokenizers")
WAYS = ("plain", "superbpe", "uncut", "boundless")


def large_file(size: int) -> Path:
    """The first `size` bytes of the large text."""
    path = CACHE / f"superwords-{size}.txt"
    if path.exists():
        return path
    letters = string.ascii_lowercase.encode()
    names = letters
    left = size
    with open(path.with_suffix(".part"), "wb") as file:
        while left > 0:
            for corpus in ("en", "multi", "code"):
                table = bytes.maketrans(letters + letters.upper(), names + names.upper())
                with open(corpus_file(corpus), "rb") as text:
                    while left > 0 and (part := text.read(min(left, 1 << 24))):
                        left -= file.write(part.translate(table))
            names = bytes(random.Random(1).sample(letters, 26))
    path.with_suffix(".part").rename(path)
    return path


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


def job(way: str, path: str) -> None:
    jobs = {"encode": encode, "encode-boundless": partial(encode, way="boundless"), "tokenizers": tokenizers}
    result = train(path, way) if way in WAYS else jobs[way](path)
    print(json.dumps(result))


def run(rounds: int = ROUNDS) -> dict:
    text, part = str(corpus_file("en")), str(corpus_file("en", ENCODED))
    trained = alternate({way: ["benchmarks.superwords", "job", way, text] for way in WAYS}, rounds)
    encoded = alternate({way: ["benchmarks.superwords", "job", way, part] for way in ENCODERS}, rounds)
    for way in WAYS[1:]:
        cost = {key: round(ratio(trained[way], trained["plain"], key), 2) for key in ("wall", "cpu", "peak_mib")}
        print(f"  {way}: {cost} times plain training", file=sys.stderr)
    for way, kept in encoded.items():
        speeds = [round(median(kept, key), 1) for key in ("cold_mb_per_s", "warm_mb_per_s")]
        print(f"  {way}: cold and warm {speeds} MB/s", file=sys.stderr)
    file = str(large_file(SIZE))
    grown = alternate({way: ["benchmarks.superwords", "job", way, file] for way in WAYS if way != "uncut"}, rounds)
    return {"en": trained | encoded, "grown": {f"{SIZE // 10**6} MB": grown}}


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        job(sys.argv[2], sys.argv[3])
    else:
        save("superwords", run())
