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

import contextlib
import io
import json
import os
import platform
import resource
import shutil
import statistics
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
CACHE = Path(os.environ.get("TOKENMILL_BENCH_CACHE", ROOT / "build" / "bench"))
SHARED = Path(os.environ.get("TOKENMILL_SHARED", ROOT.parent / "shared"))
CORPORA = ("en", "multi", "code")
QUICK = "--quick" in sys.argv  # one round of each job, and nothing is saved
LOAD = os.getloadavg()[0]  # before anything was measured
FLAGS = ("avx2", "avx512f", "avx512bw", "avx512vbmi", "vaes", "gfni", "asimd", "sve")  # of those that a kernel may use
PEERS = (
    "bpeasy",
    "fastokens",
    "gigatoken",
    "iree",
    "kitoken",
    "rs_bpe",
    "rustbpe",
    "sentencepiece",
    "splintr",
    "tiktoken",
    "tokenizers",
    "tokie",
    "wordchipper",
)
PACKAGES = {"iree": "iree-tokenizer", "splintr": "splintr-rs"}  # where the names differ

Item = TypeVar("Item")


def main(run: Callable[[], dict | None], *jobs: Callable[..., dict]) -> None:
    """python -m benchmarks.TOPIC [--quick]: run a topic and save its results. With JOB ARGUMENT...: one of its jobs, as JSON."""
    if words := [word for word in sys.argv[1:] if word != "--quick"]:
        with contextlib.redirect_stdout(sys.stderr):
            result = {job.__name__: job for job in jobs}[words[0]](*words[1:])
        result = {"peak_mib": peak_mib(), **result}
        print(
            json.dumps({key: round(value, 8) if isinstance(value, float) else value for key, value in result.items()})
        )
    else:
        if (results := run()) is None:
            return
        save(Path(sys.argv[0]).stem, results)
        if QUICK:
            print(json.dumps(results, indent=1))


def peak_mib() -> float:
    """The peak memory of this process, or of the largest one that it has started."""
    from tokenmill.kernels.machine import peak_memory

    return round(max(peak_memory() / 1024, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024, 1)


def command(*words: str) -> None:
    """Run `tokenmill WORDS` in this process, without what it prints."""
    from tokenmill.cli.main import app

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = app(words)
    if code:
        raise RuntimeError(f"tokenmill {' '.join(words)}: {printed.getvalue()}")


def shared_file(*names: str) -> Path:
    """A file of the large corpora or of the published vocabularies. Exit if it is not on this machine."""
    path = SHARED.joinpath(*names)
    if not path.exists():
        sys.exit(
            f"no {path}: set TOKENMILL_SHARED to the folder with the large corpora and the vocabularies, or run make bench-quick, "
            "which needs neither"
        )
    return path


def corpus_file(name: str, limit: int | None = None) -> Path:
    """The corpus `name` (en, multi, code) as a plain file of at most `limit` bytes, decompressed once into the cache."""
    import zstandard

    path = CACHE / (f"{name}.txt" if limit is None else f"{name}-{limit}.txt")
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with zstandard.open(shared_file("corpus", f"{name}.txt.zst"), "rb") as packed:
            if limit is None:
                with open(path.with_suffix(".part"), "wb") as file:
                    shutil.copyfileobj(packed, file, 1 << 20)
                path.with_suffix(".part").rename(path)
            else:
                data = packed.read(limit)
                path.write_bytes(data[: data.rfind(b"\n") + 1])
    return path


def renamed_copies(path: Path, corpora: Iterable[str], size: int, names: Iterator[str]) -> Path:
    """Make a text of `size` bytes: the corpora again and again, each time with other letters for a to z, which `names` gives."""
    letters, left = string.ascii_lowercase, size
    if path.exists():
        return path
    with open(path.with_suffix(".part"), "wb") as file:
        while left > 0:
            new = next(names)
            table = bytes.maketrans((letters + letters.upper()).encode(), (new + new.upper()).encode())
            for corpus in corpora:
                with open(corpus_file(corpus), "rb") as text:
                    while left > 0 and (part := text.read(min(left, 1 << 24))):
                        left -= file.write(part.translate(table))
    path.with_suffix(".part").rename(path)
    return path


# A virtual machine's host gives a page of memory when it is first used, which takes up to 1 ms. Every job starts after 2 GiB
# were used, huge pages where there are any, so that no library pays for that.
TOUCH_MEMORY = """
import mmap
memory = mmap.mmap(-1, 2 << 30)
if hasattr(mmap, "MADV_HUGEPAGE"):
    memory.madvise(mmap.MADV_HUGEPAGE)
memory[::4096] = bytes(2 << 18)
"""


def run_job(arguments: list[str], src: Path = ROOT / "src", python: str = sys.executable, touch: bool = True) -> dict:
    """Run `-m arguments...` in a fresh process of `python`; return its JSON with wall, CPU and peak memory added.

    src: the folder that contains the package tokenmill, compiled. touch: use 2 GiB before, see above.
    """
    if touch:
        touch_memory()
    return _finished(_started(arguments, src, python))


def touch_memory() -> None:
    subprocess.run([sys.executable, "-S", "-c", TOUCH_MEMORY], check=True)


def _finished(job: tuple[subprocess.Popen[str], float]) -> dict:
    process, start = job
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status != 0:
        raise RuntimeError(f"{' '.join(process.args[2:])} ended with status {status}")
    return {
        # At least the peak of this process. A job may report its own.
        "peak_mib": round(usage.ru_maxrss / 1024, 1),
        **json.loads(output.strip().splitlines()[-1]),
        "wall": round(wall, 4),
        "cpu": round(usage.ru_utime + usage.ru_stime, 4),
        "system": round(usage.ru_stime, 4),
    }


def _started(arguments: list[str], src: Path, python: str, **pipes: int) -> tuple[subprocess.Popen[str], float]:
    """Start a job. Returns its process and when it started."""
    environment = {**os.environ, "PYTHONPATH": f"{src}:{ROOT}", "TOKENIZERS_PARALLELISM": "true"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # so that not every process compiles installed packages again
    command, start = [python, "-m", *arguments], time.perf_counter()
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=ROOT, text=True, **pipes), start


def peak_of_tree(arguments: list[str], python: str = sys.executable) -> float:
    """The peak memory in MiB of a job with all processes that it starts, on Linux: their PSS together, 50 times a second.

    `peak_mib` of `run_job` is that of the largest process only.
    """
    (process, _), peak = _started(arguments, ROOT / "src", python), 0
    while process.poll() is None:
        peak = max(peak, sum(map(_pss, _tree(process.pid))))
        time.sleep(0.02)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} ended with status {process.returncode}")
    return round(peak / 1024, 1)


def _tree(pid: int) -> Iterator[int]:
    """A process and those that it has started."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has ended
            for child in children.read_text().split():
                yield from _tree(int(child))


def _pss(pid: int) -> int:
    """The memory of a process in KiB; of what it shares with others, its share."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def alternate(
    jobs: dict[str, list[str]], rounds: int = 5, skip_after: float = 120.0, touch: bool = True
) -> dict[str, list[dict]]:
    """Run all jobs alternating, `rounds` times, or once with --quick. A job slower than `skip_after` seconds runs only once.

    A job with the name of a library runs in the interpreter that has it (`python_of`). {round} in its arguments is the number of
    the round, for outputs that do not replace others.
    """
    kept: dict[str, list[dict]] = {name: [] for name in jobs}
    for turn in range(1 if QUICK else rounds):
        for name, arguments in jobs.items():
            if turn and kept[name][0]["wall"] > skip_after:
                continue
            numbered = [argument.replace("{round}", str(turn)) for argument in arguments]
            result = run_job(numbered, python=python_of(name), touch=touch)
            kept[name].append(result)
            print(f"  {name:<28} {result}", file=sys.stderr)
    checks = {r["check"] for results in kept.values() for r in results if "check" in r}
    if len(checks) > 1:
        raise RuntimeError(f"the jobs gave different results: {checks}")
    return kept


def in_turns(jobs: dict[str, list[str]], n: int, rounds: int = 5) -> dict[str, list[dict]]:
    """Run all jobs at once, in fresh processes, `rounds` times or once with --quick. They do the `n` items of `each_turn` in turns.

    So all libraries do an item at nearly the same time: the speed of a shared machine changes within seconds.
    """
    kept: dict[str, list[dict]] = {name: [] for name in jobs}
    for _ in range(1 if QUICK else rounds):
        touch_memory()
        started = {
            name: _started(arguments, ROOT / "src", python_of(name), stdin=subprocess.PIPE)
            for name, arguments in jobs.items()
        }
        for _ in range(n):
            for process, _ in started.values():
                process.stdin.write("\n")
                process.stdin.flush()
                process.stdout.readline()
        for name, job in started.items():
            kept[name].append(_finished(job))
            print(f"  {name:<28} {kept[name][-1]}", file=sys.stderr)
    return kept


def each_turn(items: Iterable[Item]) -> Iterator[Item]:
    """Yield each item when it is this job's turn, which ends when the next item is asked for."""
    for item in items:
        sys.stdin.readline()
        yield item
        print(file=sys.__stdout__, flush=True)


def saved(topic: str) -> dict | None:
    """The saved results of a topic with the environment they were taken in; None if it was never run."""
    path = RESULTS / f"{topic}.json"
    return json.loads(path.read_text()) if path.exists() else None


def median(results: list[dict], key: str = "wall") -> float:
    return statistics.median(result[key] for result in results)


def ratios(a: list[dict], b: list[dict], key: str = "wall") -> list[float]:
    """The ratios a/b of the rounds that both ran, ascending. A slow job has fewer rounds."""
    return sorted(x[key] / y[key] for x, y in zip(a, b, strict=False))


def ratio(a: list[dict], b: list[dict], key: str = "wall") -> float:
    """The median of the ratios a/b of each round, which is robust against drift of the machine."""
    return statistics.median(ratios(a, b, key))


def number(value: float) -> str:
    """Three digits or more: 0.65, 12.3, 1,443."""
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"


def spread(values: Iterable[float], unit: str = "", middle: str | None = None) -> str:
    """The median and the range of the rounds, and their number if there are fewer than five: "2.13x (2.11 to 2.30)".

    Two rounds have no median: "1.32x, 1.46x (2 rounds)". `middle` replaces the median.
    """
    each = sorted(values)
    low, high = number(each[0]), number(each[-1])
    if len(each) == 1:
        return f"{low}{unit} (one round)"
    if len(each) == 2:
        return f"{middle} ({low}, {high}, 2 rounds)" if middle else f"{low}{unit}, {high}{unit} (2 rounds)"
    few = f", {len(each)} rounds" if len(each) < 5 else ""
    return f"{middle or number(statistics.median(each)) + unit} ({low} to {high}{few})"


def times(a: list[dict], b: list[dict], key: str = "wall") -> str:
    """The time of job a relative to that of job b, of the rounds that both ran. A range that includes 1 is a tie."""
    each = ratios(a, b, key)
    return spread(each, "x", "tie" if each[0] <= 1 <= each[-1] and len(each) > 1 else None)


def rates(rounds: list[dict], key: str) -> list[float]:
    """MB per second of each round, from its `bytes` and its seconds."""
    return [each["bytes"] / each[key] / 1e6 for each in rounds]


def python_of(library: str) -> str:
    """The interpreter that has a library: TOKENMILL_PYTHON_GIGATOKEN and so on, or this one."""
    return os.environ.get(f"TOKENMILL_PYTHON_{library.removesuffix('_files').upper()}", sys.executable)


def pythons() -> dict[str, str]:
    """The interpreters of the libraries that are in environments of their own: other versions, for example."""
    prefix = "TOKENMILL_PYTHON_"
    return {name.removeprefix(prefix).lower(): python for name, python in os.environ.items() if name.startswith(prefix)}


def version_of(library: str) -> str | None:
    """The version that is measured; None if the library is not installed."""
    package = PACKAGES.get(library, library.removesuffix("_next"))
    if library.endswith("_next") and python_of(library) == sys.executable:
        return None  # no other version is there
    if python_of(library) == sys.executable:
        with contextlib.suppress(PackageNotFoundError):
            return version(package)
        return None
    code = f"from importlib.metadata import version; print(version({package!r}))"
    found = subprocess.run([python_of(library), "-c", code], capture_output=True, text=True)
    return found.stdout.strip() or None


def machine() -> dict:
    """The processor and how busy it was: what a figure depends on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if os.path.exists("/proc/cpuinfo") else []
    about = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    has = {*about.get("flags", about.get("Features", "")).split()}
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "cpu": about.get("model name", platform.processor()),
        "cores": os.cpu_count(),
        "flags": [flag for flag in FLAGS if flag in has],
        "governor": governor.read_text().strip() if governor.exists() else "unknown",
        "load": round(LOAD, 2),
    }


def commit() -> str:
    """The short name of the commit that runs, empty where there is no git or no repository."""
    if shutil.which("git") is None:
        return ""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def environment() -> dict:
    """The machine, versions and commit of a measurement."""
    versions = {peer: version_of(peer) for peer in dict.fromkeys((*PEERS, *pythons()))}
    return {
        "commit": commit(),
        **machine(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "date": time.strftime("%Y-%m-%d"),
        "versions": versions,
    }


def save(topic: str, results: dict) -> None:
    """Save all rounds of a topic as benchmarks/results/TOPIC.json."""
    if not QUICK:
        kept = {"environment": environment(), "results": results}
        (RESULTS / f"{topic}.json").write_text(json.dumps(kept, indent=1) + "\n")
