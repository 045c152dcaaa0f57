"""Split text into pretokens with one thread: the named patterns, a user's pattern, and the regex module.

python -m benchmarks.split [--quick]
"""

from __future__ import annotations

import os
import sys
import time

from .harness import CORPORA, alternate, corpus_file, main

# A user's pattern: words with their leading space or hyphen, numbers, other characters one by one.
OWN = r"[ -]?\p{L}[\p{L}\p{M}]*|\p{N}+|[^\p{L}\p{N}]"
PATTERNS = {name: name for name in ("cl100k", "gpt2", "o200k", "qwen2", "whitespace")} | {"own": OWN}
SAMPLE = 4_000_000  # bytes for the regex module


def job(path: str, pattern: str, way: str) -> dict:
    """Split a file by one pattern. way: simd, scalar or regex."""
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
    return {"seconds": seconds, "mb_per_s": len(text) / 1e6 / seconds}


def run() -> dict:
    results = {}
    for corpus in CORPORA:
        print(f"split {corpus}", file=sys.stderr)
        path = str(corpus_file(corpus))
        jobs = {name: ["benchmarks.split", "job", path, name, "simd"] for name in PATTERNS}
        jobs["cl100k, scalar"] = ["benchmarks.split", "job", path, "cl100k", "scalar"]
        jobs["cl100k, regex module"] = ["benchmarks.split", "job", path, "cl100k", "regex"]
        results[corpus] = alternate(jobs, touch=False)
    return results


if __name__ == "__main__":
    main(run, job)
