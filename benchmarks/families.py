"""Tokenizer files of many families: first calls, and SentencePiece-style encoding.

python -m benchmarks families

Each figure is from a fresh process on one core; the CPU seconds of a first call include Python's start and all imports.
The texts of the second part are cleaned of <s> and </s>, which only some libraries take for special tokens there.
"""

from __future__ import annotations

import json
import os
import sys

from .encode_jobs import first_and_later, pieces
from .encoders import RANKS, tokenizer_json
from .harness import CACHE, SHARED, alternate, corpus_file

FILES = (
    "cl100k", "gpt2", "gpt-neox-20b", "claude1", "llama3.1", "qwen3", "deepseek-v3", "command-r-plus", "whisper-tiny",
    "mistral-v1", "mistral-v3", "phi3", "yi", "gemma2",
)  # fmt: skip
VOCABULARIES = ("mistral-v1", "mistral-v3", "gemma2")
SIZES = {"tokenmill": 40_000_000, "gigatoken": 40_000_000, "tokenizers": 4_000_000, "sentencepiece": 4_000_000}
ONE_LINE = "Hello world, this is one line."


def first(library: str, name: str) -> dict:
    """Load one file and encode one line."""
    path = str(RANKS if name == "cl100k" else tokenizer_json(name))
    if library == "tokenizers":
        import tokenizers

        tokenizers.Tokenizer.from_file(path).encode(ONE_LINE)
    else:
        import tokenmill

        tokenmill.load(path).encode(ONE_LINE)
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
        print("{}", flush=True)  # the result: a command ends its process
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
    parts: list = pieces(text.encode())
    size = sum(map(len, parts)) // len(parts)
    if library in ("tokenizers", "sentencepiece"):
        parts = [part.decode() for part in parts]
    if library == "tokenmill":
        import tokenmill

        tok = tokenmill.load(tokenizer_json(name))
        return first_and_later(lambda data: tok.encode_to_numpy(data, disallowed_special=()), parts, size)
    if library == "gigatoken":
        import gigatoken

        return first_and_later(gigatoken.Tokenizer(str(tokenizer_json(name))).encode, parts, size)
    if library == "tokenizers":
        import tokenizers

        hf = tokenizers.Tokenizer.from_file(str(tokenizer_json(name)))
        return first_and_later(lambda text: hf.encode(text, add_special_tokens=False).ids, parts, size)
    import sentencepiece
    import zstandard

    packed = SHARED / "vocab" / f"{name}-sentencepiece.model.zst"
    with zstandard.open(packed, "rb") as model:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.read())
    return first_and_later(lambda text: processor.encode(text, num_threads=1), parts, size)


def compare(kind: str, libraries: tuple[str, ...], *arguments: str, rounds: int) -> dict[str, list[dict]]:
    print(f"families: {kind} {' '.join(arguments)}", file=sys.stderr)
    return alternate({name: ["benchmarks.families", kind, name, *arguments] for name in libraries}, rounds=rounds)


def run(quick: bool = False) -> dict:
    """Run all; with quick, one round of each."""
    rounds = 1 if quick else 5
    results: dict = {"load": {}, "encode": {}}
    for name in FILES:
        libraries = ("tokenmill", "tokenizers")
        results["load"][name] = compare("first", libraries[: 1 if name == "cl100k" else 2], name, rounds=rounds)
    names = ("python", "import tokenmill", "tokenmill --help", "tokenmill encode --help", "tokenmill encode, one line")
    results["commands"] = compare("command", names, "-", rounds=rounds)
    for name in VOCABULARIES:
        results["encode"][name] = {}
        peers = tuple(SIZES)[: 4 if name == "mistral-v3" else 3]
        for corpus in ("en", "multi", "code"):
            path = str(corpus_file(corpus, 40_000_000))
            kept = {}
            for group in (peers[:2], peers[2:3], peers[3:]):  # each with a text, or a model, of its own
                kept |= compare("encode", group, name, path, rounds=rounds)
            results["encode"][name][corpus] = kept
    return results


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    result = {"first": first, "command": command, "encode": encode}[kind](*arguments)
    print(json.dumps({k: round(v, 8) if isinstance(v, float) else v for k, v in result.items()}))
