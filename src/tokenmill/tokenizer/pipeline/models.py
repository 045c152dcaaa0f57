"""The models of a tokenizer.json in plain Python: the ids of one word.

Each model is called with a word as the pre-tokenizer writes it, and returns (ids, sizes): how many characters of the word each id
stands for. UsageError for a word that it has no token for.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise
from operator import itemgetter
from typing import Any

from ...errors import UsageError
from ...vocabulary import Vocabulary
from ...vocabulary.lazy import lazy
from ...vocabulary.pipeline import Pipeline
from ..merging._build_cy import list_merger

Ids = tuple[list[int], list[int]]
Model = Callable[[str], Ids]

_SHORT = 16  # characters of a word: a token of any length is looked for
_UNKNOWN_PENALTY = 10.0  # below the lowest score: SentencePiece's kUnkPenalty
_single = struct.Struct("f")


def model_of(vocabulary: Vocabulary, pipeline: Pipeline) -> Model:
    """The model of a pipeline. Control tokens are never found in text, except where merges make them."""
    settings, rows, texts = pipeline.model, vocabulary.event_numbers, list(pipeline.texts)
    control = {token.id for token in vocabulary.added_tokens if token.special and len(token.content) > 1}
    hidden = {}
    for id in sorted(control.difference(rows[2::3] if control else ())):
        if id < len(texts):
            hidden[texts[id]] = id
            texts[id] = None
    ids: dict[Any, int] = dict(zip(texts, range(len(texts)), strict=True))
    ids.pop(None, None)

    def id_of(text: str) -> int | None:
        return max((found[text] for found in (hidden, ids) if text in found), default=None)

    kind = settings["type"]
    if kind == "Unigram":
        return Unigram(ids, id_of, pipeline)
    unknown = id_of(settings.get("unk_token") or "")
    if kind == "WordPiece":
        return WordPiece(ids, unknown, settings)
    if kind == "WordLevel":
        return WordPiece(ids, unknown, settings | {"max_input_chars_per_word": None, "continuing_subword_prefix": None})
    return BytePairs(ids, rows, unknown, settings)


def _missing(text: str) -> UsageError:
    return UsageError(f"the vocabulary has no token for {text!r} and no unknown token, so it cannot encode this text")


def _byte_ids(id_of: Callable[[str], int | None]) -> list[int | None]:
    return [id_of(f"<0x{byte:02X}>") for byte in range(256)]


class WordPiece:
    """The longest token at each place, from left to right; a word with a place where none fits is unknown.

    Without a continuing prefix a word is one token, which is the model WordLevel.
    """

    def __init__(self, ids: Mapping[str, int], unknown: int | None, settings: Mapping[str, Any]):
        self.ids, self.unknown = ids, unknown
        self.prefix = settings.get("continuing_subword_prefix")
        self.most = settings.get("max_input_chars_per_word")
        self.longest = max(map(len, ids), default=0)

    def __call__(self, word: str) -> Ids:
        if self.prefix is None:
            id = self.ids.get(word, self.unknown)
            if id is None:
                raise _missing(word)
            return [id], [len(word)]
        found: list[int] = []
        sizes: list[int] = []
        start = 0
        while start < len(word) <= (self.most or len(word)):
            for end in range(min(len(word), start + self.longest), start, -1):
                part = word[start:end] if start == 0 else self.prefix + word[start:end]
                if (id := self.ids.get(part)) is not None:
                    break
            else:
                break
            found.append(id)
            sizes.append(end - start)
            start = end
        if start == len(word):
            return found, sizes
        if self.unknown is None:
            raise _missing(word)
        return [self.unknown], [len(word)]


class BytePairs:
    """BPE whose characters may have a prefix inside a word or a suffix at its end, with byte fallback and unknown tokens.

    rows: left id, right id and new id of each merge, as a buffer of int32.
    """

    def __init__(self, ids: Mapping[str, int], rows: Any, unknown: int | None, settings: Mapping[str, Any]):
        self.ids, self.unknown = ids, unknown
        self.rank, self.made = list_merger((b"", b""), rows, [None] * 256, {}, None).rank, rows[2::3]
        self.prefix = settings.get("continuing_subword_prefix") or ""
        self.suffix = settings.get("end_of_word_suffix") or ""
        self.bytes = _byte_ids(ids.get) if settings.get("byte_fallback") else []
        self.fuses, self.whole = bool(settings.get("fuse_unk")), bool(settings.get("ignore_merges"))

    def __call__(self, word: str) -> Ids:
        if self.whole and (id := self.ids.get(word)) is not None:
            return [id], [len(word)]
        ids, sizes = self._characters(word)
        return self._merged(ids, sizes)

    def _characters(self, word: str) -> Ids:
        """The tokens of the characters. An unknown one waits until the next known character, as in tokenizers."""
        ids: list[int] = []
        sizes: list[int] = []
        waiting = 0  # the size of the unknown token that is not in `ids` yet
        last = len(word) - 1
        for at, character in enumerate(word):
            text = (self.prefix if at else "") + character + (self.suffix if at == last else "")
            id = self.ids.get(text)
            if id is None:
                of_bytes = [self.bytes[byte] for byte in text.encode()] if self.bytes else [None]
                if None not in of_bytes:
                    ids += of_bytes  # type: ignore[arg-type]
                    sizes += [1] + [0] * (len(of_bytes) - 1)
                    continue
                if self.unknown is None:
                    raise _missing(character)
                if waiting and not self.fuses:
                    ids.append(self.unknown)
                    sizes.append(waiting)
                    waiting = 0
                waiting += 1
                continue
            if waiting:
                ids.append(self.unknown)  # type: ignore[arg-type]
                sizes.append(waiting)
                waiting = 0
            ids.append(id)
            sizes.append(1)
        if waiting:
            ids.append(self.unknown)  # type: ignore[arg-type]
            sizes.append(waiting)
        return ids, sizes

    def _merged(self, ids: list[int], sizes: list[int]) -> Ids:
        """Merge neighbours, the lowest rank first, the leftmost of several."""
        count = len(ids)
        after, before = list(range(1, count + 1)), list(range(-1, count - 1))
        ranks = ((self.rank(left, right), at) for at, (left, right) in enumerate(pairwise(ids)))
        queue = [(rank, at) for rank, at in ranks if rank is not None]
        heapify(queue)
        while queue:
            rank, at = heappop(queue)
            right = after[at]
            if sizes[at] < 0 or right >= count or self.rank(ids[at], ids[right]) != rank:
                continue
            ids[at], after[at] = int(self.made[rank]), after[right]
            sizes[at] += sizes[right]
            sizes[right] = -1  # gone
            if after[at] < count:
                before[after[at]] = at
            for left in (before[at], at):
                if left >= 0 and after[left] < count:
                    next_rank = self.rank(ids[left], ids[after[left]])
                    if next_rank is not None:
                        heappush(queue, (next_rank, left))
        kept = [at for at in range(count) if sizes[at] >= 0]
        return [ids[at] for at in kept], [sizes[at] for at in kept]


class Unigram:
    """The tokens with the highest sum of scores (Viterbi). A character without a token is unknown.

    With `single_precision` in the settings, sums are rounded as sentencepiece 0.2.3 rounds them; `user_defined` are the ids
    of the symbols that have its score for them, whatever the file says; `left_out` are those of tokens that no text gives.
    """

    def __init__(self, ids: Mapping[str, int], id_of: Callable[[str], int | None], pipeline: Pipeline):
        settings, scores = pipeline.model, pipeline.scores
        self.unknown = settings.get("unk_id")
        self.fuses = settings.get("fuse_unk", True)
        self.bytes = _byte_ids(id_of) if settings.get("byte_fallback") else []
        self.rounds = bool(settings.get("single_precision"))
        left_out = {*settings.get("left_out", ())}
        normal = [score for id, score in enumerate(scores) if id not in left_out] if left_out else scores
        below = self._rounded(min(normal, default=0.0) - _UNKNOWN_PENALTY)
        self.unknown_score = settings.get("unknown_score", below)
        self.known = ids
        self.scores: list[float | None] = [*scores]  # None for a token that no text gives
        for id in left_out:
            self.scores[id] = None
        for id in settings.get("user_defined", ()):
            self.scores[id] = self._rounded(0.1 * (len((pipeline.texts[id] or "").encode()) - 1))

    @lazy
    def longest(self) -> dict[str, int]:
        """The size of the longest of the tokens that begin with the same two characters."""
        ordered = sorted(self.known, key=len)  # the last one counts
        return dict(zip(map(itemgetter(slice(2)), ordered), map(len, ordered), strict=True))

    def _rounded(self, value: float) -> float:
        return _single.unpack(_single.pack(value))[0] if self.rounds else value

    def __call__(self, word: str) -> Ids:
        parts = self._best_parts(word)
        ids: list[int] = []
        sizes: list[int] = []
        for text, _ in parts:
            id = self.known.get(text)
            if id is not None:
                ids.append(id)
                sizes.append(len(text))
                continue
            of_bytes = [self.bytes[byte] for byte in text.encode()] if self.bytes else [None]
            if None not in of_bytes:
                ids += of_bytes  # type: ignore[arg-type]
                sizes += [len(text)] + [0] * (len(of_bytes) - 1)
            elif self.unknown is None:
                raise _missing(text)
            else:
                ids.append(self.unknown)
                sizes.append(len(text))
        return ids, sizes

    def _best_parts(self, word: str) -> list[tuple[str, bool]]:
        """The parts of the best path, and whether each is a token; neighbours that are not are fused."""
        count = len(word)
        best = [0.0] * (count + 1)
        starts = [-1] * (count + 1)
        known = [True] * (count + 1)
        known_ids, scores = self.known, self.scores
        longest = self.longest if count > _SHORT else None
        for start in range(count):
            here = best[start]
            most = max(longest.get(word[start : start + 2], 0), longest.get(word[start], 0)) if longest else count
            for end in range(start + 1, min(start + most, count) + 1):
                id = known_ids.get(word[start:end])
                if id is None or (score := scores[id]) is None:
                    continue
                score = self._rounded(score + here)
                if starts[end] < 0 or score > best[end]:
                    best[end], starts[end], known[end] = score, start, True
            id = known_ids.get(word[start])
            if id is None or scores[id] is None:
                score = self._rounded(self.unknown_score + here)
                if starts[start + 1] < 0 or score > best[start + 1]:
                    best[start + 1], starts[start + 1], known[start + 1] = score, start, False
        parts: list[tuple[str, bool]] = []
        end = count
        while end > 0:
            text = word[starts[end] : end]
            if parts and not known[end] and not parts[-1][1] and self.fuses:
                parts[-1] = (text + parts[-1][0], False)
            else:
                parts.append((text, known[end]))
            end = starts[end]
        return parts[::-1]
