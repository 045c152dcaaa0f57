"""Count the pretokens of files, or of the texts of an iterator, into memory."""

from __future__ import annotations

import os
import queue
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from ..errors import WrongTypeError, checked_texts, suggests_options
from ..jobs.progress import Meter, Progress, drawn
from ..jobs.work import JobOptions
from ..sources.blocks import BLOCK, Block
from ..sources.find import OnSkip, ignore_skip
from ..sources.jsonl import without_surrogates
from ..split import Splitter
from ..split.patterns import DEFAULT
from .options import CountOptions, Paths, make_splitter, memory_limit_of
from .reading import FileCount, cut_of, stored_size, text_sources
from .spill import temporary_spill
from .threads import POLL, Counter, Threads
from .weights import scaled
from .word_counts import WordCounts, shared_patterns


@suggests_options
def count(
    sources: Paths,
    *,
    split: str | Iterable[str] | Splitter = DEFAULT,
    options: CountOptions | None = None,
    memory_limit: str | int | None = None,
    num_threads: int | None = None,
    on_skip: OnSkip | None = None,
    engine: Literal["local", "ray"] = "local",
    spill_folder: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
) -> WordCounts:
    """Count the pretokens of files: paths, folders and globs of text, plain or compressed (.gz, .bz2, .xz, .zst).

    By default a text file is one document. In .jsonl each line is one, in .parquet each row. See `options.read`.

    split: the name of a split pattern or a regular expression, several of either, or a Splitter.
    options: a `CountOptions`. The whole result is in memory, about 30 bytes for each distinct pretoken; with
        `count_to_folder`, it is not.
    memory_limit: overrides `memory_limit` of `options`.
    num_threads: the number of threads (None: all cores; on Ray, one for each task).
    on_skip: called for each document that cannot be read and is left out, and for the rest of a truncated file. None raises
        an InputError instead, unless the options have skip_damaged.
    engine: "ray" counts on a Ray cluster, through `spill_folder`. See `count_to_folder`.
    spill_folder: for tables beyond the memory limit. None is the folder of TMPDIR, or else the current folder.
    progress: called as progress("count", bytes read, bytes of all files). The last is None if one of them is a pipe.
    Raises InputError for a source that is missing, cannot be read, or is damaged.
    """
    splitter = make_splitter(split)
    options = options or CountOptions()
    if memory_limit is not None:
        options = replace(options, memory_limit=memory_limit)
    job, on_skip = JobOptions(engine, num_threads=num_threads), options.read.skipper(on_skip)
    if engine == "ray":
        from .to_folder import count_to_folder

        with temporary_spill(spill_folder) as spill:
            output = spill.folder / "counts"
            count_to_folder(
                sources, output, split=splitter, options=options, on_skip=on_skip, job=job, progress=progress
            )
            return WordCounts.load(output)
    paths, _ = text_sources(sources, options.read, on_skip)
    size = stored_size(paths)
    with (
        drawn(progress) as show,
        temporary_spill(spill_folder) as spill,
        Threads(
            partial(Counter, splitter), num_threads, memory_limit_of(options.memory_limit), spill, size=size
        ) as threads,
    ):
        files = FileCount(paths, cut_of(splitter), options, on_skip)
        meter = Meter(show and partial(show, "count"), [size])
        files.run(threads, partial(meter.set, 0))
        meter.at(1)
        metadata = files.metadata(splitter)
        return WordCounts(*threads.rows(scaled(options.min_count, metadata.scale)), *metadata)  # type: ignore[arg-type]


def count_each(
    texts: Mapping[Any, Paths | WordCounts],
    split: Iterable[str] = (),
    options: CountOptions | None = None,
    *,
    special_tokens: Iterable[str] = (),
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> dict[Any, WordCounts]:
    """The word counts of several texts by name: sources as for `count`, saved word counts, or WordCounts.

    split: by default the patterns of the word counts among the texts, or else the default of `count`.
    Raises InputError for a missing source before the first text is counted.
    """
    options = options or CountOptions()
    counts: dict[Any, WordCounts] = {}
    uncounted: dict[Any, list[str | os.PathLike[str]]] = {}
    for name, text in texts.items():
        if isinstance(text, WordCounts):
            counts[name] = text
            continue
        paths = [text] if isinstance(text, (str, os.PathLike)) else list(text)
        if len(paths) == 1 and WordCounts.is_saved(paths[0]):
            counts[name] = WordCounts.load(paths[0])
        else:
            text_sources(paths, options.read, ignore_skip if options.read.skip_damaged else None)
            uncounted[name] = paths
    patterns = shared_patterns([Splitter(*split).patterns, *(each.split_patterns for each in counts.values())])
    splitter = Splitter(*(patterns or [DEFAULT]), special_tokens=special_tokens)
    for name, paths in uncounted.items():
        counts[name] = count(paths, split=splitter, options=options, num_threads=num_threads, progress=progress)
    return {name: counts[name] for name in texts}


@suggests_options
def count_iterator(
    texts: Iterable[str | bytes],
    *,
    split: str | Iterable[str] | Splitter = DEFAULT,
    num_threads: int | None = None,
    memory_limit: str | int | None = None,
    min_count: int = 1,
    progress: Progress | bool | None = None,
) -> WordCounts:
    """Count the pretokens of the texts that an iterator yields, each one document. Options as for `count`.

    Strings are encoded as UTF-8, lone surrogates as U+FFFD. An exception that the iterator raises is passed on,
    and nothing is returned. The iterator runs in the caller's thread.

    min_count: leave out pretokens seen fewer times.
    progress: called as progress("count", bytes of text so far, None).

    >>> sorted(count_iterator(["low low", "lower"]).items())
    [(b' low', 1), (b'low', 1), (b'lower', 1)]
    """
    splitter = make_splitter(split)
    limit = memory_limit_of(memory_limit)
    counter = partial(Counter, splitter)
    with (
        drawn(progress) as show,
        temporary_spill(None) as spill,
        Threads(counter, num_threads, limit, spill) as threads,
    ):
        size = count_blocks(checked_texts(texts), threads, show)
        return WordCounts(*threads.rows(min_count), splitter.patterns, *size)


def count_blocks(texts: Iterable[str | bytes], threads: Threads, progress: Progress | None) -> tuple[int, int]:
    """Let the threads count all texts. Return the number of texts and of their bytes."""
    waiting: queue.Queue[Block | None] = queue.Queue(2 * threads.n)

    def step(counter: Counter) -> bool:
        try:
            block = waiting.get(timeout=POLL)
        except queue.Empty:
            return True
        if block is None:  # the end, for all threads
            waiting.put(None)
            return False
        counter.count_block(block)
        return True

    threads.start(step)
    seen = number = 0
    for documents in _batches(texts):
        block = Block()
        block.set_documents(documents)
        _put(waiting, block, threads)
        seen += block.nbytes
        number += block.documents
        if progress is not None:
            progress("count", seen, None)
    _put(waiting, None, threads)
    threads.join()
    return number, seen


def _batches(texts: Iterable[str | bytes]) -> Iterator[list[bytes]]:
    """Yield the texts as bytes, in batches of about a megabyte."""
    documents: list[bytes] = []
    size = 0
    for text in texts:
        if hasattr(text, "as_py"):  # an item of an array of PyArrow
            text = text.as_py()
        if not isinstance(text, (str, bytes, bytearray, memoryview)):
            raise WrongTypeError(f"the texts must be strings or bytes, but one is {type(text).__name__}: {text!r:.60}")
        documents.append(without_surrogates(text)[0].encode() if isinstance(text, str) else bytes(text))
        size += len(documents[-1])
        if size >= BLOCK:
            yield documents
            documents, size = [], 0
    if documents:
        yield documents


def _put(waiting: queue.Queue, block: Block | None, threads: Threads) -> None:
    while True:
        threads.check()
        try:
            waiting.put(block, timeout=POLL)
            return
        except queue.Full:
            continue
