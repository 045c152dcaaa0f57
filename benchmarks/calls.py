"""The first calls of a process: milliseconds of CPU time to import a library, to load cl100k_base, and to encode one line.

python -m benchmarks calls

Each round is a fresh process. Python's start is not included, but everything that a library imports late is, in the step that
needs it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

from .encoders import CL100K, RANKS, tokenizer_json
from .harness import alternate, run_job

LIBRARIES = ("tokenmill", "tiktoken", "tokenizers")
LINES = ("Hello world, this is one line.", "And this is the second one.")


def steps(library: str) -> dict:
    """The milliseconds of each step, in order."""
    found, before = {}, time.process_time()

    def done(step: str) -> None:
        nonlocal before
        now = time.process_time()
        found[step], before = 1000 * (now - before), now

    encode: Callable
    if library == "tokenmill":
        import tokenmill

        done("import")
        encode = tokenmill.load(RANKS).encode
    elif library == "tiktoken":
        import tiktoken
        from tiktoken.load import load_tiktoken_bpe

        done("import")
        encode = tiktoken.Encoding(
            "cl100k", pat_str=CL100K, mergeable_ranks=load_tiktoken_bpe(str(RANKS)), special_tokens={}
        ).encode
    else:
        import tokenizers

        done("import")
        encode = tokenizers.Tokenizer.from_file(str(tokenizer_json("cl100k"))).encode
    done("load")
    for line, step in zip(LINES, ("first", "second"), strict=True):
        encode(line)
        done(step)
    return found


def run(quick: bool = False) -> dict:
    """Run all; with quick, one round of each."""
    os.environ |= {"TIKTOKEN_CACHE_DIR": ""}
    tokenizer_json("cl100k")
    run_job(["benchmarks.calls", "tokenmill"])  # this one saves
    return alternate({name: ["benchmarks.calls", name] for name in LIBRARIES}, rounds=1 if quick else 9)


if __name__ == "__main__":
    print(json.dumps({step: round(value, 3) for step, value in steps(sys.argv[1]).items()}))
