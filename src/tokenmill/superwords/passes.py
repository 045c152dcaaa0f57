"""The passes over the text that train superwords, and the merges of their counts.

The first pass adds up the totals of borders. The second counts the fragments that the exact cut leaves of the segments. See
_fragments_cy.py for these words.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..counting import CountOptions
from ..counting.options import Paths, memory_limit_of
from ..counting.reading import FileCount, stored_size, text_sources
from ..counting.rows import Pause
from ..counting.spill import Spill, temporary_spill
from ..counting.threads import SLICE, Counter, Threads
from ..counting.to_memory import count_blocks
from ..errors import UsageError
from ..jobs.progress import Progress
from ..sources.blocks import Block, Cut
from ..sources.find import ignore_skip
from ..training import Options, loops
from ..training.alphabet import Alphabet
from ._fragments_cy import add_totals, find_fragments

if TYPE_CHECKING:
    from ..counting import WordCounts
    from ..counting.rows import Rows
    from ..split import Splitter
    from ._fragments_cy import SegmentReader

_MOST_TOTALS = 1 << 25  # 64 MB in each thread
_HIGHEST = 2**16 - 1  # a total stays there
_CACHE = 128 << 20  # bytes of the cache of words in each thread
_KEPT_PERCENT = 25  # of the memory, for the ids of the text
_SAMPLE = 1 << 20  # totals for the first guess

# Merges as rows (left id, right id, new id), all tokens by id, and two numbers for each merge: its count and 0.
Merged = tuple[np.ndarray, list[bytes], np.ndarray]

# Let threads count a whole text. The Cut divides it into blocks; the str is the stage for the progress.
Read = Callable[[Threads, Cut, str, Progress], object]


def file_text(sources: Paths, options: CountOptions | None = None) -> Read:
    """The text of files, as for `count`. UsageError for a pipe, which can be read only once."""
    options = options or CountOptions()
    paths, _ = text_sources(sources, options.read, ignore_skip if options.read.skip_damaged else None)
    size = stored_size(paths)
    if size is None:
        raise UsageError("superwords need the text several times, and a pipe can be read only once; give a file")

    def read(threads: Threads, cut: Cut, stage: str, progress: Progress) -> None:
        FileCount(paths, cut, options, None).run(threads, lambda done: progress(stage, done, size))

    return read


def memory_text(texts: Iterable[str | bytes]) -> Read:
    """Texts, each one document. UsageError for an iterator, which can be read only once."""
    if iter(texts) is texts:
        raise UsageError(
            "superwords need the text several times, and an iterator can be read only once; give a list of texts, or "
            "an object whose __iter__ begins again"
        )
    return lambda threads, cut, stage, progress: count_blocks(
        texts, threads, lambda _, done, total: progress(stage, done, total)
    )


@dataclass(frozen=True)
class Job:
    """The arguments of a training of superwords. counts: the word counts of `text`. spill_folder: see `count`."""

    counts: WordCounts
    text: Read
    options: Options
    memory_limit: str | int | None = None
    progress: Progress | None = None
    spill_folder: Path | None = None

    def __post_init__(self) -> None:
        if self.counts.mixture:
            raise UsageError("superwords are not for weighted word counts: stage 2 reads the text as it is")

    def show(self, stage: str, done: int, total: int | None) -> None:
        if self.progress is not None:
            self.progress(stage, done, total)


class Passes:
    """The passes over a text, whose segments are ids of `tokens`. Subclasses create the readers, and may change `cut`.

    splitter: cuts out special tokens.
    max_words: the largest number of words in a token; 0 for no limit.
    flags: uint8 by id, the flags of a token for the veto on a colon before a space (_fragments_cy.py).
    """

    max_words = 0

    def __init__(self, job: Job, tokens: list[bytes], splitter: Splitter) -> None:
        self.job, self.options, self.progress = job, job.options, job.show
        self.tokens, self.splitter = tokens, splitter
        self.memory = memory_limit_of(job.memory_limit)
        self.spill = partial(temporary_spill, job.spill_folder)
        self.cache_bytes = min(_CACHE, self.memory // 8)
        self.width = 2 if len(tokens) <= 1 << 16 else 4
        self.flags = np.zeros(len(tokens), np.uint8)
        self.warm: list[SegmentReader] = []  # readers of the first pass, whose caches are full
        self.ids: list[np.ndarray] | None = []  # of all text, if there was memory for them
        most = min(_MOST_TOTALS, self.memory // 32)
        self.n_totals = 1 << max(10, min(job.counts.total_bytes // 16, most).bit_length() - 1)

    @property
    def cut(self) -> Cut:
        """The function that finds cuts between blocks of a text."""
        return self.splitter.certain_cut

    def reader(self) -> SegmentReader:
        """A SegmentReader for one thread."""
        raise NotImplementedError

    def totals(self) -> np.ndarray:
        """The totals of borders by their hash, uint16. A total of several borders is too high, and none exceeds _HIGHEST."""
        new = partial(_BorderCounter, self)
        with self.spill() as spill, Threads(new, self.options.num_threads, self.memory, spill) as threads:
            counters: list[Any] = [*threads.counters]
            self.job.text(threads, self.cut, "borders", self.progress)
        counted, nbytes = self.job.counts.total_bytes, sum(counter.nbytes for counter in counters)
        if self.job.counts.documents and nbytes != counted:  # counts without documents do not know their text
            raise UsageError(
                f"the text has {nbytes:,} bytes, and the word counts are of {counted:,}: "
                "name the text that was counted, and read it the same way"
            )
        self.warm = [counter.reader for counter in counters]
        for counter in counters:
            self.ids = None if self.ids is None or counter.ids is None else self.ids + counter.ids
        first, *others = (counter.totals for counter in counters)
        for other in others:
            np.minimum(other, np.uint16(_HIGHEST) - first, out=other)  # none is above _HIGHEST
            first += other
        return first

    def fragments(self, totals: np.ndarray, least: int) -> Rows:
        """The distinct fragments and their counts. Their bytes are ids of `width` bytes."""
        crossed = np.packbits(totals >= min(least, _HIGHEST), bitorder="little")
        new = partial(_FragmentCounter, self, crossed)
        with self.spill() as spill, Threads(new, self.options.num_threads, self.memory, spill) as threads:
            if self.ids is None:
                self.job.text(threads, self.cut, "fragments", self.progress)
            else:
                self._count_ids(self.ids, threads)
            return threads.rows()

    def _count_ids(self, blocks: list[np.ndarray], threads: Threads) -> None:
        """Let the threads count the ids of all blocks."""
        waiting = deque(blocks)

        def step(counter: Any) -> bool:
            try:
                ids = waiting.popleft()
            except IndexError:
                return False
            counter.count_ids(ids)
            return True

        threads.start(step)
        threads.join(lambda: self.progress("fragments", len(blocks) - len(waiting), len(blocks)))

    def attempts(self, totals: np.ndarray, guess: int, wanted: int) -> Iterator[tuple[int, Merged]]:
        """Yield a count, and the merges with this count or more. The first count is `guess`, and each further one is lower."""
        floor = self.options.min_pair_count
        while True:
            least = max(floor, guess)
            yield least, self.merge(self.fragments(totals, least), least, wanted)
            if least == floor:
                return
            guess = least // 4

    def merge(self, rows: Rows, least: int, wanted: int) -> Merged:
        """At most `wanted` merges, those with a count of `least` or more."""
        arena, offsets, numbers = rows
        if len(numbers) == 0:
            return np.zeros((0, 3), np.int32), self.tokens, np.zeros((0, 2), np.uint64)
        ids = arena.view(np.uint16 if self.width == 2 else np.uint32)
        offsets //= np.uint64(self.width)
        corpus, weight = loops.load_corpus(Alphabet(tuple(self.tokens), ids, offsets), numbers, 1, self.progress)
        size = self.options.vocab_size - self.options.n_ordinary + len(self.tokens) + wanted
        options = self.options.without_superwords(refine=None, vocab_size=size, min_pair_count=least)
        trained = loops.merge(corpus, self.tokens, options, weight, self.progress, max_words=self.max_words)
        merges, numbers, tokens, _ = trained
        return merges, tokens, numbers


class _IdCounter(Counter):
    """Reads blocks as ids, which a subclass counts."""

    def __init__(self, passes: Passes, budget: int, spill: Spill, pause: Pause) -> None:
        super().__init__(passes.splitter, budget, spill, pause)
        self.reader = passes.warm.pop() if passes.warm else passes.reader()
        self.nbytes = 0  # of the text read

    def count_block(self, block: Block) -> None:
        self.nbytes += block.nbytes
        self.reader.begin(*self.splitter.prepared(block.data, block.ends))
        while not self.reader.read(SLICE):
            self.pause()
        self.count_ids(np.frombuffer(self.reader.take(), np.uint32))

    def count_ids(self, ids: np.ndarray) -> None:
        raise NotImplementedError


class _BorderCounter(_IdCounter):
    """Adds the borders of blocks to its own totals."""

    def __init__(self, passes: Passes, budget: int, spill: Spill, pause: Pause) -> None:
        super().__init__(passes, budget, spill, pause)
        self.totals = np.zeros(passes.n_totals, np.uint16)
        self.ids: list[np.ndarray] | None = None if passes.ids is None else []
        self._room = budget * _KEPT_PERCENT // 100

    def count_ids(self, ids: np.ndarray) -> None:
        add_totals(ids, self.totals)
        if self.ids is not None:
            self.ids.append(ids)
            self._room -= ids.nbytes
            if self._room < 0:
                self.ids = None


class _FragmentCounter(_IdCounter):
    """Counts the fragments of blocks in its table."""

    def __init__(self, passes: Passes, crossed: np.ndarray, budget: int, spill: Spill, pause: Pause) -> None:
        super().__init__(passes, budget, spill, pause)
        self._crossed, self._flags, self._width = crossed, passes.flags, passes.width

    def count_ids(self, ids: np.ndarray) -> None:
        self.add(*find_fragments(ids, self._crossed, self._flags, self._width))


def guess(totals: np.ndarray, wanted: int) -> int:
    """Half the `wanted`-th best total. If it is too high, another pass follows; if too low, there are more fragments."""
    stride = max(1, min(len(totals) // _SAMPLE, wanted // 1024))
    return loops.half_the_best(totals[::stride], wanted // stride)
