"""Tokenizer files of many families: first calls, and SentencePiece-style encoding.

python -m benchmarks.families [--quick]

Each figure is from a fresh process on one core. Of a first call and of a command it is the CPU time of a process that does nothing
else, with Python's start and all imports.
The texts of the second part are cleaned of <s> and </s>, which only some libraries take for special tokens there.
"""

from __future__ import annotations

import os
import subprocess
import sys

from .encode_jobs import first_and_later, pieces
from .encoders import RANKS, encoder_of, tokenizer_json
from .harness import CACHE, CORPORA, alternate, corpus_file, main

FILES = (
    "cl100k", "gpt2", "gpt-neox-20b", "claude1", "llama3.1", "qwen3", "deepseek-v3", "command-r-plus", "whisper-tiny",
    "mistral-v1", "mistral-v3", "phi3", "yi", "gemma2",
)  # fmt: skip
VOCABULARIES = ("mistral-v1", "mistral-v3", "gemma2")
SIZES = {"tokenmill": 40_000_000, "gigatoken": 40_000_000, "tokenizers": 4_000_000, "sentencepiece": 4_000_000}
ONE_LINE = "Hello world, this is one line."


FIRST = {
    "tokenmill": "import tokenmill; tokenmill.load({path!r}).encode_ordinary({line!r})",
    "tokenizers": "import tokenizers; tokenizers.Tokenizer.from_file({path!r}).encode({line!r}, add_special_tokens=False).ids",
}


def first(library: str, name: str) -> dict:
    """A process of its own that loads one file and encodes one line."""
    path = RANKS if name == "cl100k" else tokenizer_json(name)
    return _process("-c", FIRST[library].format(path=str(path), line=ONE_LINE))


def command(name: str, _: str) -> dict:
    """A process of its own for a command, or only the import."""
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "line.txt").write_text(ONE_LINE)
    one_line = ["encode", str(CACHE / "line.txt"), "--tokenizer", str(RANKS)]
    words = {
        "python": ["-c", "pass"],
        "import tokenmill": ["-c", "import tokenmill"],
        "tokenmill --help": ["-m", "tokenmill", "--help"],
        "tokenmill encode --help": ["-m", "tokenmill", "encode", "--help"],
        "tokenmill encode, one line": ["-m", "tokenmill", *one_line],
    }[name]
    return _process(*words)


def _process(*words: str) -> dict:
    """Run Python with these arguments. `process_cpu`: the CPU seconds of that process."""
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"python {' '.join(words)} ended with status {status}")
    return {"process_cpu": usage.ru_utime + usage.ru_stime}


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
