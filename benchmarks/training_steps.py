"""Times the five steps of the course on training, and the kernel: docs/explanation/training.md."""

import sysconfig
import time
from pathlib import Path
from typing import Any

import tokenmill
from tokenmill.learn import STEPS

from .harness import save


def times(path: str, merges: int) -> dict[str, dict[str, Any]]:
    """Train with each step and with the kernel on the pretokens of a file: seconds and merges by name."""
    counts = tokenmill.count(path)

    def kernel(pretokens: list, merges: int) -> list:
        tok = tokenmill.train_from_counts(counts, 256 + merges)
        return [(left, right) for left, right, _ in tok.vocabulary.events.tolist()]

    tokenmill.train_from_counts({b"warm": 2}, 257)  # loads NumPy and the kernels before the clock starts
    results: dict[str, dict[str, Any]] = {
        "file": {"name": Path(path).name, "bytes": counts.total_bytes, "pretokens": len(counts)}
    }
    for name, step in {**STEPS, "kernel": kernel}.items():
        pretokens = [(list(pretoken), count) for pretoken, count in counts.items()]
        start = time.perf_counter()
        done = step(pretokens, merges)
        results[name] = {"seconds": round(time.perf_counter() - start, 4), "merges": len(done)}
    return results


if __name__ == "__main__":
    save("training_steps", times(str(Path(sysconfig.get_path("stdlib")) / "pydoc_data" / "topics.py"), 1000))
