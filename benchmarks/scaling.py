"""How whole commands scale: what one thread does alone, what all share, and the memory, with 1, 2 and 64 threads.

python -m benchmarks.scaling [--quick]             # prints the table

The account: `serial` is the CPU time of the main thread, which starts the command, opens sources, imports NumPy, merges pairs,
joins what the threads made and shows progress; `total` that of all threads. With n cores a command then takes
serial + (total - serial) / n. CPU time changes little on a busy machine, where wall times mean nothing.
"""

from __future__ import annotations

import tempfile
import time

from .encoders import RANKS
from .harness import alternate, command, corpus_file, main, median
from .pages import table

VERBS = ("count", "train", "encode")
THREADS = (1, 2, 64)
CORES = 16


def job(verb: str, path: str, threads: str) -> dict:
    """One command, with as many threads as asked for, also if there are fewer cores."""
    from tokenmill.kernels.machine import peak_memory

    options = {
        "count": ["--num-threads", threads],
        "train": ["--num-threads", threads, "--vocab-size", "32768"],
        "encode": ["--num-threads", threads, "--tokenizer", str(RANKS), "--format", "bin"],
    }
    start = time.thread_time()  # the imports of this module are part of the start of a command
    with tempfile.TemporaryDirectory() as folder:
        command(verb, path, *options[verb], "-o", f"{folder}/out")
    return {
        "serial": time.thread_time(),
        "work": time.thread_time() - start,
        "total": time.process_time(),
        "peak_mib": peak_memory() / 2**20,
    }


def on_cores(total: float, serial: float, cores: int) -> tuple[float, float]:
    """The seconds that a command takes by the account, and the share of them in which one thread works alone."""
    seconds = serial + (total - serial) / cores
    return round(seconds, 4), round(serial / seconds, 4)


def run() -> None:
    results = {}
    for verb in VERBS:
        path = str(corpus_file("en"))
        jobs = {f"{verb} {n}": ["benchmarks.scaling", "job", verb, path, str(n)] for n in THREADS}
        results |= alternate(jobs)
    rows = []
    for name, rounds in results.items():
        total, serial = median(rounds, "total"), median(rounds, "serial")
        seconds, share = on_cores(total, serial, CORES)
        cells = [
            f"{total:.2f} s",
            f"{serial:.2f} s",
            f"{total / on_cores(total, serial, 2)[0]:.2f}x",
            f"{seconds:.2f} s",
        ]
        rows.append([name, *cells, f"{share:.0%}", f"{median(rounds, 'peak_mib'):.0f} MiB"])
    head = [
        "command, threads",
        "CPU time",
        "one thread alone",
        "speed-up on 2 cores, estimated",
        f"time on {CORES} cores, estimated",
        "of that, one thread alone",
        "peak memory",
    ]
    print("\n".join(table(head, rows)))


if __name__ == "__main__":
    main(run, job)
