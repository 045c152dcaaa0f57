"""Small vocabularies made at random for the tests of judging; no trainer is needed for them."""

import random

import numpy as np

from tokenmill import Vocabulary

BYTES = tuple(bytes([i]) for i in range(256))


def random_events(rng: random.Random, letters: bytes, size: int, removals: float) -> tuple[list, list]:
    """Tokens and events that could be a Picky BPE model's: removals, tokens that come back, pairs that spell a token."""
    tokens: list[bytes] = list(BYTES)
    ids = {token: id for id, token in enumerate(tokens)}
    events: list[tuple[int, int, int]] = []
    present = set(letters)
    while len(events) < size:
        made = [id for id in present if len(tokens[id]) > 1]
        if made and rng.random() < removals:
            gone = rng.choice(made)
            present.discard(gone)
            events.append((gone, -1, -1))
            continue
        left, right = rng.choice(sorted(present)), rng.choice(sorted(present))
        joined = tokens[left] + tokens[right]
        if len(joined) > 8:
            continue
        if joined not in ids:
            ids[joined] = len(tokens)
            tokens.append(joined)
        if removals == 0 and ids[joined] in present:
            continue
        present.add(ids[joined])
        events.append((left, right, ids[joined]))
    return tokens, events


def random_pretokens(rng: random.Random, letters: bytes, number: int) -> dict[bytes, int]:
    pretokens = {bytes(rng.choices(letters, k=rng.randint(0, 14))): rng.randint(1, 9) for _ in range(number)}
    return pretokens | {bytes([letters[0]]) * rng.randint(1, 20): 2**33}


def random_text(seed: int, words: int = 3000) -> str:
    """Words made of a few stems and endings, so that some tokens are only steps on the way to others."""
    rng = random.Random(seed)
    stems = ["".join(rng.choices("abcde", k=rng.randrange(1, 7))) for _ in range(60)]
    return " ".join(rng.choice(stems) + rng.choice(["", "", "ed", "ade"]) for _ in range(words)) + "\n"


def make_vocabulary(tokens, events=None, order=None, **options) -> Vocabulary:
    """A Vocabulary from plain lists; without events it is one of ranks."""
    order = order or ("ranks" if events is None else "merges")
    rows = () if events is None else np.array(events, np.int32).reshape(-1, 3)
    return Vocabulary(tuple(tokens), options.pop("split_patterns", ()), order, rows, **options)
