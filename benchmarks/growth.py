"""Time and memory as the text grows: count, train, encode and clean on 150 MB, 1.5 GB and 5 GB.

python -m benchmarks.growth [--quick]

The text is the English corpus again and again, each time with its letters renamed by another seeded permutation, so
that the number of distinct pretokens grows with it. The first copy is renamed too: renamed words are not tokens, so a
text of them has more than twice the tokens of English.
"""

from __future__ import annotations

import os
import random
import string
import tempfile
from pathlib import Path

from .encoders import RANKS
from .harness import CACHE, QUICK, alternate, command, main, renamed_copies, run_job

SIZES = (15, 30) if QUICK else (150, 1500, 5000)  # MB
SEED = 12
VERBS = {
    "count": ["--split", "cl100k"],
    "train": ["--split", "cl100k", "--vocab-size", "32768"],
    "encode": ["--tokenizer", str(RANKS), "--split", "cl100k"],
    "clean": ["--unit", "line"],
}


def grown(megabytes: int) -> Path:
    """The text of so many megabytes, made once."""
    rng = random.Random(SEED)
    names = iter(lambda: "".join(rng.sample(string.ascii_lowercase, 26)), "")
    return renamed_copies(CACHE / f"renamed-{megabytes}.txt", ["en"], megabytes * 1_000_000, names)


def job(verb: str, path: str) -> dict:
    """One whole command in this process, with a limit of memory for counting that every size keeps."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        source = ["text", path] if verb == "clean" else [path]
        output = os.path.join(folder, "out.bin" if verb == "encode" else "out")
        command(verb, *source, *VERBS[verb], "-o", output)
    return {"bytes": os.path.getsize(path)}


def make(megabytes: str) -> dict:
    return {"path": str(grown(int(megabytes)))}


def run() -> dict:
    paths = {size: run_job(["benchmarks.growth", "make", str(size)])["path"] for size in SIZES}
    jobs = {f"{verb} {size}": ["benchmarks.growth", "job", verb, paths[size]] for verb in VERBS for size in SIZES}
    kept = alternate(jobs)
    return {str(size): {verb: kept[f"{verb} {size}"] for verb in VERBS} for size in SIZES}


if __name__ == "__main__":
    main(run, make, job)
