"""Compare 100,000 tokens with 32,768, and Picky BPE with plain BPE: the merge loop alone, from word counts, and whole trainings.

python -m benchmarks.merge_loop
"""

from __future__ import annotations

import sys
import time

from .harness import CORPORA, alternate, corpus_file, main
from .picky import counts_folder, refine_of


def job(folder: str, size: str, threshold: str) -> dict:
    import tokenmill
    from tokenmill.training import Options, Training

    counts = tokenmill.WordCounts.load(folder)
    start, cpu = time.perf_counter(), time.thread_time()  # it runs in this thread only
    training = Training(counts, Options(vocab_size=int(size), refine=refine_of(threshold)))
    loaded = time.perf_counter()
    training.run()
    end = time.perf_counter()
    return {"seconds": end - start, "load": loaded - start, "thread_seconds": time.thread_time() - cpu}


def run() -> dict:
    results: dict = {}
    for corpus in CORPORA:
        print(f"merge loop {corpus}", file=sys.stderr)
        from_counts = ["benchmarks.merge_loop", "job", str(counts_folder(corpus))]
        from_text = ["benchmarks.train_jobs", "tokenmill_unchecked", str(corpus_file(corpus))]
        jobs = {size: [*from_counts, size, "off"] for size in ("32768", "100000")}
        jobs |= {"picky": [*from_counts, "32768", "0.9"]}
        jobs |= {f"train {size}": [*from_text, size] for size in ("32768", "100000")}
        results[corpus] = alternate(jobs, rounds=9)
    return results


if __name__ == "__main__":
    main(run, job)
