"""Compare two builds of tokenmill: python -m benchmarks.builds OTHER_SRC [ROUNDS]

OTHER_SRC is the src folder of another checkout, with its kernels compiled. Both builds run the same jobs in fresh
processes, alternating. The results of both must be equal. Every ratio is this build's CPU time divided by the other's,
the median over the rounds: that of the whole process (cpu), and for encoding those of the first call (cold) and of later calls (warm).
"""

from __future__ import annotations

import sys
from pathlib import Path

from .harness import CORPORA, ROOT, corpus_file, ratio, run_job

JOBS = {
    "train": lambda corpus: ["benchmarks.train_jobs", "tokenmill", str(corpus_file(corpus)), "32768"],
    "count": lambda corpus: ["benchmarks.count", "job", str(corpus_file(corpus)), "2"],
    "encode": lambda corpus: [
        "benchmarks.encode_jobs",
        "tokenmill",
        "cl100k",
        "one_array",
        str(corpus_file(corpus, 80_000_000)),
    ],
}


def main(other: Path, rounds: int) -> None:
    for task, arguments_of in JOBS.items():
        for corpus in CORPORA:
            arguments = arguments_of(corpus)
            pairs = [(run_job(arguments), run_job(arguments, other)) for _ in range(rounds)]
            if len({result["check"] for pair in pairs for result in pair}) > 1:
                raise RuntimeError(f"{task} {corpus}: the builds gave different results")
            new, old = zip(*pairs, strict=True)
            ratios = {key: round(ratio(new, old, key), 3) for key in ("cold", "warm", "cpu") if key in new[0]}
            print(f"{task:<7} {corpus:<6} {ratios}", flush=True)


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    main(ROOT / sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
