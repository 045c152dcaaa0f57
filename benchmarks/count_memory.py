"""Count with a quarter of the memory that counting would use: does it respect the limit, and what does that cost?

python -m benchmarks.count_memory [--quick]

Each corpus is counted into a folder without a limit, and with a limit of a quarter of the size of the tables. The claims:
peak resident memory stays below the limit plus 150 MB, the time is at most 2.5 times as long, and the output has the
same bytes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from .harness import alternate, corpus_file, median, ratio, save

ROUNDS = 5
SPLITS = {
    "multi": "cl100k",
    "en": r"\S+\s*|\s+",
    "code": r"[^\n]*\n|[^\n]+",
}  # the last two produce many distinct pretokens


def job(path: str, split: str, limit: str) -> None:
    """One count in this process: python -m benchmarks.count_memory job FILE SPLIT LIMIT"""
    from tokenmill.counting import CountOptions
    from tokenmill.counting.threads import Threads
    from tokenmill.counting.to_folder import count_to_folder
    from tokenmill.jobs.work import JobOptions

    tables = 0
    original = Threads.part_of

    def watching(self, *arguments):
        nonlocal tables
        tables = max(tables, sum(counter.table.nbytes for counter in self.counters))
        return original(self, *arguments)

    Threads.part_of = watching
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        output = Path(folder) / "counts"
        start = time.perf_counter()
        summary = count_to_folder(
            path, output, split, CountOptions(memory_limit=int(limit)), job=JobOptions(num_threads=2)
        )
        seconds = time.perf_counter() - start
        digest = hashlib.sha256()
        for file in sorted(output.iterdir()):
            with open(file, "rb") as counts:  # in steps, because the peak memory of this process is measured
                for step in iter(lambda: counts.read(1 << 20), b""):
                    digest.update(step)
        shutil.rmtree(output)
    print(
        json.dumps(
            {
                "seconds": round(seconds, 3),
                "tables_mib": round(tables / 2**20, 1),
                "spills": summary.spills,
                "distinct": summary.distinct,
                "check": digest.hexdigest()[:16],
            }
        )
    )


def run(quick: bool = False) -> dict:
    results = {}
    for corpus, split in SPLITS.items():
        path = str(corpus_file(corpus))
        print(f"count within memory: {corpus}, {split}", file=sys.stderr)
        free = ["benchmarks.count_memory", "job", path, split, str(64 << 30)]
        need = alternate({"no limit": free}, rounds=1)["no limit"][0]["tables_mib"]
        limit = max(32, int(need / 4))
        limited = ["benchmarks.count_memory", "job", path, split, str(limit << 20)]
        kept = alternate({"no limit": free, "a quarter": limited}, rounds=1 if quick else ROUNDS)
        results[corpus] = {"split": split, "limit_mib": limit, "rounds": kept}
        peak, spills = max(r["peak_mib"] for r in kept["a quarter"]), kept["a quarter"][0]["spills"]
        print(
            f"  {corpus}: limit {limit} MiB of {need:.0f}, peak {peak:.0f} MiB (without limit "
            f"{median(kept['no limit'], 'peak_mib'):.0f}), {spills} spills, "
            f"{ratio(kept['a quarter'], kept['no limit'], 'seconds'):.2f} times as long",
            file=sys.stderr,
        )
    return results


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        job(*sys.argv[2:])
    else:
        quick = "--quick" in sys.argv
        results = run(quick)
        if not quick:
            save("count_memory", results)
