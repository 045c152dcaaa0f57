"""Compare two builds of tokenmill: python -m benchmarks.builds OTHER_SRC [ROUNDS]

OTHER_SRC is the src folder of another checkout, with its kernels compiled. Both builds run the same jobs in fresh
processes, alternating. The results of both must be equal. Every ratio is this build's CPU time divided by the other's,
the median over the rounds.

    python -m benchmarks.builds job train|count|encode CORPUS    one job, in the build that PYTHONPATH names
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import time
from pathlib import Path

from .harness import CORPORA, ROOT, SHARED, corpus_file, run_job

ENCODED = 20_000_000  # bytes


def job(task: str, corpus: str) -> dict:
    """One job. `cold` (loading and the first call) and `warm` (later calls) are CPU seconds inside of the process; the harness
    adds those of the whole process."""
    import tokenmill

    if task == "train":
        tok = tokenmill.train(corpus_file(corpus), 32_768)
        return {"check": hashlib.sha256(b"\n".join(tok.vocabulary.tokens)).hexdigest()[:16]}
    if task == "count":
        counts = tokenmill.count(corpus_file(corpus), num_threads=1)
        return {"check": f"{len(counts)} {int(counts.counts.sum())}"}
    text = corpus_file(corpus, ENCODED).read_text(encoding="utf-8", errors="replace")
    import numpy  # noqa: F401  late imports are not what is timed

    seconds = []
    for call in range(4):
        start = time.process_time()
        if call == 0:  # builds may do the same work in loading or in the first call
            tok = tokenmill.load(SHARED / "vocab" / "cl100k_base.tiktoken")
        ids = tok.encode_to_numpy(text)
        seconds.append(time.process_time() - start)
    return {"check": hashlib.sha256(ids.tobytes()).hexdigest()[:16], "cold": seconds[0], "warm": min(seconds[1:])}


def main(other: Path, rounds: int) -> None:
    for task in ("train", "count", "encode"):
        for corpus in CORPORA:
            arguments = ["benchmarks.builds", "job", task, corpus]
            pairs = [(run_job(arguments), run_job(arguments, other)) for _ in range(rounds)]
            checks = {result["check"] for pair in pairs for result in pair}
            if len(checks) > 1:
                raise RuntimeError(f"{task} {corpus}: the builds gave different results")
            keys = ("cold", "warm") if task == "encode" else ("cpu",)
            ratios = {key: round(statistics.median(new[key] / old[key] for new, old in pairs), 3) for key in keys}
            print(f"{task:<7} {corpus:<6} {ratios}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "job":
        print(json.dumps(job(*sys.argv[2:])))
    else:
        main(ROOT / sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
