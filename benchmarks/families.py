"""Tokenizer files of many families: first calls, and SentencePiece-style encoding.

python -m benchmarks.families [--quick]

Each figure is from a fresh process on one core; the CPU seconds of a first call include Python's start and all imports.
The texts of the second part are cleaned of <s> and </s>, which only some libraries take for special tokens there.
"""

from __future__ import annotations

import os
import sys

from .encode_jobs import first_and_later, pieces
from .encoders import RANKS, encoder_of
from .harness import CACHE, CORPORA, alternate, corpus_file, main

FILES = (
    "cl100k", "gpt2", "gpt-neox-20b", "claude1", "llama3.1", "qwen3", "deepseek-v3", "command-r-plus", "whisper-tiny",
    "mistral-v1", "mistral-v3", "phi3", "yi", "gemma2",
)  # fmt: skip
VOCABULARIES = ("mistral-v1", "mistral-v3", "gemma2")
SIZES = {"tokenmill": 40_000_000, "gigatoken": 40_000_000, "tokenizers": 4_000_000, "sentencepiece": 4_000_000}
ONE_LINE = "Hello world, this is one line."


def first(library: str, name: str) -> dict:
    """Load one file and encode one line."""
    encoder_of(library, name).listed(ONE_LINE)
    return {}


def command(name: str, _: str) -> dict:
    """A command in this process, or only the import."""
    if name == "import tokenmill":
        import tokenmill  # noqa: F401
    elif name != "python":
        (CACHE / "line.txt").write_text(ONE_LINE)
        arguments = {
            "tokenmill --help": ["--help"],
            "tokenmill encode --help": ["encode", "--help"],
            "tokenmill encode, one line": ["encode", str(CACHE / "line.txt"), "--tokenizer", str(RANKS)],
        }[name]
        print("{}", file=sys.__stdout__, flush=True)  # the result: a command ends its process
        sys.argv, sys.stdout = ["tokenmill", *arguments], open(os.devnull, "w")  # noqa: SIM115
        from tokenmill.cli import entry

        entry()
    return {}


def encode(library: str, name: str, path: str) -> dict:
    """A text to ids, in the form that the library is fastest in."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ |= {"TOKENIZERS_PARALLELISM": "false"}
    import numpy  # noqa: F401  so that no first call includes its import

    with open(path, encoding="utf-8", newline="") as file:
        text = file.read(SIZES[library]).replace("<s>", "< s>").replace("</s>", "< /s>")
    parts, encoder = pieces(text.encode()), encoder_of(library, name)
    size = sum(map(len, parts)) // len(parts)
    if encoder.array:
        return first_and_later(encoder.array, parts, size)
    return first_and_later(encoder.listed, [part.decode() for part in parts], size)


def compare(kind: str, libraries: tuple[str, ...], *arguments: str) -> dict[str, list[dict]]:
    print(f"families: {kind} {' '.join(arguments)}", file=sys.stderr)
    return alternate({name: ["benchmarks.families", kind, name, *arguments] for name in libraries})


def run() -> dict:
    results: dict = {"load": {}, "encode": {}}
    for name in FILES:
        libraries = ("tokenmill",) if name == "cl100k" else ("tokenmill", "tokenizers")
        results["load"][name] = compare("first", libraries, name)
    names = ("python", "import tokenmill", "tokenmill --help", "tokenmill encode --help", "tokenmill encode, one line")
    results["commands"] = compare("command", names, "-")
    for name in VOCABULARIES:
        results["encode"][name] = {}
        peers = tuple(SIZES)[: 4 if name == "mistral-v3" else 3]
        for corpus in CORPORA:
            path = str(corpus_file(corpus, 40_000_000))
            kept = {}
            for group in (peers[:2], peers[2:3], peers[3:]):  # each with a text, or a model, of its own
                kept |= compare("encode", group, name, path)
            results["encode"][name][corpus] = kept
    return results


if __name__ == "__main__":
    main(run, first, command, encode)
