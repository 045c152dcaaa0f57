"""Compare Picky BPE with plain BPE in the same trainer: whole processes from a file, and the merge loop from word counts.

python -m benchmarks.picky [--quick]                 # saves the results; --quick: only en, one round
python -m benchmarks.picky text FILE SIZE T          # one training from a file, as JSON; T is "off" for plain BPE
python -m benchmarks.picky counts FOLDER SIZE T      # one training from saved counts
"""

from __future__ import annotations

import json
import sys
import time

from .harness import CACHE, alternate, corpus_file, median, ratio, save

SIZE = 32_768
THRESHOLDS = ("off", "0.9", "0.6")
SMALL = (
    "en",
    20_000_000,
    8_192,
    "0.9",
)  # corpus, bytes, tokens, T: the case for which the published prototype was timed


def train_text(path: str, size: int, refine: float | None) -> dict:
    import tokenmill

    start = time.perf_counter()
    tok = tokenmill.train(path, vocab_size=size, refine=refine)
    return {"seconds": time.perf_counter() - start, "vocabulary": tok.vocabulary.fingerprint()}


def train_counts(folder: str, size: int, refine: float | None) -> dict:
    import tokenmill
    from tokenmill.training import Options, Training

    training = Training(tokenmill.WordCounts.load(folder), Options(vocab_size=size, refine=refine))
    start, cpu = time.perf_counter(), time.thread_time()
    vocabulary = training.run()
    return {
        "seconds": time.perf_counter() - start,
        "thread_seconds": round(time.thread_time() - cpu, 4),  # the loop runs in this thread only
        "vocabulary": vocabulary.fingerprint(),
    }


def run(quick: bool = False) -> dict:
    results = {}
    rounds = 1 if quick else 5
    for corpus in ("en",) if quick else ("en", "multi", "code"):
        path, folder = corpus_file(corpus), counts_folder(corpus)
        print(f"picky {corpus}", file=sys.stderr)
        jobs = {
            f"{kind} {threshold}": ["benchmarks.picky", kind, str(source), str(SIZE), threshold]
            for kind, source in (("text", path), ("counts", folder))
            for threshold in THRESHOLDS
        }
        kept = results[corpus] = alternate(jobs, rounds)
        for threshold in THRESHOLDS:
            made = {r["vocabulary"] for kind in ("text", "counts") for r in kept[f"{kind} {threshold}"]}
            if len(made) > 1:
                raise RuntimeError(f"{corpus}, T = {threshold}: the vocabularies differ between runs: {made}")
        for threshold in THRESHOLDS[1:]:
            whole = ratio(kept[f"text {threshold}"], kept["text off"])
            cpu = ratio(kept[f"text {threshold}"], kept["text off"], "cpu")
            loop = ratio(kept[f"counts {threshold}"], kept["counts off"], "thread_seconds")
            print(
                f"  {corpus}, T = {threshold}: {whole:.2f}x plain BPE from text ({cpu:.2f}x the CPU time), "
                f"merge loop {loop:.2f}x",
                file=sys.stderr,
            )
    corpus, limit, size, threshold = SMALL
    job = ["benchmarks.picky", "text", str(corpus_file(corpus, limit)), str(size), threshold]
    results["small"] = alternate({f"{corpus}-{limit} {size} {threshold}": job}, rounds)
    for name, kept in results["small"].items():
        print(f"  {name}: {median(kept, 'seconds'):.2f} s, {median(kept, 'cpu'):.2f} s of CPU", file=sys.stderr)
    return results


def counts_folder(corpus: str, limit: int | None = None):
    """The word counts of a corpus, created once in the cache."""
    import tokenmill

    folder = CACHE / (f"{corpus}-counts" if limit is None else f"{corpus}-{limit}-counts")
    if not folder.exists():
        tokenmill.count(corpus_file(corpus, limit)).save(folder)
    return folder


if __name__ == "__main__":
    if sys.argv[1:2] in (["text"], ["counts"]):
        refine = None if sys.argv[4] == "off" else float(sys.argv[4])
        result = (train_text if sys.argv[1] == "text" else train_counts)(sys.argv[2], int(sys.argv[3]), refine)
        print(json.dumps(result | {"seconds": round(result["seconds"], 4)}))
    else:
        quick = "--quick" in sys.argv
        results = run(quick)
        if not quick:
            save("picky", results)
