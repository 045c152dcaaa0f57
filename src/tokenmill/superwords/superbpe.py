"""SuperBPE: a second stage of training without borders between words.

    Liu, Hayase, Hofmann, Oh, Smith, Choi: SuperBPE: Space Travel for Language Models, 2025 (arXiv 2503.13423)

Stage 1 is plain BPE on word counts. In stage 2 each line of the text is cut by another pattern into segments, which may hold
many words; the merges of stage 1 are applied to them in order, and training goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionName, UsageError
from ..split.patterns import SUPERWORDS
from ..tokenizer.encoding.superword_caches import words_cache
from ..training import Training
from ..training.loops import Watch
from ..vocabulary import Vocabulary
from ..vocabulary.surgery import arranged
from . import passes
from ._fragments_cy import BEGINS_WITH_SPACE, ENDS_WITH_COLON, HOLDS_BOTH, SegmentReader

if TYPE_CHECKING:
    from ..sources.blocks import Cut
    from ..split import Splitter
    from ..training import Options


def train_superbpe(job: passes.Job) -> Vocabulary:
    """Train both stages. `min_count` holds for stage 1."""
    options = job.options
    stage1 = options.without_superwords(vocab_size=options.stage1_size)
    first = Training(job.counts, stage1, job.progress).run()
    stage2 = _Stage2(job, first)
    wanted = options.n_ordinary - len(stage2.tokens)
    totals = stage2.totals()
    for _, merged in stage2.attempts(totals, passes.guess(totals, wanted), wanted):
        if len(merged[0]) == wanted:
            break
    merges, tokens, numbers = merged
    Watch(job.progress, stage2.tokens, len(first.events)).tell(merges, numbers)
    spelt, added, _ = arranged(tokens, [], options.special_tokens)
    return Vocabulary(
        tokens=spelt,
        split_patterns=stage2.splitter.patterns,
        order="merges",
        events=np.concatenate([first.events, merges]),
        added_tokens=added,
        whole_pretokens=False,  # it would change no id, and encoding would have to check that
        event_counts=np.concatenate([first.event_counts, numbers]),
    )


def stage2_splitter(options: Options) -> Splitter:
    """Cuts the lines of stage 2. UsageError for a pattern that stage 2 cannot use."""
    splitter = options.splitter(options.stage2_split or SUPERWORDS)
    if splitter.scanner is None:
        name = OptionName("stage2_split")
        raise UsageError(name, " is not a pattern that the scanner can run; leave out lookaround and references")
    return splitter


class _Stage2(passes.Passes):
    """Segments are parts of lines."""

    def __init__(self, job: passes.Job, first: Vocabulary) -> None:
        super().__init__(job, [token for token in first.tokens if token is not None], stage2_splitter(job.options))
        self.max_words = 4 if job.options.max_words is None else job.options.max_words
        if job.options.colon_veto is not False:
            self.flags[:] = [
                token.endswith(b":") * ENDS_WITH_COLON
                | token.startswith(b" ") * BEGINS_WITH_SPACE
                | (b": " in token) * HOLDS_BOTH
                for token in self.tokens
            ]
        self.words, self.inside = words_cache(self.tokens, first.events)
        self.words.begin()

    @property
    def cut(self) -> Cut:
        """After a newline, or else where the pattern always cuts."""
        if any("\n" in text for text in self.options.special_tokens):  # the newline may be inside a special token
            return self.splitter.certain_cut

        def cut(data: bytearray, start: int, length: int) -> int:
            return data.rfind(b"\n", start, length) + 1 or self.splitter.certain_cut(data, start, length)

        return cut

    def reader(self) -> SegmentReader:
        return SegmentReader(self.splitter.scanner, self.words, self.cache, self.inside, None)
