"""Text made so that its pretokens collide under the fixed hash, beside random text of the same shape.

python -m benchmarks.crafted [PRETOKENS]

The pretokens are a space and seven letters. Crafted ones share the first 12 bits of the canonical hash, by which word counts are
ordered, or its last 12 bits. Prints CPU milliseconds, medians of seven rounds in turn, and how many times as long crafted
text takes; 3 is the limit.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

import tokenmill
from tokenmill.counting import count_iterator
from tokenmill.counting._row_merge_cy import hashes

CHUNK = 1 << 20
BITS = 12


def texts(n: int) -> dict[str, bytes]:
    """Random text, and text whose pretokens collide in the first or the last bits of their hashes."""
    rng = np.random.default_rng(1)
    found: dict[str, list[bytes]] = {"random": [], "first bits": [], "last bits": []}
    sizes = dict.fromkeys(found, 0)
    offsets = np.arange(0, 8 * CHUNK + 1, 8, dtype=np.uint64)
    out = np.empty(CHUNK, np.uint64)
    while min(sizes.values()) < n:
        words = rng.integers(97, 123, (CHUNK, 8), np.uint8)
        words[:, 0] = 32
        hashes(words.reshape(-1), offsets, out)
        masks = {
            "random": np.arange(CHUNK) < n,
            "first bits": out >> np.uint64(64 - BITS) == 1234,
            "last bits": out & np.uint64((1 << BITS) - 1) == 1234,
        }
        for kind, mask in masks.items():
            if sizes[kind] < n:
                chosen = words[mask][: n - sizes[kind]]
                found[kind].append(chosen.tobytes())
                sizes[kind] += len(chosen)
    return {kind: b"".join(parts) for kind, parts in found.items()}


def count(text: bytes) -> float:
    start = time.process_time()
    count_iterator([text], num_threads=1)
    return time.process_time() - start


def encode(text: bytes) -> float:
    tokenizer = tokenmill.train_from_iterator(["low lower lowest newer newest " * 50], vocab_size=300)
    tokenizer.encode_ordinary("low")
    start = time.process_time()
    tokenizer.encode_ordinary(text.decode())
    return time.process_time() - start


def main() -> None:
    made = texts(int(sys.argv[1]) if len(sys.argv) > 1 else 30_000)
    for verb in (count, encode):
        seconds: dict[str, list[float]] = {kind: [] for kind in made}
        for _ in range(7):
            for kind, text in made.items():
                seconds[kind].append(verb(text))
        usual = statistics.median(seconds["random"])
        for kind, each in seconds.items():
            took = statistics.median(each)
            print(f"{verb.__name__:8} {kind:12} {1000 * took:8.1f} ms  {took / usual:5.2f} times")


if __name__ == "__main__":
    main()
