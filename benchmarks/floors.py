"""What bounds encoding and the work of threads, by experiments that leave all else out. One process, CPU time.

python -m benchmarks.floors encode CORPUS          # en, multi or code: 50 MB with cl100k_base, milliseconds (user, system)
python -m benchmarks.floors threads WHAT N CORPUS  # WHAT: arrays, lists, decode or count, with N threads, start-up left out
"""

from __future__ import annotations

import itertools
import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from .encoders import RANKS
from .harness import CACHE, corpus_file

SIZE = 50_000_000
ROUNDS = 5


def encode(corpus: str) -> dict:
    """cold, warm: the first and the second call.

    merge: all new pretokens of the text, each once, without a cache. first, again: the same with a cache, the first and the
    second time. resident: as much text that repeats 64 kB, so that all it needs stays in the processor's caches.
    """
    import numpy as np

    import tokenmill
    import tokenmill.counting

    data = corpus_file(corpus).read_bytes()[:SIZE].decode(errors="ignore").encode()
    counts = tokenmill.counting.count_iterator([data.decode()], split="cl100k")
    arena, offsets = counts.arena.tobytes(), counts.offsets.tolist()
    tok = tokenmill.load(RANKS)
    words = (arena[a:b] for a, b in itertools.pairwise(offsets))
    new = [word for word in words if word not in tok.mergeable_ranks]
    random.Random(1).shuffle(new)
    text, ends = b"".join(new), np.cumsum([len(word) for word in new]).astype(np.uintp)
    rows: dict[str, list[tuple[float, float]]] = {}

    def timed(name: str, call: Callable[[], Any]) -> None:
        before = resource.getrusage(resource.RUSAGE_SELF)
        result = call()
        after = resource.getrusage(resource.RUSAGE_SELF)
        del result
        spent = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
        rows.setdefault(name, []).append(spent)

    few = data[: data.rfind(b"\n", 0, 1 << 16) + 1]
    few *= len(data) // len(few)
    for _ in range(ROUNDS):
        tok = tokenmill.load(RANKS)
        for name in ("cold", "warm"):
            timed(name, lambda tok=tok: tok.encode_to_numpy(data, disallowed_special=()))
        bare = tokenmill.Tokenizer(tok.vocabulary, cache_bytes=0)
        timed("merge", lambda bare=bare: bare._core.kernel.encode_to_ids(text, None, None, ends))
        tok = tokenmill.load(RANKS)
        for name in ("first", "again"):
            timed(name, lambda tok=tok: tok._core.kernel.encode_to_ids(text, None, None, ends))
        timed("resident", lambda tok=tok: tok.encode_to_numpy(few, disallowed_special=()))
    found: dict = {"pretokens": int(counts.counts.sum()), "new": len(new)}
    for name, times in rows.items():
        found[name] = [round(1e3 * statistics.median(each), 1) for each in zip(*times, strict=True)]
    return found


def threads(what: str, n: int, corpus: str) -> dict:
    """The CPU seconds of all threads and of the main thread alone."""
    import tokenmill

    data = corpus_file(corpus).read_bytes()[:SIZE]
    path = CACHE / f"{corpus}-{SIZE}.txt"
    path.write_bytes(data)
    tok = tokenmill.load(RANKS)
    texts = [data[i : i + 4000].decode(errors="ignore") for i in range(0, len(data), 4000)]
    ids = tok.encode_ordinary_batch(texts)
    calls: dict[str, Callable[[], Any]] = {
        "arrays": lambda: tok.encode_batch_to_numpy(texts, num_threads=n, disallowed_special=()),
        "lists": lambda: tok.encode_ordinary_batch(texts, num_threads=n),
        "decode": lambda: tok.decode_batch(ids, num_threads=n),
        "count": lambda: tokenmill.count(path, num_threads=n),
    }
    calls[what]()
    spent = []
    for _ in range(ROUNDS):
        all_threads, main = time.process_time(), time.thread_time()
        result = calls[what]()
        spent.append((time.process_time() - all_threads, time.thread_time() - main))
        del result
    total, main = sorted(spent)[ROUNDS // 2]
    return {"total": round(total, 4), "main": round(main, 4)}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["encode", corpus]:
            print(json.dumps(encode(corpus)))
        case ["threads", what, n, corpus]:
            print(json.dumps(threads(what, int(n), corpus)))
        case _:
            sys.exit(__doc__)
