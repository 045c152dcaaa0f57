"""Encode and decode with cl100k_base on one core and on two, against other libraries, first and later calls separately.

python -m benchmarks encode

First every library encodes unusual text and a part of each corpus. A library whose ids differ from tiktoken's, or do not
decode to the text, is listed under "wrong" and not timed. Each timing is a fresh process, which encodes four pieces of the text:
its first call has empty caches, and the later calls have new text. Slow libraries (a few MB/s) get only 4 MB of each corpus,
and so does tokenmill in the same group.
"""

from __future__ import annotations

import subprocess
import sys
import time

from .harness import CORPORA, alternate, corpus_file, python_of, run_job, version_of

ARRAYS = ("tokenmill", "gigatoken", "gigatoken_files", "fastokens", "splintr", "tokie", "iree", "tiktoken")
LISTS = ("tokenmill", "gigatoken", "fastokens", "splintr", "tokie", "kitoken", "iree", "tiktoken", "tokenizers_next")
SLOW = ("tokenmill", "rs_bpe", "wordchipper", "tokenizers")
DECODERS = ("tokenmill", "gigatoken", "fastokens", "rs_bpe", "wordchipper", "tiktoken")
LONG_PRETOKENS = ("tokenmill", "gigatoken", "fastokens", "tiktoken")
IMPORTS = ("tokenmill", "gigatoken", "tiktoken", "tokenizers", "numpy")


def wrong() -> dict[str, str]:
    """The libraries whose ids differ from tiktoken's, with the reason."""
    paths = ",".join(str(corpus_file(name, 1_000_000)) for name in CORPORA)
    found = {}
    expected = run_job(["benchmarks.encode_jobs", "tiktoken", "cl100k", "check", paths])["check"]
    for library in dict.fromkeys(ARRAYS + LISTS + SLOW):
        if version_of(library.removesuffix("_files")) is None and library != "tokenmill":
            found[library] = "it is not installed"
            continue
        try:
            job = ["benchmarks.encode_jobs", library, "cl100k", "check", paths]
            check = run_job(job, python=python_of(library))["check"]
        except RuntimeError:  # which names files of this machine
            check = "it cannot load it"
        if check != expected:
            found[library] = check if " " in check else "its ids differ from tiktoken's"
            print(f"  {library}: {found[library]}", file=sys.stderr)
    return found


def compare(libraries, task: str, path, vocabulary: str = "cl100k") -> dict[str, list[dict]]:
    print(f"encode: {task} {path}", file=sys.stderr)
    jobs = {library: ["benchmarks.encode_jobs", library, vocabulary, task, str(path)] for library in libraries}
    return alternate(jobs)


def import_times(rounds: int = 5) -> dict[str, list[dict]]:
    """Seconds to import each library, without the start-up of Python."""
    kept: dict[str, list[dict]] = {name: [] for name in IMPORTS}
    for _ in range(rounds):
        for name in IMPORTS:
            code = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
            kept[name].append({"seconds": float(subprocess.check_output([python_of(name), "-c", code]))})
    return kept


def run() -> dict:
    start = time.monotonic()
    bad = wrong()

    def right(libraries):
        return [library for library in libraries if library not in bad]

    results: dict = {"wrong": bad, "array": {}, "list": {}, "slow": {}, "decode": {}}
    for corpus in CORPORA:
        results["array"][corpus] = compare(right(ARRAYS), "one_array", corpus_file(corpus, 100_000_000))
    for corpus in CORPORA:
        results["list"][corpus] = compare(right(LISTS), "one_listed", corpus_file(corpus, 40_000_000))
        results["slow"][corpus] = compare(right(SLOW), "one_listed", corpus_file(corpus, 4_000_000))
        results["decode"][corpus] = compare(right(DECODERS), "one_decode", corpus_file(corpus, 20_000_000))
    english = corpus_file("en", 100_000_000)
    results["gpt2"] = compare(right(("tokenmill", "gigatoken")), "one_array", english, "gpt2")
    results["threads"] = {
        kind: {
            threads: compare(right(libraries), f"{kind}:{threads}", corpus_file("en", 50_000_000))
            for threads in ("1", "2")
        }
        for kind, libraries in (("batch", LISTS[:2]), ("batch_array", ["tokenmill"]))
    }
    results["latency"] = compare(right(LISTS), "latency", "-")
    results["long_pretokens"] = compare(right(LONG_PRETOKENS), "long_pretokens", "-")
    results["orders"] = {
        order: compare(["tokenmill"], "one_array", english, order)["tokenmill"] for order in ("plain", "picky")
    }
    results["import"] = import_times()
    print(f"encode: {time.monotonic() - start:.0f} s in total", file=sys.stderr)
    return results


if __name__ == "__main__":
    sys.exit("run it as: python -m benchmarks encode")
