"""Families of vocabularies by scripts, to lists of ids: chunks as in Hugging Face's tokbench, on new text.

python -m benchmarks matrix

A text is cut into chunks of 10 kB and the chunks into slices that share nothing. The first slice warms the library up; the
figure of a round is the median of the next five, so every chunk is new to the library. A result is released before the next
call, as in tokbench. After the time of a slice was taken, its chunks are encoded again for their ids, which must be the same for
all libraries. One process on one core has one library and one vocabulary, which it loads anew for each text. The processes take
turns: all load, then each encodes the text.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable

from .encode_jobs import digest
from .encoders import encoder_of, tokenizer_json
from .harness import CACHE, corpus_file, each_turn, in_turns, main, save, version_of

MODELS = ("llama3.1", "qwen3", "deepseek-v3", "gpt2", "gemma2", "mistral-v3", "gpt-neox-20b", "command-r-plus", "phi3")
PEERS = ("gigatoken", "tokenizers_next", "fastokens")
MORE_PEERS = ("splintr", "tokie", "kitoken", "iree")  # of the first model only, where they are slower
CHUNK = 10_000  # bytes
SLICES = 6
MOST_CHUNKS = 50  # in a slice
SCRIPTS = {
    "Cyrillic": "\u0400-\u04ff",
    "Greek": "\u0370-\u03ff",
    "Arabic": "\u0600-\u06ff",
    "Devanagari": "\u0900-\u097f",
    "Han": "\u4e00-\u9fff",
    "kana": "\u3040-\u30ff",
    "Hangul": "\uac00-\ud7a3",
}
TEXTS = ("en", "code", *SCRIPTS, "symbols", "chat")
TURNS = [(text, step) for text in TEXTS for step in ("load", "encode")]
LIMIT = MOST_CHUNKS * SLICES * CHUNK  # bytes of a text


def text_file(name: str, model: str) -> str:
    """Return the path of a text of 3 MB, or of what there is.

    A script: lines of *multi* of which a third of the characters is of that script. symbols: lines of *code* of which a third is
    ASCII punctuation. chat: lines of *en*, each between the first and the last special token of the model.
    """
    if name in ("en", "code"):
        return str(corpus_file(name, LIMIT))
    path = CACHE / (f"{name}-{model}.txt" if name == "chat" else f"{name}.txt")
    if path.exists():
        return str(path)
    if name == "chat":
        tokens = [
            each["content"]
            for each in json.loads(tokenizer_json(model).read_bytes())["added_tokens"]
            if each["special"]
        ]
        source, form, characters = corpus_file("en", LIMIT), tokens[0] + "user\n{}" + tokens[-1] + "\n", r"\s\S"
    else:
        source, form = corpus_file("code" if name == "symbols" else "multi"), "{}\n"
        characters = SCRIPTS.get(name, "!-/:-@[-`{-~")
    matched = re.compile(f"[{characters}]")
    lines, size = [], 0
    with open(source, encoding="utf-8", newline="\n") as file:
        for line in file:
            if 3 * len(matched.findall(line)) > len(line):
                lines.append(form.replace("{}", line.rstrip("\n")))
                size += len(lines[-1].encode())
            if size > LIMIT:
                break
    path.write_text("".join(lines), encoding="utf-8", newline="")
    return str(path)


def slices_of(path: str) -> list[list[str]]:
    """Return the slices of a text, each a list of chunks of the same number of characters, about 10 kB."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    per_chunk = CHUNK * len(text) // len(text.encode())
    chunks = [text[at : at + per_chunk] for at in range(0, len(text), per_chunk)]
    n = min(MOST_CHUNKS, len(chunks) // SLICES)
    return [chunks[n * i : n * (i + 1)] for i in range(SLICES)]


def opened(library: str, model: str) -> Callable[[str], list[int]] | Exception:
    """The call that encodes a text to a list. A peer that cannot open a file has no figure."""
    try:
        encoder = encoder_of(library, model)
    except Exception as error:
        if library == "tokenmill":
            raise
        return error
    return encoder.with_special or encoder.listed


def measure(library: str, encode: Callable[[str], list[int]] | Exception, slices: list[list[str]]) -> dict:
    """Return MB/s of the median slice, and a digest of all ids."""
    ids: list[int] = []
    speeds = []
    try:
        if isinstance(encode, Exception):
            raise encode
        for chunks in slices:
            size = sum(len(chunk.encode()) for chunk in chunks)
            start = time.process_time()
            for chunk in chunks:
                encode(chunk)
            speeds.append(size / 1e6 / (time.process_time() - start))
            for chunk in chunks:
                ids += encode(chunk)
    except Exception as error:  # nor has one that cannot encode a text
        if library == "tokenmill":
            raise
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return {"mb_per_s": statistics.median(speeds[1:]), "ids": digest(ids)}


def job(library: str, model: str) -> dict:
    """Measure all texts on one core. A turn loads the vocabulary, and the next one encodes a text."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    results = {}
    for text, step in each_turn(TURNS):
        if step == "load":
            slices, encode = slices_of(text_file(text, model)), opened(library, model)
        else:
            results[text] = measure(library, encode, slices)
    return results


def run() -> dict:
    results: dict = {}
    for model in MODELS:
        print(f"matrix: {model}", file=sys.stderr)
        for text in TEXTS:
            text_file(text, model)  # made before anything is measured
        peers = PEERS + MORE_PEERS * (model == MODELS[0])
        libraries = ["tokenmill", *(peer for peer in peers if version_of(peer))]
        kept = in_turns({library: ["benchmarks.matrix", "job", library, model] for library in libraries}, len(TURNS))
        results[model] = {
            text: {library: [each[text] for each in rounds] for library, rounds in kept.items()} for text in TEXTS
        }
        save("matrix", results)  # a run that is stopped keeps the models that are done
    return results


if __name__ == "__main__":
    main(run, job)
