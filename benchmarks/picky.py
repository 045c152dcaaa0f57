"""Compare Picky BPE with plain BPE in the same trainer: whole processes from a file, and the merge loop from word counts.

python -m benchmarks.picky [--quick]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from .harness import CACHE, CORPORA, alternate, corpus_file, main

SIZE = 32_768
THRESHOLDS = ("off", "0.9", "0.6")
# Corpus, bytes, tokens, T: the case for which the published prototype was timed.
SMALL = ("en", 20_000_000, 8_192, "0.9")


def refine_of(threshold: str) -> float | None:
    """The threshold of Picky BPE; None for plain BPE, which is "off"."""
    return None if threshold == "off" else float(threshold)


def text(path: str, size: str, threshold: str) -> dict:
    """One training from a file."""
    import tokenmill

    start = time.perf_counter()
    tok = tokenmill.train(path, vocab_size=int(size), refine=refine_of(threshold))
    return {"seconds": time.perf_counter() - start, "vocabulary": tok.vocabulary.fingerprint()}


def counts(folder: str, size: str, threshold: str) -> dict:
    """One training from saved counts. The loop runs in this thread only."""
    import tokenmill
    from tokenmill.training import Options, Training

    options = Options(vocab_size=int(size), refine=refine_of(threshold))
    training = Training(tokenmill.WordCounts.load(folder), options)
    start, cpu = time.perf_counter(), time.thread_time()
    vocabulary = training.run()
    spent = {"seconds": time.perf_counter() - start, "thread_seconds": time.thread_time() - cpu}
    return spent | {"vocabulary": vocabulary.fingerprint()}


def run() -> dict:
    results = {}
    for corpus in CORPORA:
        print(f"picky {corpus}", file=sys.stderr)
        sources = {"text": corpus_file(corpus), "counts": counts_folder(corpus)}
        jobs = {
            f"{kind} {threshold}": ["benchmarks.picky", kind, str(source), str(SIZE), threshold]
            for kind, source in sources.items()
            for threshold in THRESHOLDS
        }
        kept = results[corpus] = alternate(jobs)
        for threshold in THRESHOLDS:
            made = {r["vocabulary"] for kind in sources for r in kept[f"{kind} {threshold}"]}
            if len(made) > 1:
                raise RuntimeError(f"{corpus}, T = {threshold}: the vocabularies differ between runs: {made}")
    corpus, limit, size, threshold = SMALL
    job = ["benchmarks.picky", "text", str(corpus_file(corpus, limit)), str(size), threshold]
    results["small"] = alternate({f"{corpus}-{limit} {size} {threshold}": job})
    return results


def counts_folder(corpus: str, limit: int | None = None) -> Path:
    """The word counts of a corpus, created once in the cache."""
    import tokenmill

    folder = CACHE / (f"{corpus}-counts" if limit is None else f"{corpus}-{limit}-counts")
    if not folder.exists():
        tokenmill.count(corpus_file(corpus, limit)).save(folder)
    return folder


if __name__ == "__main__":
    main(run, text, counts)
