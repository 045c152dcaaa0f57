"""Compare 100,000 tokens with 32,768, and Picky BPE with plain BPE: the merge loop alone, from word counts, and whole trainings.

python -m benchmarks.merge_loop                     # all corpora; saves the results
python -m benchmarks.merge_loop job COUNTS SIZE [T] # one training, as JSON; T is the threshold of Picky BPE
"""

from __future__ import annotations

import json
import sys
import time

from .harness import CACHE, alternate, corpus_file, ratio, save


def job(folder: str, size: int, refine: float | None = None) -> None:
    import tokenmill
    from tokenmill.training import Options, Training

    counts = tokenmill.WordCounts.load(folder)
    start, cpu = time.perf_counter(), time.thread_time()  # it runs in this thread only
    training = Training(counts, Options(vocab_size=size, refine=refine))
    loaded = time.perf_counter()
    training.run()
    end = time.perf_counter()
    spent = {"seconds": end - start, "load": loaded - start, "thread_seconds": time.thread_time() - cpu}
    print(json.dumps({name: round(value, 4) for name, value in spent.items()}))


def run() -> dict:
    import tokenmill

    results: dict = {}
    for corpus in ("en", "multi", "code"):
        folder = CACHE / f"{corpus}-counts"
        if not folder.exists():
            tokenmill.count(corpus_file(corpus)).save(folder)
        print(f"merge loop {corpus}", file=sys.stderr)
        jobs = {str(size): ["benchmarks.merge_loop", "job", str(folder), str(size)] for size in (32_768, 100_000)}
        jobs["picky"] = ["benchmarks.merge_loop", "job", str(folder), "32768", "0.9"]
        for size in (32_768, 100_000):
            jobs[f"train {size}"] = [
                "benchmarks.train_jobs",
                "tokenmill_unchecked",
                str(corpus_file(corpus)),
                str(size),
            ]
        kept = alternate(jobs, rounds=9)
        results[corpus] = kept
        for what, key in (("", "thread_seconds"), ("train ", "cpu")):
            cost = ratio(kept[f"{what}100000"], kept[f"{what}32768"], key)
            print(f"  {what}100,000 tokens: {cost:.2f}x the CPU time of 32,768", file=sys.stderr)
        print(f"  picky: {ratio(kept['picky'], kept['32768'], 'thread_seconds'):.2f}x plain", file=sys.stderr)
    return results


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        job(sys.argv[2], int(sys.argv[3]), *map(float, sys.argv[4:]))
    else:
        save("merge_loop", run())
