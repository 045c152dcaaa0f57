"""Compare 100,000 tokens with 32,768: the merge loop alone, from word counts, and the whole training, from text.

python -m benchmarks.merge_loop                     # all corpora; saves the results
python -m benchmarks.merge_loop job COUNTS SIZE     # one training, as JSON
"""

from __future__ import annotations

import json
import sys
import time

from .harness import CACHE, alternate, corpus_file, ratio, save


def job(folder: str, size: int) -> None:
    import tokenmill
    from tokenmill.training import Options, Training

    counts = tokenmill.WordCounts.load(folder)
    start = time.perf_counter()
    training = Training(counts, Options(vocab_size=size))
    loaded = time.perf_counter()
    training.run()
    end = time.perf_counter()
    print(json.dumps({"seconds": round(end - start, 4), "load": round(loaded - start, 4)}))


def run() -> dict:
    import tokenmill

    results: dict = {}
    for corpus in ("en", "multi", "code"):
        folder = CACHE / f"{corpus}-counts"
        if not folder.exists():
            tokenmill.count(corpus_file(corpus)).save(folder)
        print(f"merge loop {corpus}", file=sys.stderr)
        jobs = {str(size): ["benchmarks.merge_loop", "job", str(folder), str(size)] for size in (32_768, 100_000)}
        for size in (32_768, 100_000):
            jobs[f"train {size}"] = [
                "benchmarks.train_jobs",
                "tokenmill_unchecked",
                str(corpus_file(corpus)),
                str(size),
            ]
        kept = alternate(jobs, rounds=5)
        results[corpus] = kept
        for what, key in (("", "seconds"), ("train ", "wall")):
            cost = ratio(kept[f"{what}100000"], kept[f"{what}32768"], key)
            print(f"  {what}100,000 tokens: {cost:.2f}x the time of 32,768", file=sys.stderr)
    return results


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        job(sys.argv[2], int(sys.argv[3]))
    else:
        save("merge_loop", run())
