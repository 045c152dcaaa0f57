"""SuperBPE: a second stage of training without borders between words.

    Liu, Hayase, Hofmann, Oh, Smith, Choi: SuperBPE: Space Travel for Language Models, 2025 (arXiv 2503.13423)

Stage 1 is plain BPE on word counts. In stage 2 each line of the text is cut by another pattern into segments, which may hold
many words; the merges of stage 1 are applied to them in order, and training goes on. Two passes over the text make that
small: the first adds up how often any two tokens of stage 1 are neighbours, the second counts the fragments that the exact
cut (_fragments_cy.py) leaves of the segments.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from ..counting.memory import memory_limit_of
from ..counting.spill import Spill, temporary_spill
from ..counting.tables import Pause
from ..counting.threads import SLICE, Counter, Threads
from ..errors import UsageError
from ..jobs.progress import Progress
from ..sources.blocks import Block, Cut
from ..tokenizer.encoding.parts import part_encoder
from ..training import Options, Training, loops
from ..training.alphabet import Alphabet
from ..training.trainer import by_falling_count, pair_weight
from ..training.watching import Watch
from ..vocabulary import AddedToken, Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from ..counting import WordCounts
    from ..counting.tables import Rows
    from ..tokenizer.encoding._parts_cy import PartEncoder
    from .text import Text

_MOST_TOTALS = 1 << 25  # 64 MB in each thread
_HIGHEST = 2**16 - 1  # a total stays there
_CACHE = 128 << 20  # bytes of the cache of words in each thread
_LEARNT = 1 << 17  # words that all caches begin with
_KEPT = 25  # percent of the memory for ids that are kept
_SAMPLE = 1 << 20  # totals that the first guess looks at


class SuperwordTraining:
    """Trains both stages. The result does not depend on the memory limit or the number of threads.

    counts: the word counts of `text`.
    options: with `superwords`; min_count holds for stage 1.
    """

    def __init__(
        self,
        counts: WordCounts,
        text: Text,
        options: Options,
        memory_limit: str | int | None = None,
        progress: Progress | None = None,
    ) -> None:
        if counts.mixture:
            raise UsageError("superwords are not for weighted word counts: stage 2 reads the text as it is")
        self._counts, self._text, self._options = counts, text, options
        self._memory_limit, self._progress = memory_limit, progress

    def run(self) -> Vocabulary:
        """Train."""
        options = self._options
        assert options.superwords is not None
        stage1 = dataclasses.replace(options, vocab_size=options.superwords.stage1_size, superwords=None)
        first = Training(self._counts, stage1, self._progress).run()
        show = self._progress or (lambda stage, done, total: None)
        stage2 = _Stage2(first, self._text, options, self._counts, self._memory_limit, show)
        tokens, events, event_counts = stage2.run()
        special = enumerate(options.special_tokens, len(tokens))
        return Vocabulary(
            tokens=tuple(tokens),
            split_patterns=stage2.splitter.patterns,
            order="merges",
            events=events,
            added_tokens=tuple(AddedToken(content, id) for id, content in special),
            whole_pretokens=False,  # it would change no id, and encoding would have to check that
            event_counts=event_counts,
        )

    def n_tokens(self) -> None:
        """None: training cuts the text into lines, and the tokenizer does not."""


class _Stage2:
    """What the passes over the text share."""

    def __init__(
        self,
        first: Vocabulary,
        text: Text,
        options: Options,
        counts: WordCounts,
        memory_limit: str | int | None,
        progress: Progress,
    ) -> None:
        import numpy as np

        assert options.superwords is not None
        self.text, self.options, self.progress = text, options, progress
        self.words = options.superwords
        self.splitter = options.splitter(self.words.stage2_split)
        if self.splitter.scanner is None:
            raise UsageError(
                "stage2_split is not a pattern that the scanner can run; leave out lookaround and references"
            )
        self.tokens = [token for token in first.tokens if token is not None]
        self.merges, self.event_counts = first.events, first.event_counts
        self.memory = memory_limit_of(memory_limit)
        self.width = 2 if len(self.tokens) <= 1 << 16 else 4
        self.flags = np.zeros(len(self.tokens), np.uint8)
        if self.words.colon_veto:
            self.flags[:] = [_colon_flags(token) for token in self.tokens]
        self.encoder = part_encoder(self.tokens, first.events)
        self.encoder.learn(counts.arena, counts.offsets, by_falling_count(counts, options.min_count)[:_LEARNT])
        self.encoder.begin()
        self.warm: list[PartEncoder] = []  # whose caches know the words already
        self.kept: list[bytearray] | None = None  # the ids of all text, if there was memory for them
        most = min(_MOST_TOTALS, self.memory // 32)
        self.n_totals = 1 << max(10, min(counts.total_bytes // 16, most).bit_length() - 1)

    def run(self) -> tuple[list[bytes], np.ndarray, np.ndarray]:
        """The tokens and the merges of both stages, with the count of each merge."""
        import numpy as np

        wanted = self.options.n_ordinary - len(self.tokens)
        totals = self._totals()
        floor = self.options.min_pair_count
        least = max(floor, min(_guess(totals, wanted), _HIGHEST))
        while True:
            merges, tokens, numbers = self._merge(self._fragments(totals, least), least)
            if len(merges) == wanted or least == floor:
                break
            least = max(floor, least // 4)  # the guess was too high
        Watch(self.progress, self.tokens, len(self.merges)).tell(merges, numbers)
        counts = np.concatenate([np.reshape(self.event_counts, (-1, 2)), numbers])
        return tokens, np.concatenate([self.merges, merges]), counts

    def _totals(self) -> np.ndarray:
        """How often any two ids are neighbours in a segment, at least: uint16, by the hash of the two."""
        import numpy as np

        counters: list[_BorderCounter] = []

        def new(budget: int, spill: Spill, pause: Pause) -> Counter:
            counters.append(_BorderCounter(self, budget, spill, pause))
            return counters[-1]

        with temporary_spill() as spill, Threads(new, self.options.num_threads, self.memory, spill) as threads:
            self.text.read(threads, self.cut, "borders", self.progress)
        self.warm = [counter.reader.parts for counter in counters]
        if all(counter.kept is not None for counter in counters):
            self.kept = [ids for counter in counters for ids in counter.kept or ()]
        totals = counters[0].totals
        for other in counters[1:]:
            np.minimum(other.totals, np.uint16(_HIGHEST) - totals, out=other.totals)
            totals += other.totals
        return totals

    def _fragments(self, totals: np.ndarray, least: int) -> Rows:
        """The distinct fragments and their counts. Their bytes are ids of `width` bytes."""
        import numpy as np

        new = partial(_FragmentCounter, self, np.packbits(totals >= min(least, _HIGHEST), bitorder="little"))
        with temporary_spill() as spill, Threads(new, self.options.num_threads, self.memory, spill) as threads:
            if self.kept is None:
                self.text.read(threads, self.cut, "fragments", self.progress)
            else:
                self._read_kept(threads, self.kept)
            return threads.rows()

    def _read_kept(self, threads: Threads, kept: list[bytearray]) -> None:
        waiting = deque(kept)

        def work(counter: Any) -> None:
            while waiting:
                threads.between_blocks(counter)
                with contextlib.suppress(IndexError):  # another thread took the last one
                    counter.count_kept(waiting.popleft())

        threads.start(work)
        threads.join(lambda: self.progress("fragments", len(kept) - len(waiting), len(kept)))

    def _merge(self, rows: Rows, least: int) -> tuple[np.ndarray, list[bytes], np.ndarray]:
        """The merges of stage 2 among those with a count of `least` or more, the tokens of both stages, and the counts."""
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
        options = dataclasses.replace(self.options, min_pair_count=least)
        weight = pair_weight(offsets, numbers)
        limit = self.words.max_words
        watch = Watch(None, ())
        merges, tokens, _ = loops.merge(corpus, self.tokens, options, weight, self.progress, watch, max_words=limit)
        return merges, tokens, np.reshape(watch.numbers, (-1, 2))

    @property
    def cut(self) -> Cut:
        """Where a text may be cut: after a newline, or else where the pattern always cuts."""
        if any("\n" in text for text in self.options.special_tokens):  # the newline may be inside a special token
            return self.splitter.certain_cut

        def cut(data: bytearray, start: int, length: int) -> int:
            return data.rfind(b"\n", start, length) + 1 or self.splitter.certain_cut(data, start, length)

        return cut

    def documents(self, block: Block) -> tuple[Any, Any]:
        """The text of a block and the ends of its documents, without special tokens."""
        return self.splitter.cut_out(block.data, block.ends) or (block.data, block.ends)

    def reader(self, totals: np.ndarray, crossed: np.ndarray):
        """A SegmentReader for one thread, of one of the two passes."""
        from ._fragments_cy import SegmentReader

        encoder = self.warm.pop() if self.warm else self.encoder.copy()
        encoder.set_limit(min(_CACHE, self.memory // 8))
        return SegmentReader(self.splitter.scanner, encoder, totals, crossed, self.flags, self.width)


class _BorderCounter(Counter):
    """Adds the borders of blocks to totals of its own."""

    def __init__(self, stage: _Stage2, budget: int, spill: Spill, pause: Pause) -> None:
        import numpy as np

        super().__init__(None, budget, spill, pause)
        self._documents = stage.documents
        self.totals = np.zeros(stage.n_totals, np.uint16)
        self.kept: list[bytearray] | None = []
        self._room = budget * _KEPT // 100
        self.reader = stage.reader(self.totals, np.zeros(0, np.uint8))

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

    def __init__(self, stage: _Stage2, crossed: np.ndarray, budget: int, spill: Spill, pause: Pause) -> None:
        super().__init__(None, budget, spill, pause)
        import numpy as np

        self._documents = stage.documents
        self.reader = stage.reader(np.zeros(0, np.uint16), crossed)

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


def _colon_flags(token: bytes) -> int:
    """What the veto on a colon before a space must know of a token."""
    from ._fragments_cy import BEGINS_WITH_SPACE, ENDS_WITH_COLON, HOLDS_BOTH

    return (
        token.endswith(b":") * ENDS_WITH_COLON
        | token.startswith(b" ") * BEGINS_WITH_SPACE
        | (b": " in token) * HOLDS_BOTH
    )


def _guess(totals: np.ndarray, wanted: int) -> int:
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
