"""Count a file into one merged table, with one thread and with two, from plain text and from .zst.

python -m benchmarks.count [--quick]
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

from .harness import SHARED, alternate, corpus_file, median, ratio, save

ROUNDS = 7


def job(path: str, num_threads: str) -> None:
    """One count in this process: python -m benchmarks.count job FILE THREADS"""
    import numpy  # noqa: F401

    from tokenmill import Splitter, count

    splitter = Splitter("cl100k")  # compiled before the clock starts
    start = time.perf_counter()
    counts = count(path, split=splitter, num_threads=int(num_threads))
    seconds = time.perf_counter() - start
    digest = hashlib.sha256(counts.arena.tobytes() + counts.counts.tobytes()).hexdigest()[:16]
    print(
        json.dumps(
            {"seconds": round(seconds, 4), "mb_per_s": round(counts.total_bytes / 1e6 / seconds, 1), "check": digest}
        )
    )


def run(quick: bool = False) -> dict:
    results = {}
    for corpus in ("en", "multi", "code"):
        print(f"count {corpus}", file=sys.stderr)
        plain, packed = str(corpus_file(corpus)), str(SHARED / "corpus" / f"{corpus}.txt.zst")
        jobs = {
            "1 thread": ["benchmarks.count", "job", plain, "1"],
            "2 threads": ["benchmarks.count", "job", plain, "2"],
            "2 threads, .zst": ["benchmarks.count", "job", packed, "2"],
        }
        kept = alternate(jobs, rounds=2 if quick else ROUNDS)
        results[corpus] = kept
        speeds = ", ".join(f"{name} {max(r['mb_per_s'] for r in rounds):.0f} MB/s" for name, rounds in kept.items())
        gain = ratio(kept["1 thread"], kept["2 threads"], "seconds")
        peak = median(kept["2 threads"], "peak_mib")
        print(f"  {corpus}: {speeds}; speed-up of two threads {gain:.2f}x; peak {peak:.0f} MiB", file=sys.stderr)
    return results


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        job(*sys.argv[2:])
    else:
        quick = "--quick" in sys.argv
        results = run(quick)
        if not quick:
            save("count", results)
