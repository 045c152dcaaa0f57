"""One table in two minutes: train, encode cold and warm, and a whole command, against the libraries that are installed.

python -m benchmarks --quick          # prints the table, and adds its figures to benchmarks/history.jsonl
python -m benchmarks.quick job FILE   # the whole command, as JSON

The text is the first part of *en*. CPU seconds and MB per CPU second, so that other work on the machine matters little.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from . import history
from .harness import alternate, command, corpus_file, environment, median, version_of
from .tables import table

SIZE = 20_000_000  # bytes of text to train on and to encode
SMALL = 2_000_000  # for tokenizers, which encodes 2 MB/s
TOKENS = 16_384
PEERS = ("rustbpe", "tiktoken", "tokenizers", "tokenizers_next")


def job(path: str) -> None:
    """`tokenmill train` in this process."""
    with tempfile.TemporaryDirectory() as folder:
        command("train", path, "--vocab-size", "8192", "-o", f"{folder}/tokenizer", "--json")


def run(rounds: int = 3, size: int = SIZE) -> dict[str, dict[str, list[dict]]]:
    """The rounds of each task by library."""
    has = ["tokenmill", *(peer for peer in PEERS if version_of(peer))]
    text, small = (str(corpus_file("en", limit)) for limit in (size, min(SMALL, size)))
    trained = {
        library: ["benchmarks.train_jobs", library, text, str(TOKENS)]
        for library in has
        if library in ("tokenmill", "rustbpe")
    }
    encoded = {
        library: ["benchmarks.encode_jobs", library, "cl100k", "one_listed", small]
        for library in has
        if library != "rustbpe"
    }
    arrays = {"tokenmill": ["benchmarks.encode_jobs", "tokenmill", "cl100k", "one_array", text]}
    return {
        "train": alternate(trained, rounds),
        "list": alternate(encoded, rounds, skip_after=5),
        "array": alternate(arrays, rounds),
        "command": alternate({"tokenmill": ["benchmarks.quick", "job", text]}, rounds),
    }


def figures(results: dict[str, dict[str, list[dict]]]) -> dict[str, dict[str, float]]:
    """The median of each figure by library. Seconds of CPU time, MB per second of CPU time, MiB."""
    found: dict[str, dict[str, float]] = {}
    for task, unit in (("train", "s"), ("command", "s")):
        found[f"{task}, {unit}"] = {library: median(rounds, "cpu") for library, rounds in results[task].items()}
    for library, rounds in results["command"].items():
        found["command, MiB"] = {library: median(rounds, "peak_mib")}
    for task in ("array", "list"):
        for call in ("cold", "warm"):
            found[f"{task} {call}, MB/s"] = {
                library: rounds[0]["bytes"] / 1e6 / median(rounds, call) for library, rounds in results[task].items()
            }
    return {name: {library: round(value, 3) for library, value in row.items()} for name, row in found.items()}


def shown(found: dict[str, dict[str, float]]) -> str:
    """The table: figures of tokenmill, and of the others how many times more time or how many times less speed."""
    libraries = list(dict.fromkeys(library for row in found.values() for library in row))
    rows = []
    for name, row in found.items():
        ours = row["tokenmill"]
        cells = [f"{ours:.2f}" if ours < 10 else f"{ours:,.0f}"]
        for library in libraries[1:]:
            times = row[library] / ours if library in row and name.endswith(", s") else ours / row.get(library, ours)
            cells.append(f"{times:.1f}x slower" if library in row else "")
        rows.append([name, *cells])
    return "\n".join(table(["", *libraries], rows))


def main() -> None:
    found = figures(run())
    place = environment()
    history.add(history.PATH, place, found)
    print(
        f"{place['commit']}, {history.name_of(place)}, governor {place['governor']}, load {place['load']} at the start\n"
    )
    print(shown(found))


if __name__ == "__main__":
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  the command prints its own JSON
    job(sys.argv[2])
    sys.stdout = sys.__stdout__
    print(json.dumps({"bytes": Path(sys.argv[2]).stat().st_size}))
