"""Time and memory as the text grows: count, train, encode and clean on 100 MB and 1 GB.

python -m benchmarks.growth [--quick]                    # all sizes; saves the results
python -m benchmarks.growth make MEGABYTES               # the text alone
python -m benchmarks.growth job VERB FILE                # one whole command, as JSON

The text is the English corpus again and again, each time with its letters renamed by another seeded permutation, so
that the number of distinct pretokens grows with it. The first copy is renamed too: renamed words are not tokens, so a
text of them has more than twice the tokens of English.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import string
import sys
import tempfile
from pathlib import Path

from .encoders import RANKS
from .harness import CACHE, alternate, command, corpus_file, run_job, save

SIZES = (100, 1000)  # MB
ROUNDS = 5
SEED = 12
VERBS = {
    "count": ["--split", "cl100k"],
    "train": ["--split", "cl100k", "--vocab-size", "32768"],
    "encode": ["--tokenizer", str(RANKS), "--split", "cl100k"],
    "clean": ["--unit", "line"],
}


def grown(megabytes: int) -> Path:
    """The text of so many megabytes, made once."""
    path = CACHE / f"renamed-{megabytes}.txt"
    if path.exists():
        return path
    text, left, rng = corpus_file("en").read_bytes(), megabytes * 1_000_000, random.Random(SEED)
    letters = string.ascii_lowercase
    with open(path.with_suffix(".part"), "wb") as file:
        while left > 0:
            names = "".join(rng.sample(letters, len(letters)))
            table = bytes.maketrans((letters + letters.upper()).encode(), (names + names.upper()).encode())
            left -= file.write(text[:left].translate(table))
    path.with_suffix(".part").rename(path)
    return path


def job(verb: str, path: str) -> dict:
    """One whole command in this process, with a limit of memory for counting that every size keeps."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        source = ["text", path] if verb == "clean" else [path]
        output = os.path.join(folder, "out.bin" if verb == "encode" else "out")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            command(verb, *source, *VERBS[verb], "-o", output)
        return {"bytes": os.path.getsize(path)}


def run(quick: bool = False) -> dict:
    sizes = (15, 30) if quick else SIZES
    paths = {size: run_job(["benchmarks.growth", "make", str(size)])["path"] for size in sizes}
    jobs = {f"{verb} {size}": ["benchmarks.growth", "job", verb, paths[size]] for verb in VERBS for size in sizes}
    kept = alternate(jobs, rounds=1 if quick else ROUNDS)
    return {str(size): {verb: kept[f"{verb} {size}"] for verb in VERBS} for size in sizes}


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        print(json.dumps(job(*sys.argv[2:])))
    elif sys.argv[1:2] == ["make"]:
        print(json.dumps({"path": str(grown(int(sys.argv[2])))}))
    else:
        quick = "--quick" in sys.argv
        results = run(quick)
        if not quick:
            save("growth", results)
