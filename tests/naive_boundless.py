"""The slow twin of BoundlessBPE, with Picky removals: training and encoding straight from the definitions, on byte strings.

    Schmidt, Reddy, Tanner, Pinter: Boundless Byte Pair Encoding, 2025 (arXiv 2504.00178)

It shares no code with the package.

Events       Picky BPE on single pretokens until `size` tokens are present. A merge and the removals that follow it are a step.
Atoms        The tokens present at the end that hold a letter and that are what their own bytes are encoded to.
Segments     Runs of neighbouring pretokens in a document, each of which is an atom.
Superwords   BPE on the segments, whose alphabet is the atoms.
Competition  The next superword is taken if its count is higher than that of the next step and its parts are present; else the
             next step is. This goes on until `size` tokens are present. Steps and superwords that are left over are dropped.

Ties: the higher count, then the token that was made earlier, first of the left parts, then of the right parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import regex

Pair = tuple[bytes, bytes]
Event = tuple[bytes, ...]  # (left, right) of a merge, (token,) of a removal


def pretokens(pattern: str, text: str) -> list[bytes]:
    """The matches of `pattern` and the text between them."""
    found, at = [], 0
    for match in regex.finditer(pattern, text):
        found += [text[at : match.start()], match.group()]
        at = match.end()
    return [part.encode() for part in [*found, text[at:]] if part]


def merged(parts: Sequence[bytes], pair: Pair) -> list[bytes]:
    """`parts` with each `pair` joined, from left to right."""
    done, i = [], 0
    while i < len(parts):
        joined = tuple(parts[i : i + 2]) == pair
        done.append(b"".join(parts[i : i + 1 + joined]))
        i += 1 + joined
    return done


class Word:
    """The parts that removed tokens are replaced by."""

    def __init__(self) -> None:
        self.first: dict[bytes, Pair] = {}
        self.removed: set[bytes] = set()

    def parts(self, token: bytes) -> list[bytes]:
        """The pair that a token was first made from, each taken apart while it is removed."""
        return [
            part
            for half in self.first[token]
            for part in (self.parts(half) if half in self.removed else [half])
        ]  # fmt: skip

    def apply(self, event: Event, words: list[list[bytes]]) -> list[list[bytes]]:
        """All words after one event."""
        if len(event) == 2:
            self.first.setdefault(event[0] + event[1], event)
            self.removed.discard(event[0] + event[1])
            return [merged(word, event) for word in words]
        [gone] = event
        parts = self.parts(gone)
        self.removed.add(gone)
        return [[part for token in word for part in (parts if token == gone else [token])] for word in words]


def best_pair(
    words: Sequence[Sequence[bytes]], counts: Sequence[int], age: dict[bytes, int]
) -> tuple[int, Pair] | None:
    """The most frequent pair with its count."""
    pairs: Counter[Pair] = Counter()
    for word, count in zip(words, counts, strict=True):
        for pair in pairwise(word):
            pairs[pair] += count
    if not pairs:
        return None
    n, _, _, pair = min((-n, age[pair[0]], age[pair[1]], pair) for pair, n in pairs.items())
    return -n, pair


def train_steps(counted: Counter[bytes], size: int, refine: str | None, least: int) -> list[tuple[int, list[Event]]]:
    """Picky BPE: the count of each merge, and its events."""
    words, counts = [[bytes([b]) for b in word] for word in counted], list(counted.values())
    age = {bytes([b]): b for b in range(256)}
    word = Word()
    steps = []
    while len(age) - len(word.removed) < size:
        best = best_pair(words, counts, age)
        if best is None or best[0] < least:
            break
        count, pair = best
        before = Counter({token: 0 for token in age})
        for parts, n in zip(words, counts, strict=True):
            for token in parts:
                before[token] += n
        lengths = [len(parts) for parts in words]
        words = word.apply(pair, words)
        happened = sum(n * (old - len(parts)) for parts, n, old in zip(words, counts, lengths, strict=True))
        age.setdefault(pair[0] + pair[1], len(age))
        events: list[Event] = [pair]
        for token in dict.fromkeys(pair):
            ios = Fraction(happened * (2 if pair[0] == pair[1] else 1), before[token])
            if refine is not None and len(token) > 1 and ios >= Fraction(refine):
                events.append((token,))
                words = word.apply((token,), words)
        steps.append((count, events))
    return steps


def encode_word(word: bytes, events: Sequence[Event]) -> list[bytes]:
    """The tokens of one pretoken."""
    state, words = Word(), [[bytes([b]) for b in word]]
    for event in events:
        words = state.apply(event, words)
    return words[0]


def encode_boundless(text: str, pattern: str, events: Sequence[Event], superwords: Sequence[Pair]) -> list[bytes]:
    """The tokens of a text. A token that superwords may join is a list of one, a pretoken of several a list of these."""
    parts: list[list[bytes]] = [encode_word(word, events) for word in pretokens(pattern, text)]
    for pair in superwords:
        done, i = [], 0
        while i < len(parts):
            joined = parts[i : i + 2] == [[pair[0]], [pair[1]]]
            done.append([pair[0] + pair[1]] if joined else parts[i])
            i += 1 + joined
        parts = done
    return [token for part in parts for token in part]


def train_boundless(
    texts: list[str], pattern: str, size: int, refine: str | None = None, least: int = 1
) -> tuple[list[Event], list[Pair]]:
    """The events and the superwords that are taken.

    >>> train_boundless(["of the of the of the, of the"], r" ?\\w+|\\W", 259)
    ([(b' ', b't'), (b'h', b'e'), (b'o', b'f')], [])
    """
    documents = [pretokens(pattern, text) for text in texts]
    steps = train_steps(Counter(word for words in documents for word in words), size, refine, least)
    every = [event for _, events in steps for event in events]
    made = list(dict.fromkeys([*(bytes([b]) for b in range(256)), *(e[0] + e[1] for e in every if len(e) == 2)]))
    gone = {event[0] if len(event) == 1 else event[0] + event[1]: len(event) == 1 for event in every}
    atoms = [
        token
        for token in made
        if not gone.get(token)
        and regex.search(r"\p{L}", token.decode(errors="ignore"))
        and encode_word(token, every) == [token]
    ]
    age = {token: i for i, token in enumerate(atoms)}
    runs: Counter[tuple[bytes, ...]] = Counter()
    for words in documents:
        run: list[bytes] = []
        for word in [*words, b""]:
            if word in age:
                run.append(word)
            else:
                runs[tuple(run)] += 1
                run = []
    segments, counts = [list(run) for run in runs], list(runs.values())
    present = {bytes([b]) for b in range(256)}
    events: list[Event] = []
    superwords: list[Pair] = []
    while len(present) < size:
        best = best_pair(segments, counts, age)
        count = steps[0][0] if steps else 0
        if best and best[0] >= least and best[0] > count and present.issuperset(best[1]):
            age.setdefault(best[1][0] + best[1][1], len(age))
            present.add(best[1][0] + best[1][1])
            superwords.append(best[1])
            segments = [merged(segment, best[1]) for segment in segments]
        elif steps:
            for event in steps.pop(0)[1]:
                events.append(event)
                (present.add if len(event) == 2 else present.discard)(b"".join(event))
        else:
            break
    return events, superwords
