"""Run one library on one task in one process, for `benchmarks.encode`:

python -m benchmarks.encode_jobs LIBRARY VOCABULARY TASK FILE

Prints one line of JSON with the seconds of the task and a digest of the ids. Every figure is for a whole call that returns
its result to the caller. `load` is the CPU time of importing the library and loading the vocabulary. Tasks named one_... have one
core and measure CPU time, which other work on the machine affects least. batch:2 has two threads.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from statistics import median

from .encoders import encoder_of

LATENCY = "The quick brown fox jumps over the lazy dog, and def __init__(self) returns None in 2026. And so on ok."[
    :100
]
MIXED = "Zażółć gęślą jaźń 漢字かな交じり文 🙂👩‍👩‍👧‍👦 ﷺ \u2028\t\r\n x\n\n\n  y 123456789 it's IT'LL o'clock _a_b +=-=> \u0301e\u00a0\ufeff½٣"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


def timed(call: Callable, *arguments, clock: Callable = time.perf_counter) -> tuple[float, object]:
    start = clock()
    result = call(*arguments)
    return clock() - start, result


def digest(ids) -> str:
    import numpy as np

    return hashlib.sha256(np.ascontiguousarray(ids, np.uint32).tobytes()).hexdigest()[:16]


def pieces(data: bytes, n: int = 4) -> list[bytes]:
    """Cut data at ends of lines into n pieces of about one size."""
    borders = [0, *(data.find(b"\n", len(data) * number // n) + 1 for number in range(1, n)), len(data)]
    return [data[begin:end] for begin, end in pairwise(borders)]


def first_and_later(call: Callable, arguments: Iterable, size: int) -> dict:
    """CPU seconds of all threads, which share one core, to encode pieces of `size` bytes.

    `cold` is the call on the first piece, with empty caches; `warm` is the median of the calls on the other pieces, whose text
    is new. Each result is released before the next call.
    """
    seconds, digests = [], []
    for argument in arguments:
        taken, ids = timed(call, argument, clock=time.process_time)
        seconds.append(taken)
        digests.append(digest(ids))
        del ids
    return {"cold": seconds[0], "warm": median(seconds[1:]), "bytes": size, "check": "".join(digests)}


def check(encoder, paths: str) -> dict:
    """Encode a part of each file and unusual text to a list and to an array, and decode the ids."""
    text = MIXED * 3
    for path in paths.split(","):
        with open(path, "rb") as file:
            text += file.read(700_000).decode(errors="ignore")
    ids = encoder.listed(text) if encoder.listed else list(encoder.array(text.encode()))
    if encoder.listed and encoder.array and list(encoder.array(text.encode())) != ids:
        return {"check": "the array and the list differ"}
    if encoder.decode(ids) != text:
        return {"check": "the ids do not decode to the text"}
    return {"check": digest(ids)}


def array(encoder, path: str) -> dict:
    """Text to an array of ids. If the library reads files itself, every call includes that time."""
    parts = pieces(Path(path).read_bytes())
    size = sum(map(len, parts)) // len(parts)
    if not encoder.file:
        return first_and_later(encoder.array, parts, size)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.txt") for number in range(len(parts))]
        for file, part in zip(files, parts, strict=True):
            file.write_bytes(part)
        return first_and_later(encoder.file, map(str, files), size)


def listed(encoder, path: str) -> dict:
    parts = pieces(Path(path).read_bytes())
    return first_and_later(encoder.listed, [part.decode() for part in parts], sum(map(len, parts)) // len(parts))


def decode(encoder, path: str) -> dict:
    """A list of ids to a str."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read(5_000_000)
    ids = encoder.listed(text)
    seconds = median(timed(encoder.decode, ids, clock=time.process_time)[0] for _ in range(5))
    return {"seconds": seconds, "bytes": len(text.encode()), "check": digest(ids)}


def documents(path: str, size: int = 4000) -> list[str]:
    """The text in documents of about `size` characters, cut at blank lines."""
    found, paragraphs, length = [], [], 0
    with open(path, encoding="utf-8", newline="") as file:
        for paragraph in file.read().split("\n\n"):
            paragraphs.append(paragraph)
            length += len(paragraph)
            if length >= size:
                found.append("\n\n".join(paragraphs))
                paragraphs, length = [], 0
    return [*found, "\n\n".join(paragraphs)]


def batch(encoder, path: str, threads: str) -> dict:
    """Documents to lists of ids, with `threads` threads."""
    return of_documents(encoder.batch, lambda lists: [id for ids in lists for id in ids], path, threads)


def batch_array(encoder, path: str, threads: str) -> dict:
    """Documents to one array of ids and the offsets of the documents in it."""
    return of_documents(encoder.batch_array, lambda result: result[0], path, threads)


def of_documents(call: Callable, ids_of: Callable, path: str, threads: str) -> dict:
    texts = documents(path)
    cold, result = timed(call, texts, int(threads))
    found = {"cold": cold, "bytes": os.path.getsize(path), "check": digest(ids_of(result))}
    del result
    return found | {"warm": median(timed(call, texts, int(threads))[0] for _ in range(5))}


def latency(encoder, path: str) -> dict:
    """Microseconds per call for 100 characters to a list: the median of 30 times 2,000 calls."""
    encode = encoder.listed
    seconds = []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(2000):
            encode(LATENCY)
        seconds.append((time.perf_counter() - start) / 2000)
    return {"microseconds": median(seconds) * 1e6, "check": digest(encode(LATENCY))}


def long_pretokens(encoder, path: str) -> dict:
    """Texts of a megabyte that are one pretoken each, to a list. Stops if a library takes more than ten seconds for one."""
    rng = random.Random(5)
    texts = {
        "a": "a" * 1_000_000,
        "spaces": " " * 1_000_000,
        "newlines": "\n" * 1_000_000,
        "random letters": "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000)),
        "joined emoji": FAMILY * (1_000_000 // len(FAMILY.encode())),
    }
    found: dict = {}
    hashes = []
    encoder.listed("low")  # some libraries make their tables now
    for name, text in texts.items():
        found[name], ids = timed(encoder.listed, text)
        hashes.append(digest(ids))
        if found[name] > 10:
            return found
    return found | {"check": "".join(hashes)}


if __name__ == "__main__":
    library, vocabulary, task, path = sys.argv[1:]
    if task.startswith("one_"):
        task = task[4:]
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    import numpy  # noqa: F401  so that no first call includes its import

    seconds, encoder = timed(encoder_of, library, vocabulary, clock=time.process_time)
    task, *threads = task.split(":")
    result = {"load": seconds} | globals()[task](encoder, path, *threads)
    print(json.dumps({k: round(v, 8) if isinstance(v, float) else v for k, v in result.items()}))
