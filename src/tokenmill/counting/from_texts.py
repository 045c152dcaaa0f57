"""Count the pretokens of the texts that an iterator yields."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Iterator
from functools import partial

from ..errors import UsageError
from ..jobs.progress import Progress
from ..sources.blocks import BLOCK, Block
from ..sources.jsonl import without_surrogates
from ..split import Splitter
from ..split.patterns import DEFAULT
from .memory import memory_limit_of
from .options import make_splitter
from .spill import temporary_spill
from .threads import POLL, Counter, Threads
from .word_counts import WordCounts


def count_iterator(
    texts: Iterable[str | bytes],
    split: str | Iterable[str] | Splitter = DEFAULT,
    *,
    num_threads: int | None = None,
    memory_limit: str | int | None = None,
    min_count: int = 1,
    progress: Progress | None = None,
) -> WordCounts:
    """Count the pretokens of the texts that an iterator yields, each one document. Options as for `count`.

    Strings are encoded as UTF-8, lone surrogates as U+FFFD. An exception of the iterator is passed on, and nothing is
    returned. The iterator runs in the caller's thread.

    min_count: leave out pretokens seen fewer times.
    progress: called as progress("count", bytes of text so far, None).

    >>> sorted(count_iterator(["low low", "lower"]).items())
    [(b' low', 1), (b'low', 1), (b'lower', 1)]
    """
    splitter = make_splitter(split)
    if isinstance(texts, (str, bytes)):
        raise UsageError("texts is one string; give an iterable of strings, such as [text]")
    limit = memory_limit_of(memory_limit)
    with temporary_spill(None) as spill, Threads(partial(Counter, splitter), num_threads, limit, spill) as threads:
        count_blocks(texts, threads, progress)
        return WordCounts(*threads.rows(min_count), splitter.patterns, threads.documents, threads.total_bytes)


def count_blocks(texts: Iterable[str | bytes], threads: Threads, progress: Progress | None) -> None:
    """Let the threads count all texts."""
    waiting: queue.Queue[Block | None] = queue.Queue(2 * threads.n)

    def work(counter: Counter) -> None:
        while True:
            threads.between_blocks(counter)
            try:
                block = waiting.get(timeout=POLL)
            except queue.Empty:
                continue
            if block is None:
                return
            counter.count(block)

    threads.start(work)
    seen = 0
    for block in _blocks(texts):
        _put(waiting, block, threads)
        seen += block.nbytes
        if progress is not None:
            progress("count", seen, None)
    for _ in range(threads.n):
        _put(waiting, None, threads)
    threads.join()


def _blocks(texts: Iterable[str | bytes]) -> Iterator[Block]:
    """The texts, gathered into blocks of about a megabyte."""
    documents: list[bytes] = []
    size = 0
    for text in texts:
        if not isinstance(text, (str, bytes, bytearray, memoryview)):
            raise UsageError(f"the texts must be strings or bytes, but one is {type(text).__name__}: {text!r:.60}")
        documents.append(without_surrogates(text)[0].encode() if isinstance(text, str) else bytes(text))
        size += len(documents[-1])
        if size >= BLOCK:
            yield _block(documents)
            documents, size = [], 0
    if documents:
        yield _block(documents)


def _block(documents: list[bytes]) -> Block:
    block = Block()
    block.set_documents(documents)
    return block


def _put(waiting: queue.Queue, block: Block | None, threads: Threads) -> None:
    while True:
        threads.check()
        try:
            waiting.put(block, timeout=POLL)
            return
        except queue.Full:
            continue
