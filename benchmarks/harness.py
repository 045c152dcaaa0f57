"""Run jobs in fresh processes, alternating (A B A B ...), and keep every round.

A job is a Python module with arguments that does one thing once and prints one line of JSON, such as
{"seconds": 0.81, "check": "9f3c..."}. The harness adds the operating system's figures for the whole process: wall and CPU
seconds and peak resident memory. If the `check` values within one group differ, the jobs did not do the same work, and
the harness raises an error.

Known pitfalls:

- The speed of a shared machine drifts. Only alternating rounds are comparable, and results are quoted as ratios.
- Libraries with caches need separate figures for first (cold) and later (warm) calls.
- The first run after a write includes disk time.
- A virtual machine may return free memory to its host. The next process that gets this memory waits for the host, 2 to
  8 ms for 2 MB (docs/experiments/tokenizer.md). To make this equal for all jobs, a process allocates and frees a
  gigabyte before each job.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
CACHE = Path(os.environ.get("TOKENMILL_BENCH_CACHE", ROOT / "build" / "bench"))
SHARED = Path(os.environ.get("TOKENMILL_SHARED", ROOT.parent / "shared"))
PEERS = (
    "bpeasy",
    "fastokens",
    "gigatoken",
    "rs_bpe",
    "rustbpe",
    "sentencepiece",
    "tiktoken",
    "tokenizers",
    "wordchipper",
)


def corpus_file(name: str, limit: int | None = None) -> Path:
    """The corpus `name` (en, multi, code) as a plain file of at most `limit` bytes, decompressed once into the cache."""
    import zstandard

    path = CACHE / (f"{name}.txt" if limit is None else f"{name}-{limit}.txt")
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with zstandard.open(SHARED / "corpus" / f"{name}.txt.zst", "rb") as packed:
            if limit is None:  # in steps: the reported peak memory of a job is at least that of this process
                with open(path.with_suffix(".part"), "wb") as file:
                    shutil.copyfileobj(packed, file, 1 << 20)
                path.with_suffix(".part").rename(path)
            else:
                data = packed.read(limit)
                path.write_bytes(data[: data.rfind(b"\n") + 1])
    return path


def run_job(arguments: list[str], src: Path = ROOT / "src", python: str = sys.executable) -> dict:
    """Run `-m arguments...` in a fresh process of `python`; return its JSON with wall, CPU and peak memory added.

    src: the folder that holds the package tokenmill, compiled.
    """
    environment = {**os.environ, "PYTHONPATH": f"{src}:{ROOT}", "TOKENIZERS_PARALLELISM": "true"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # so that not every process compiles installed packages again
    subprocess.run([sys.executable, "-S", "-c", "b = bytearray(1 << 30); b[::4096] = bytes(1 << 18)"], check=True)
    start = time.perf_counter()
    process = subprocess.Popen([python, "-m", *arguments], stdout=subprocess.PIPE, env=environment, cwd=ROOT, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status != 0:
        raise RuntimeError(f"{' '.join(arguments)} ended with status {status}")
    return {
        **json.loads(output.strip().splitlines()[-1]),
        "wall": round(wall, 4),
        "cpu": round(usage.ru_utime + usage.ru_stime, 4),
        "peak_mib": round(usage.ru_maxrss / 1024, 1),
    }


def alternate(
    jobs: dict[str, list[str]], rounds: int = 3, skip_after: float = 120.0, pythons: dict[str, str] | None = None
) -> dict[str, list[dict]]:
    """Run all jobs alternating, `rounds` times. A job slower than `skip_after` seconds runs only once.

    pythons: the interpreters of jobs that do not run in this one.
    """
    kept: dict[str, list[dict]] = {name: [] for name in jobs}
    for turn in range(rounds):
        for name, arguments in jobs.items():
            if turn and kept[name][0]["wall"] > skip_after:
                continue
            result = run_job(arguments, python=(pythons or {}).get(name, sys.executable))
            kept[name].append(result)
            print(f"  {name:<28} {result}", file=sys.stderr)
    checks = {r["check"] for results in kept.values() for r in results if "check" in r}
    if len(checks) > 1:
        raise RuntimeError(f"the jobs gave different results: {checks}")
    return kept


def median(results: list[dict], key: str = "wall") -> float:
    return statistics.median(result[key] for result in results)


def ratio(a: list[dict], b: list[dict], key: str = "wall") -> float:
    """The median of the ratios a/b of each round, which is robust against drift of the machine."""
    if len(a) == len(b):
        return statistics.median(x[key] / y[key] for x, y in zip(a, b, strict=True))
    return median(a, key) / median(b, key)


def environment() -> dict:
    """The machine, versions and commit of a measurement."""
    versions = {}
    for peer in PEERS:
        try:
            versions[peer] = metadata.version(peer)
        except metadata.PackageNotFoundError:
            versions[peer] = None
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    return {
        "commit": commit,
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "date": time.strftime("%Y-%m-%d"),
        "versions": versions,
    }


def save(topic: str, results: dict) -> Path:
    """Save all rounds of a topic as benchmarks/results/TOPIC.json."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{topic}.json"
    path.write_text(json.dumps({"environment": environment(), "results": results}, indent=1) + "\n")
    return path
