"""Count a file into one merged table, with one thread and with two, from plain text and from .zst.

python -m benchmarks.count [--quick]
"""

from __future__ import annotations

import hashlib
import sys
import time

from .harness import CORPORA, alternate, corpus_file, main, shared_file


def job(path: str, num_threads: str) -> dict:
    """One count in this process: python -m benchmarks.count job FILE THREADS"""
    import numpy  # noqa: F401

    from tokenmill import Splitter, count

    splitter = Splitter("cl100k")  # compiled before the clock starts
    start = time.perf_counter()
    counts = count(path, split=splitter, num_threads=int(num_threads))
    seconds = time.perf_counter() - start
    digest = hashlib.sha256(counts.arena.tobytes() + counts.counts.tobytes()).hexdigest()[:16]
    return {"seconds": seconds, "mb_per_s": counts.total_bytes / 1e6 / seconds, "check": digest}


def run() -> dict:
    results = {}
    for corpus in CORPORA:
        print(f"count {corpus}", file=sys.stderr)
        plain, packed = str(corpus_file(corpus)), str(shared_file("corpus", f"{corpus}.txt.zst"))
        jobs = {
            "1 thread": ["benchmarks.count", "job", plain, "1"],
            "2 threads": ["benchmarks.count", "job", plain, "2"],
            "2 threads, .zst": ["benchmarks.count", "job", packed, "2"],
        }
        results[corpus] = alternate(jobs, rounds=7)
    return results


if __name__ == "__main__":
    main(run, job)
