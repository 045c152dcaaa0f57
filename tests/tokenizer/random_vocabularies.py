"""Random vocabularies of each order, small alphabets and odd shapes, and texts that such vocabularies find hard."""

import os
from random import Random

import numpy as np

from tokenmill.vocabulary import Vocabulary

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
LETTERS = ["a", "b", "c", "é", "漢", "🙂", " "]


def patterns(rng: Random) -> tuple[str, ...]:
    return ("gpt2",) if rng.random() < 0.5 else ()


def random_ranks(rng: Random) -> Vocabulary:
    """Order "ranks": as training makes them, or any strings in any order, with bytes missing and holes."""
    letters = [*[b"a", b"b", b"c"][: rng.randint(1, 3)], b" "]
    tokens: list[bytes | None] = [bytes([i]) for i in range(256)]
    if rng.random() < 0.3:
        missing = set(rng.sample(range(256), rng.randint(1, 200)))
        tokens = [token for i, token in enumerate(tokens) if i not in missing]
    if rng.random() < 0.5:
        known = list(letters)
        for _ in range(rng.randint(0, 60)):
            token = rng.choice(known) + rng.choice(known)
            if len(token) < 40 and token not in tokens:
                tokens.append(token)
                known.append(token)
    else:
        longest = rng.choice([3, 6, 20])
        more = {b"".join(rng.choices(letters, k=rng.randint(2, longest))) for _ in range(rng.randint(0, 60))}
        tokens += sorted(more - set(tokens))
        rng.shuffle(tokens)
        if rng.random() < 0.3:
            tokens.insert(rng.randrange(len(tokens) + 1), None)
    unknown = rng.choice([i for i in range(len(tokens)) if tokens[i]]) if rng.random() < 0.4 else None
    return Vocabulary(tuple(tokens), patterns(rng), whole_pretokens=rng.random() < 0.5, unknown=unknown)


def random_merges(rng: Random) -> Vocabulary:
    """Order "merges": bytes or characters, listed in the order they were made or in any other."""
    tokens, live, unknown, alphabet = _beginnings(rng)
    id_of = {token: id for id, token in enumerate(tokens)}
    pairs: dict[tuple[int, int], int] = {}
    for _ in range(rng.randint(0, 80)):
        left, right = rng.choice(live), rng.choice(live)
        joined = tokens[left] + tokens[right]
        if (left, right) in pairs or len(joined) > 60:
            continue
        if joined not in id_of:
            id_of[joined] = len(tokens)
            tokens.append(joined)
            live.append(id_of[joined])
        pairs[left, right] = id_of[joined]
    rows = [(left, right, new) for (left, right), new in pairs.items()]
    if rng.random() < 0.4:
        rng.shuffle(rows)
    events = np.array(rows, np.int32).reshape(-1, 3)
    whole = rng.random() < 0.5
    return Vocabulary(tuple(tokens), patterns(rng), "merges", events, (), whole, alphabet, unknown)


def random_events(rng: Random) -> Vocabulary:
    """Order "events": merges, removals, second chances and second ways to one token."""
    tokens, live, unknown, alphabet = _beginnings(rng)
    base = set(live)
    id_of = {token: id for id, token in enumerate(tokens)}
    removals = rng.choice([0.0, 0.1, 0.4, 0.7])
    rows = []
    for _ in range(rng.randint(0, 120)):
        made = [id for id in live if id not in base]
        if made and rng.random() < removals:
            gone = rng.choice(made)
            live.remove(gone)
            rows.append((gone, -1, -1))
            continue
        left, right = rng.choice(live), rng.choice(live)
        joined = tokens[left] + tokens[right]
        if len(joined) > 30 or id_of.get(joined) in base:
            continue
        if joined not in id_of:
            id_of[joined] = len(tokens)
            tokens.append(joined)
        if id_of[joined] not in live:
            live.append(id_of[joined])
        rows.append((left, right, id_of[joined]))
    events = np.array(rows, np.int32).reshape(-1, 3)
    whole = rng.random() < 0.3
    return Vocabulary(tuple(tokens), patterns(rng), "events", events, (), whole, alphabet, unknown)


def _beginnings(rng: Random):
    """Tokens to begin with, the ids that may be merged, the unknown id, the alphabet."""
    letters = rng.sample(LETTERS, rng.randint(1, 6))
    if rng.random() < 0.4:
        tokens = [letter.encode() for letter in letters]
        return [*tokens, b"<unk>"], list(range(len(tokens))), len(tokens), "characters"
    live = sorted({byte for letter in letters for byte in letter.encode()})
    return [bytes([i]) for i in range(256)], live, None, "bytes"


def random_text(rng: Random, longest: int = 300) -> bytes:
    """Few letters many times, so that runs and repeats are long; sometimes no UTF-8."""
    letters = rng.sample([*LETTERS, "\n", "z"], rng.choice([1, 2, 3, 9]))
    sizes = [n for n in (0, 1, 2, 3, 10, 40, 127, 128, 129, 300, 1500, 4500) if n <= longest]
    text = bytearray("".join(rng.choices(letters, k=rng.choice(sizes))).encode())
    if rng.random() < 0.2:
        for _ in range(rng.randint(1, 5)):
            text.insert(rng.randint(0, len(text)), rng.randrange(256))
    return bytes(text)
