"""The first calls of a process: milliseconds of CPU time to import a library, to load cl100k_base, and to encode one line.

python -m benchmarks calls

Each round is a fresh process. Python's start is not included, but everything that a library imports late is, in the step that
needs it.
"""

from __future__ import annotations

import importlib
import os
import time

from .encoders import encoder_of, tokenizer_json
from .harness import alternate, main, run_job

LIBRARIES = ("tokenmill", "tiktoken", "tokenizers")
LINES = ("Hello world, this is one line.", "And this is the second one.")


def steps(library: str) -> dict:
    """The milliseconds of each step, in order."""
    found, before = {}, time.process_time()

    def done(step: str) -> None:
        nonlocal before
        now = time.process_time()
        found[step], before = 1000 * (now - before), now

    importlib.import_module(library)
    done("import")
    encoder = encoder_of(library, "cl100k")
    done("load")
    for line, step in zip(LINES, ("first", "second"), strict=True):
        encoder.listed(line)
        done(step)
    return found


def run() -> dict:
    os.environ |= {"TIKTOKEN_CACHE_DIR": ""}
    tokenizer_json("cl100k")
    run_job(["benchmarks.calls", "steps", "tokenmill"])  # this one saves
    return alternate({name: ["benchmarks.calls", "steps", name] for name in LIBRARIES}, rounds=9)


if __name__ == "__main__":
    main(run, steps)
