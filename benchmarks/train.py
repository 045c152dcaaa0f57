"""Train end to end in whole processes: tokenmill against rustbpe and gigatoken, and on English the slower peers too.

python -m benchmarks.train [--quick]      # --quick: without the slower peers
"""

from __future__ import annotations

import sys

from .harness import CORPORA, QUICK, alternate, corpus_file, main

SIZE = 32_768
SLOWER = ("tokenizers", "bpeasy", "sentencepiece")  # 10 to 30 s for each training


def run() -> dict:
    results = {}
    for corpus in CORPORA:
        path = str(corpus_file(corpus))
        print(f"train {corpus}", file=sys.stderr)
        libraries = ["tokenmill", "tokenmill_gpt2", "rustbpe", "gigatoken"]
        if corpus == "en" and not QUICK:
            libraries += SLOWER
        jobs = {library: ["benchmarks.train_jobs", library, path, str(SIZE)] for library in libraries}
        results[corpus] = alternate(jobs)
    return results


if __name__ == "__main__":
    main(run)
