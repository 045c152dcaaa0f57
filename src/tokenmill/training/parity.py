"""Parity-aware BPE: the language that is compressed worst chooses the next merge.

    Foroutan, Meister, Paul, Niklaus, Ahmadi, Bosselut, Sennrich: Parity-Aware Byte-Pair Encoding: Improving Cross-lingual Fairness
    in Tokenization, 2025 (arXiv 2508.04796)

Definitions
    length      of a language: the number of tokens of its development text now
    rate        of a language, if there are target ratios instead: the bytes of its training text over its tokens now
    live        a language whose training text still has a pair that may merge

One step
    1. Of the live languages, the one with the greatest length chooses, or the one with the lowest rate / ratio. Of equals the
       first.
    2. The most frequent pair of its training text is merged in all texts; of equals the smaller (left id, right id).

Window: a language may choose only if it chose at most alpha / n of the last W merges, for n live languages.
Hybrid: the first M merges are those of plain BPE on the training texts of all languages together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from ..counting import CountOptions, WordCounts, count_each
from ..counting.options import Paths
from ..counting.word_counts import shared_patterns, sum_of
from ..errors import InputError, OptionName, UsageError
from ..jobs.progress import Progress
from ..vocabulary import Vocabulary
from ..vocabulary.surgery import arranged
from . import loops
from .alphabet import byte_alphabet
from .options import Options, Parity
from .trainer import Training, estimate_memory, limits_of

if TYPE_CHECKING:
    from ._merge_cy import MergeLoop
    from ._tokens_cy import Tokens

_PROGRESS_EVERY = 256  # merges


@dataclass(frozen=True)
class LanguageReport:
    """Result for one language.

    chosen: the number of merges it chose. length: the number of tokens of its development text, else of its training text.
    """

    name: str
    bytes: int
    chosen: int
    length: int


class ParityTraining:
    """A parity-aware training. `run` trains, once; then `languages` has the result for each language.

    training: the text of each language by name, as for `count_each`. development: the same for the development texts; None with
        ratios.
    split: by default the pattern of saved word counts, or "llama3".
    counts: the sum of the word counts of all training texts.
    """

    def __init__(
        self,
        training: Mapping[str, Paths | WordCounts],
        development: Mapping[str, Paths | WordCounts] | None,
        options: Options,
        parity: Parity,
        split: str | Iterable[str] | None = None,
        reading: CountOptions | None = None,
        progress: Progress | None = None,
    ) -> None:
        check_parity(training, development, options, parity)
        self.options, self.parity = options, parity
        self.progress = progress or (lambda stage, done, total: None)
        every = {(True, name): text for name, text in training.items()}
        every |= {(False, name): text for name, text in (development or {}).items()}
        cut = () if options.special_tokens_as_text else options.special_tokens
        patterns = [split] if isinstance(split, str) else split or ()
        run: dict[str, Any] = {"num_threads": options.num_threads, "progress": progress}
        counts = count_each(every, patterns, reading, special_tokens=cut, **run)
        special = [token.encode() for token in options.special_tokens]
        self._names = list(training)
        self._texts = [counts[True, name].prune(options.min_count).cut_out(special) for name in self._names]
        self._judged = [counts[False, name].cut_out(special) for name in self._names] if development else None
        self.counts = WordCounts.merge(self._texts)
        loops.pair_weight(self.counts.offsets, self.counts.counts)
        both = [sum_of(self._texts), sum_of(self._judged or [])]  # raises for different scales of weights
        self.split_patterns = shared_patterns(metadata.split_patterns for metadata in both)
        self.languages: list[LanguageReport] = []
        self._n_tokens = 0

    def run(self) -> Vocabulary:
        from ._tokens_cy import Tokens

        options = self.options
        least = limits_of(options, self.counts).min_pair_count
        wanted = options.n_ordinary - 256
        first: list[list[int]] = []
        if common := min(wanted, self.parity.global_merges):
            plain = replace(options, vocab_size=256 + common, special_tokens=(), min_count=1)
            first = Training(self.counts, plain, self.progress).run().events[:, :2].tolist()
        alphabet = [bytes([byte]) for byte in range(256)]
        tokens = Tokens(alphabet, None, options.max_bytes)
        texts = self._loops("the language", self._texts, tokens, options.min_count)
        every = judged = texts
        if self._judged is not None:
            judged = self._loops("the development text of", self._judged, tokens)
            every = texts + judged
        sizes = [loop.corpus.n_tokens for loop in judged]
        choice = _LanguageChoice(sizes, self.parity, self._names)
        watch = loops.Watch(self.progress, alphabet)
        numbers = np.zeros((wanted, 2), np.uint64)
        for done in range(wanted):
            pair = first[done] if done < len(first) else choice.next_pair(texts, judged, least)
            if pair is None:
                numbers = numbers[:done]
                break
            new = tokens.join(*pair, 0)
            counts = [loop.merge_pair(*pair, new) for loop in every]
            numbers[done, 0] = sum(counts[: len(texts)])
            if done % _PROGRESS_EVERY == 0:
                self.progress("merge", done, wanted)
                watch.report(tokens.events()[0][:done], numbers[:done])
        merges = tokens.events()[0]
        self.progress("merge", len(merges), len(merges))
        watch.report(merges, numbers)
        rows = zip(self._names, sizes, choice.chosen, judged, strict=True)
        self.languages = [LanguageReport(name, size, chosen, loop.corpus.n_tokens) for name, size, chosen, loop in rows]
        self._n_tokens = sum(loop.corpus.n_tokens for loop in texts)
        spelt, added, _ = arranged(tokens.to_list(), [], options.special_tokens)
        return Vocabulary(
            tokens=spelt,
            split_patterns=self.split_patterns,
            order="merges",
            events=merges,
            added_tokens=added,
            event_counts=numbers,
        )

    def n_tokens(self) -> int:
        """After `run`: the number of tokens of the training texts."""
        return self._n_tokens

    def memory(self) -> int:
        """An estimate of the bytes that `run` needs. As in Picky BPE, no rare pair is dropped."""
        every = [*self._texts, *(self._judged or [])]
        return sum(estimate_memory(counts, 0, refine=1.0) for counts in every) + 256 * self.options.vocab_size

    def _loops(self, what: str, texts: list[WordCounts], tokens: Tokens, min_count: int = 1) -> list[MergeLoop]:
        from ._merge_cy import MergeLoop
        from ._pairs_cy import Pairs

        merge_loops = []
        for name, counts in zip(self._names, texts, strict=True):
            try:
                corpus, _ = loops.load_corpus(byte_alphabet(counts), counts.counts, min_count, self.progress)
            except InputError as error:
                raise InputError(f"{what} {name}: ", *error.args) from error
            pairs = Pairs(1, corpus.wide)
            loops.build_index(corpus, pairs, tokens, self.progress)
            merge_loops.append(MergeLoop(corpus, pairs, tokens, True))
        return merge_loops


class _LanguageChoice:
    """The choice of the language for each merge. chosen: the number of merges that each language chose."""

    def __init__(self, lengths: list[int], parity: Parity, names: list[str]) -> None:
        # The language with the greatest length * factor chooses. The lowest rate / ratio is the greatest length * ratio / bytes.
        factors = [Fraction(1)] * len(names)
        if parity.ratios is not None:
            ratios: Any = parity.ratios  # a mapping after the checks
            factors = [ratios[name] / max(1, size) for name, size in zip(names, lengths, strict=True)]
        scale = lcm(*(factor.denominator for factor in factors))
        self._factors = [int(factor * scale) for factor in factors]
        self._live = list(range(len(names)))
        nobody = len(names)
        # The last choices, and the number of choices of each language among them.
        self._recent = deque([nobody] * (parity.window or 0))
        self._times = [0] * nobody + [len(self._recent)]
        self._allowed: Any = None if parity.window is None else parity.alpha * parity.window
        self.chosen = [0] * len(names)

    def next_pair(self, texts: list[MergeLoop], judged: list[MergeLoop], min_pair_count: int) -> tuple[int, int] | None:
        """The pair to merge; None if no language has one."""
        while self._live:
            candidates = self._live
            if self._allowed is not None:
                most = self._allowed / len(self._live)
                candidates = [i for i in self._live if self._times[i] <= most]
            language = max(
                candidates, key=lambda i: judged[i].corpus.n_tokens * self._factors[i]
            )  # of equals the first
            best = texts[language].best()
            if best is None or best[2] < min_pair_count:
                self._live.remove(language)
                continue
            self._recent.append(language)
            self._times[language] += 1
            self._times[self._recent.popleft()] -= 1
            self.chosen[language] += 1
            return best[:2]
        return None


def check_parity(
    training: Mapping[str, Any], development: Mapping[str, Any] | None, options: Options, parity: Parity
) -> None:
    """Raise UsageError for options that do not fit parity-aware BPE."""
    if options.refine is not None or options.superwords is not None:
        refine, superwords = OptionName("refine"), OptionName("superwords")
        raise UsageError("parity-aware BPE goes with neither ", refine, " nor ", superwords, "; leave them out")
    if options.alphabet != "bytes":
        raise UsageError("parity-aware BPE begins with the 256 bytes; leave out ", OptionName("alphabet", "characters"))
    if len(training) < 2:
        raise UsageError("parity-aware BPE needs two languages or more")
    if (development is None) == (parity.ratios is None):
        texts, ratios = OptionName("development"), OptionName("ratios")
        needed = "parity-aware BPE needs either a development text of each language ("
        target = ", the target bytes per token of each language; give one of them"
        raise UsageError(needed, texts, "; best the same text, translated) or ", ratios, target)
    values, what = (parity.ratios or {}, "ratio") if development is None else (development, "development text")
    for name in training:
        if name not in values:
            raise UsageError(f"the language {name} has no {what}")
    for name in values:
        if name not in training:
            raise UsageError(f"{name} has a {what}, but no training text; the languages are {', '.join(training)}")
