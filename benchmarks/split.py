"""Split text into pretokens with one thread: the named patterns, a user's pattern, and the regex module.

python -m benchmarks.split                       # all corpora; saves the results
python -m benchmarks.split job FILE PATTERN WAY  # one pattern, as JSON; WAY is simd, scalar or regex
"""

from __future__ import annotations

import json
import os
import sys
import time

from .harness import alternate, corpus_file, save

ROUNDS = 5
# A user's pattern: words with their leading space or hyphen, numbers, other characters one by one.
OWN = r"[ -]?\p{L}[\p{L}\p{M}]*|\p{N}+|[^\p{L}\p{N}]"
PATTERNS = {
    "cl100k": "cl100k",
    "gpt2": "gpt2",
    "o200k": "o200k",
    "qwen2": "qwen2",
    "whitespace": "whitespace",
    "own": OWN,
}
SAMPLE = 4_000_000  # bytes for the regex module


def job(path: str, pattern: str, way: str) -> None:
    if way == "scalar":
        os.environ["TOKENMILL_SCALAR"] = "1"
    from tokenmill import Splitter

    splitter = Splitter(PATTERNS[pattern])
    with open(path, "rb") as file:
        text = file.read(SAMPLE if way == "regex" else -1)
    if way == "regex":
        import regex

        compiled = regex.compile(splitter.patterns[0])
        decoded = text.decode(errors="ignore")
        start = time.perf_counter()
        for _ in compiled.finditer(decoded):
            pass
    else:
        start, at = time.perf_counter(), 0
        while at < len(text):
            at = memoryview(splitter.scanner.fill(text, at, 1 << 12)).cast("Q")[-1]
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": round(seconds, 4), "mb_per_s": round(len(text) / 1e6 / seconds, 1)}))


def run() -> dict:
    results = {}
    for corpus in ("en", "multi", "code"):
        print(f"split {corpus}", file=sys.stderr)
        path = str(corpus_file(corpus))
        jobs = {name: ["benchmarks.split", "job", path, name, "simd"] for name in PATTERNS}
        jobs["cl100k, scalar"] = ["benchmarks.split", "job", path, "cl100k", "scalar"]
        jobs["cl100k, regex module"] = ["benchmarks.split", "job", path, "cl100k", "regex"]
        results[corpus] = alternate(jobs, rounds=ROUNDS, touch=False)
    return results


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        job(*sys.argv[2:])
    else:
        save("split", run())
