"""Measure the cost of each step on one core, for the cost model in docs/how-to/ray.md.

python -m benchmarks.cluster_costs

The figures are CPU time, which other work on the machine affects little, of whole processes with one worker or thread,
minus the CPU time of the same command on a tiny input. Sizes are those of the output files.
"""

from __future__ import annotations

import bz2
import json
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .clean_wikipedia import dump
from .harness import CACHE, corpus_file, main, run_job, shared_file

TRAIN = ["--vocab-size", "32768", "--special-token", "<|endoftext|>", "--min-count", "10"]


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size


def run() -> dict:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        return costs(Path(folder))


def costs(folder: Path) -> dict:
    number = 0

    def step(*command: str) -> tuple[dict, Path]:
        """Run one command; return its measurements and its output."""
        nonlocal number
        number += 1
        path = folder / f"out-{number}"
        return run_job(["tokenmill", *command, "-o", str(path), "--json"]), path

    def cost(*command: str, sources: list[str], tiny: list[str]) -> tuple[float, Path]:
        """The CPU seconds that a command takes for sources, beyond those for tiny ones."""
        started = min(step(*command, *tiny)[0]["cpu"] for _ in range(2))
        runs = [step(*command, *sources) for _ in range(2)]
        return min(result["cpu"] for result, _ in runs) - started, runs[-1][1]

    tiny = folder / "tiny.txt"
    tiny.write_text("A sentence that is long enough to be kept by the cleaner, whatever it may say to whom. " * 3)
    small_dump = folder / "tiny.xml"
    small_dump.write_text(
        f"<mediawiki><page><title>A</title><ns>0</ns><text>{tiny.read_text()}</text></page></mediawiki>"
    )
    small_parquet = folder / "tiny.parquet"
    pq.write_table(pa.table({"text": [tiny.read_text()]}), small_parquet)
    results: dict = {}

    source = dump()
    plain = len(bz2.decompress(source.read_bytes()))
    seconds, made = cost("clean", "wikipedia", "--num-threads", "1", sources=[str(source)], tiny=[str(small_dump)])
    results["clean wikipedia"] = {"bytes": plain, "cpu": seconds, "stored": size(made)}
    shards = [str(made)] * 4  # the form that every later step reads: JSON lines in zstandard
    seconds, _ = cost("count", "--num-threads", "1", sources=shards, tiny=shards[:1])
    text = json.loads(made.with_name(f"{made.name}.report.json").read_text())["bytes_out"]
    results["count shards"] = {"bytes": 3 * text, "cpu": seconds, "stored": 0}
    parquet = [str(shared_file("corpus", "fineweb-schema-sample.parquet"))] * 4
    seconds, made = cost("clean", "fineweb", "--num-threads", "1", sources=parquet, tiny=[str(small_parquet)])
    report = json.loads(made.with_name(f"{made.name}.report.json").read_text())
    results["clean fineweb"] = {"bytes": report["bytes_in"], "cpu": seconds, "stored": size(made)}
    for corpus in ("en", "multi"):
        path = str(corpus_file(corpus))
        nbytes = Path(path).stat().st_size
        seconds, counts = cost("count", "--num-threads", "1", sources=[path], tiny=[str(tiny)])
        results[f"count {corpus}"] = {"bytes": nbytes, "cpu": seconds, "stored": size(counts)}
        results[f"count {corpus}"] |= run_job(["benchmarks.cluster_costs", "pretokens", str(counts)])
        seconds, _ = cost("count", "--merge", sources=[str(counts)] * 16, tiny=[str(counts)])
        rows = 15 * results[f"count {corpus}"]["distinct"]
        results[f"merge {corpus}"] = {"rows": rows, "cpu": seconds}
        _, tokenizer = step("train", str(counts), *TRAIN)
        options = ["encode", "--tokenizer", str(tokenizer), "--format", "bin", "--num-threads", "1"]
        seconds, made = cost(*options, sources=[path], tiny=[str(tiny)])
        results[f"encode {corpus}"] = {"bytes": nbytes, "cpu": seconds, "stored": size(made)}
    for name, row in results.items():
        print(f"{name:<20} {row}", file=sys.stderr)
    return results


def pretokens(folder: str) -> dict:
    """The number of distinct pretokens, the number left with min_count, their size, and the memory of training on them."""
    import numpy as np

    from tokenmill import WordCounts
    from tokenmill.training import estimate_memory

    counts = WordCounts.load(folder)
    return {
        "distinct": len(counts),
        "kept": {str(least): int(np.count_nonzero(counts.counts >= least)) for least in (2, 5, 10, 100)},
        "pretoken_bytes": len(counts.arena),
        "training_bytes": {
            str(least): estimate_memory(counts, 32_768, min_count=least) for least in (1, 2, 5, 10, 100)
        },
    }


if __name__ == "__main__":
    main(run, pretokens)
