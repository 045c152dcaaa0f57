"""The passes over the text that train superwords, and the merges of what they count.

The first pass adds up how often any two tokens are neighbours in a segment, the second counts the fragments that the exact cut
(_fragments_cy.py) leaves of the segments.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..counting.memory import memory_limit_of
from ..counting.rows import Pause
from ..counting.spill import Spill, temporary_spill
from ..counting.threads import SLICE, Counter, Threads
from ..jobs.progress import Progress
from ..jobs.work import JobOptions
from ..sources.blocks import Block
from ..training import Options, loops
from ..training.alphabet import Alphabet
from ..training.trainer import by_falling_count, pair_weight
from ..training.watching import Watch

if TYPE_CHECKING:
    import numpy as np

    from ..counting import WordCounts
    from ..counting.rows import Rows
    from ..sources.blocks import Cut
    from ..split import Splitter
    from ..tokenizer.encoding._parts_cy import PartEncoder
    from ._fragments_cy import SegmentReader
    from .text import Text

_MOST_TOTALS = 1 << 25  # 64 MB in each thread
_HIGHEST = 2**16 - 1  # a total stays there
_CACHE = 128 << 20  # bytes of the cache of words in each thread
_KEPT = 25  # percent of the memory for ids that are kept
TASK_MEMORY = 10**9  # bytes for a task on Ray
_SAMPLE = 1 << 20  # totals that the first guess looks at

Result = TypeVar("Result")

# Merges as rows (left id, right id, new id), all tokens by id, and two numbers for each merge: its count and 0.
Merged = tuple["np.ndarray", list[bytes], "np.ndarray"]


class InParts(Protocol):
    """Does the passes in parts."""

    def totals(self, passes: Passes) -> np.ndarray:
        """See Passes.totals."""

    def fragments(self, passes: Passes, crossed: np.ndarray, least: int) -> Rows:
        """See Passes.fragments."""


@dataclasses.dataclass(frozen=True)
class Job:
    """What both kinds of superwords are trained on.

    counts: the word counts of `text`; None in a task, which reads only a part.
    parts: does the passes over files in parts, which are saved; None to do each pass as a whole. running: how they are done.
    """

    counts: WordCounts | None
    text: Text | None
    options: Options
    memory_limit: str | int | None = None
    progress: Progress | None = None
    parts: InParts | None = None
    running: JobOptions = JobOptions()  # noqa: RUF009  it is frozen

    def show(self, stage: str, done: int, total: int | None) -> None:
        """Tell the progress."""
        if self.progress is not None:
            self.progress(stage, done, total)


class Passes:
    """The passes over a text, whose segments are ids of `tokens`. Subclasses make the readers, and may change `cut`.

    splitter: cuts special tokens out.
    max_words: the most words in a token; 0 for no limit.
    """

    max_words = 0
    arguments: tuple[Any, ...]  # of the subclass, beside the job

    def __init__(self, job: Job, tokens: list[bytes], splitter: Splitter) -> None:
        self.job, self.options, self.progress = job, job.options, job.show
        self.tokens, self.splitter = tokens, splitter
        self.memory = memory_limit_of(job.memory_limit)
        self.cache = min(_CACHE, self.memory // 8)
        self.width = 2 if len(tokens) <= 1 << 16 else 4
        self.warm: list[PartEncoder | None] = []  # whose caches know the words already
        self.kept: list[bytearray] | None = []  # the ids of all text, if there was memory for them
        self.n_parts = 1
        most = min(_MOST_TOTALS, self.memory // 32)
        size = 0 if job.counts is None else job.counts.total_bytes
        self.n_totals = 1 << max(10, min(size // 16, most).bit_length() - 1)

    def __reduce__(self) -> tuple[Any, ...]:
        """For a task elsewhere, without what only training as a whole needs."""
        limit = self.job.memory_limit or TASK_MEMORY
        job = dataclasses.replace(self.job, counts=None, text=None, progress=None, parts=None, memory_limit=limit)
        return _passes_of_task, (type(self), job, self.arguments, self.n_totals)

    @property
    def cut(self) -> Cut:
        """Where a text may be cut into blocks."""
        return self.splitter.certain_cut

    def reader(self, totals: np.ndarray, crossed: np.ndarray) -> SegmentReader:
        """A SegmentReader for one thread, of one of the two passes."""
        raise NotImplementedError

    def totals(self) -> np.ndarray:
        """How often any two ids are neighbours in a segment, at least: uint16, by the hash of the two."""
        if self.job.parts is not None:
            return self.job.parts.totals(self)
        return self.borders(self._read("borders"), self.options.num_threads)

    def _read(self, stage: str) -> Callable[[Threads], None]:
        assert self.job.text is not None
        return partial(self.job.text.read, cut=self.cut, stage=stage, progress=self.progress)

    def borders(self, read: Callable[[Threads], None], num_threads: int | None) -> np.ndarray:
        """The totals of the text that `read` lets threads count."""

        counters: list[_BorderCounter] = []

        def new(budget: int, spill: Spill, pause: Pause) -> Counter:
            counters.append(_BorderCounter(self, budget, spill, pause))
            return counters[-1]

        with temporary_spill(None) as spill, Threads(new, num_threads, self.memory, spill) as threads:
            read(threads)
        self.warm = [counter.reader.parts for counter in counters]
        for counter in counters:
            self.kept = None if self.kept is None or counter.kept is None else self.kept + counter.kept
        return add_totals(counter.totals for counter in counters)

    def fragments(self, totals: np.ndarray, least: int) -> Rows:
        """The distinct fragments and their counts. Their bytes are ids of `width` bytes."""
        import numpy as np

        crossed = np.packbits(totals >= min(least, _HIGHEST), bitorder="little")
        if self.kept is None and self.job.parts is not None:
            return self.job.parts.fragments(self, crossed, least)
        read = self._read("fragments") if self.kept is None else partial(self._read_kept, self.kept)
        return self.count_fragments(read, crossed, self.options.num_threads, lambda threads: threads.rows())

    def count_fragments(
        self,
        read: Callable[[Threads], None],
        crossed: np.ndarray,
        num_threads: int | None,
        finish: Callable[[Threads], Result],
    ) -> Result:
        """What `finish` makes of the fragments of the text that `read` lets threads count.

        crossed: a bit for each total, whether it is high enough.
        """
        new = partial(_FragmentCounter, self, crossed)
        with temporary_spill(None) as spill, Threads(new, num_threads, self.memory, spill) as threads:
            read(threads)
            return finish(threads)

    def _read_kept(self, kept: list[bytearray], threads: Threads) -> None:
        waiting = deque(kept)

        def work(counter: Any) -> None:
            while waiting:
                threads.between_blocks(counter)
                with contextlib.suppress(IndexError):  # another thread took the last one
                    counter.count_kept(waiting.popleft())

        threads.start(work)
        threads.join(lambda: self.progress("fragments", len(kept) - len(waiting), len(kept)))

    def merge(self, rows: Rows, least: int, wanted: int) -> Merged:
        """At most `wanted` merges, those with a count of `least` or more."""
        import numpy as np

        from ..counting import WordCounts

        arena, offsets, numbers = rows
        if len(numbers) == 0:
            return np.zeros((0, 3), np.int32), self.tokens, np.zeros((0, 2), np.uint64)
        ids = arena.view(np.uint16 if self.width == 2 else np.uint32)
        offsets //= np.uint64(self.width)
        order = by_falling_count(WordCounts(arena, rows[1] * np.uint64(self.width), numbers), 1)
        start = Alphabet(tuple(self.tokens), ids, offsets)
        corpus = loops.load_corpus(start, numbers, order, self.progress)
        size = self.options.vocab_size - self.options.n_ordinary + len(self.tokens) + wanted
        options = self.options.without_superwords(refine=None, vocab_size=size, min_pair_count=least)
        weight = pair_weight(offsets, numbers)
        watch = Watch(None, ())
        merges, tokens, _ = loops.merge(
            corpus, self.tokens, options, weight, self.progress, watch, max_words=self.max_words
        )
        return merges, tokens, np.reshape(watch.numbers, (-1, 2))

    def documents(self, block: Block) -> tuple[Any, Any]:
        """The text of a block and the ends of its documents, without special tokens."""
        return self.splitter.prepared(block.data, block.ends)


def _passes_of_task(kind: Callable[..., Passes], job: Job, arguments: tuple[Any, ...], n_totals: int) -> Passes:
    passes = kind(job, *arguments)
    passes.n_totals, passes.kept = n_totals, None
    return passes


class _BorderCounter(Counter):
    """Adds the borders of blocks to totals of its own."""

    def __init__(self, passes: Passes, budget: int, spill: Spill, pause: Pause) -> None:
        import numpy as np

        super().__init__(None, budget, spill, pause)
        self._documents = passes.documents
        self.totals = np.zeros(passes.n_totals, np.uint16)
        self.kept: list[bytearray] | None = None if passes.kept is None else []
        self._room = budget * _KEPT // 100 // passes.n_parts
        self.reader = passes.reader(self.totals, np.zeros(0, np.uint8))

    def count_block(self, block: Block) -> None:
        self.reader.begin(*self._documents(block), self.kept is not None)
        while not self.reader.add_totals(SLICE):
            self.pause()
        if self.kept is not None:
            self.kept.append(self.reader.take_kept())
            self._room -= len(self.kept[-1])
            if self._room < 0:
                self.kept = None


class _FragmentCounter(Counter):
    """Counts the fragments of blocks in its table."""

    def __init__(self, passes: Passes, crossed: np.ndarray, budget: int, spill: Spill, pause: Pause) -> None:
        super().__init__(None, budget, spill, pause)
        import numpy as np

        self._documents = passes.documents
        self.reader = passes.reader(np.zeros(0, np.uint16), crossed)

    def count_block(self, block: Block) -> None:
        self.reader.begin(*self._documents(block))
        self._count()

    def count_kept(self, ids: bytearray) -> None:
        """Count the fragments of a block that was read before."""
        import numpy as np

        self.reader.begin_kept(np.frombuffer(ids, np.uint32))
        self._count()

    def _count(self) -> None:
        self.make_room()
        while not self.reader.count_fragments(self.table, SLICE):
            self.make_room()


def add_totals(parts: Iterable[np.ndarray]) -> np.ndarray:
    """The sum of tables of totals, none above _HIGHEST. The arrays may change."""
    import numpy as np

    first, *others = parts
    for other in others:
        np.minimum(other, np.uint16(_HIGHEST) - first, out=other)
        first += other
    return first


def guess(totals: np.ndarray, wanted: int) -> int:
    """Half the `wanted`-th best total: a count that the last merge will probably reach.

    A guess too high costs another pass over the text, one too low makes more fragments. The result is the same.
    """
    import numpy as np

    stride = max(1, min(len(totals) // _SAMPLE, wanted // 1024))
    sample = totals[::stride]
    rank = wanted // stride
    if rank >= len(sample):
        return 1
    return int(np.partition(sample, len(sample) - 1 - rank)[len(sample) - 1 - rank]) // 2
