"""Train end to end in whole processes: tokenmill against rustbpe and gigatoken, and on English the slower peers too.

python -m benchmarks.train [--quick]      # --quick: without the slower peers, one round
"""

from __future__ import annotations

import sys

from .harness import alternate, corpus_file, median, ratio, save

SIZE = 32_768
ROUNDS = 5
SLOWER = ("tokenizers", "bpeasy", "sentencepiece")  # 10 to 30 s for each training


def run(quick: bool = False) -> dict:
    results = {}
    for corpus in ("en", "multi", "code"):
        path = str(corpus_file(corpus))
        print(f"train {corpus}", file=sys.stderr)
        libraries = ["tokenmill", "tokenmill_gpt2", "rustbpe", "gigatoken"]
        if corpus == "en" and not quick:
            libraries += SLOWER
        jobs = {library: ["benchmarks.train_jobs", library, path, str(SIZE)] for library in libraries}
        kept = alternate(jobs, rounds=1 if quick else ROUNDS)
        results[corpus] = kept
        for library in libraries[2:]:
            ours = kept["tokenmill_gpt2" if library == "gigatoken" else "tokenmill"]
            print(
                f"  {corpus}: {ratio(kept[library], ours):.1f}x {library}; peak {median(ours, 'peak_mib'):.0f} MiB "
                f"against {median(kept[library], 'peak_mib'):.0f}",
                file=sys.stderr,
            )
    return results


if __name__ == "__main__":
    quick = "--quick" in sys.argv
    results = run(quick)
    if not quick:
        save("train", results)
