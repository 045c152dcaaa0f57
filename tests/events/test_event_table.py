"""The replay kernel against its definition, and its limits: deep nesting, many events, repeated events, Ctrl-C."""

import os
import random
import signal

import numpy as np
import pytest

from event_counts import count_events
from naive_replay import NaiveReplay, apply_event, removal_parts, replay_events
from tokenmill import Tokenizer, WordCounts
from tokenmill.errors import UsageError
from tokenmill.events._replay_cy import EventTable
from trained import train_from_counts

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))


def make_table(events, lengths) -> EventTable:
    return EventTable(np.array(events, np.int32).reshape(-1, 3), np.array(lengths, np.uint32))


def replay(table: EventTable, pretokens, n_events: int, n_ids: int):
    """What the kernel leaves of each pretoken, and how often each event happens."""
    symbols = np.array([id for ids, _ in pretokens for id in ids], np.uint32)
    ends = np.cumsum([len(ids) for ids, _ in pretokens], dtype=np.uint64)
    happened, final = np.zeros(n_events, np.uint64), np.zeros(n_ids + 1, np.uint64)
    table.tally(symbols, ends, np.array([count for _, count in pretokens], np.uint64), happened, final)
    return symbols, happened, final


def random_events(rng: random.Random, letters: int, size: int) -> tuple[list, list[int]]:
    """Merges and removals of tokens that are present, and the tokens' lengths. Tokens come back, in the same way or others."""
    spelt = [(letter,) for letter in range(letters)]
    present = set(range(letters))
    events = []
    while len(events) < size:
        made = sorted(id for id in present if len(spelt[id]) > 1)
        if made and rng.random() < 0.4:
            present.discard(gone := rng.choice(made))
            events.append((gone, -1, -1))
            continue
        left, right = rng.choice(sorted(present)), rng.choice(sorted(present))
        joined = spelt[left] + spelt[right]
        if len(joined) > 20:
            continue
        if joined not in spelt:
            spelt.append(joined)
        present.add(spelt.index(joined))
        events.append((left, right, spelt.index(joined)))
    return events, [len(joined) for joined in spelt]


def test_the_worked_example():
    """abc is taken apart into ab and c; as ab is removed at that time, into a, b and c."""
    events = [(0, 1, 3), (3, 2, 4), (3, -1, -1), (4, -1, -1), (0, 1, 3)]
    assert removal_parts(events) == {2: [0, 1], 3: [0, 1, 2]}
    assert replay_events([0, 1, 2, 0, 1], events) == [3, 2, 3]
    table = make_table(events, [1, 1, 1, 2, 3])
    assert [table.parts_of(place) for place in (2, 3)] == [[0, 1], [0, 1, 2]]
    symbols, happened, final = replay(table, [([0, 1, 2, 0, 1], 7)], 5, 5)
    assert symbols[:3].tolist() == [3, 2, 3]
    assert happened.tolist() == [14, 7, 7, 7, 14]
    assert final.tolist() == [0, 0, 7, 14, 0, 0]


def test_the_textbook_steps():
    assert apply_event([0, 0, 0, 1], (0, 0, 2), []) == [2, 0, 1]
    assert apply_event([2, 1, 2], (2, -1, -1), [0, 0]) == [0, 0, 1, 0, 0]
    assert count_events([([0, 0, 0], 4)], [(0, 0, 1), (1, -1, -1)]) == [(4, 12, 12), (4, 4, 0)]


@pytest.mark.parametrize("seed", range(4 * SWEEP))
def test_the_kernel_is_the_definition(seed):
    rng = random.Random(seed)
    for _ in range(60):
        letters = rng.randint(1, 4)
        events, lengths = random_events(rng, letters, rng.choice([0, 1, 5, 20, 60]))
        table = make_table(events, lengths)
        naive = NaiveReplay(events)
        # Short pretokens, ones for the heap, and symbols without a token.
        sizes = [rng.choice([0, 1, 2, 3, 8, 20, 127, 128, 129, 300]) for _ in range(6)]
        pretokens = [([rng.randrange(letters + 1) for _ in range(size)], rng.randint(1, 9)) for size in sizes]
        pretokens = [([id if id < letters else len(lengths) for id in ids], count) for ids, count in pretokens]
        symbols, happened, final = replay(table, pretokens, len(events), len(lengths))
        expected = np.zeros(len(lengths) + 1, np.uint64)
        start = 0
        for ids, count in pretokens:
            left = naive(ids)
            assert left == replay_events(ids, events)
            assert symbols[start : start + len(left)].tolist() == left
            np.add.at(expected, left, np.uint64(count))
            start += len(ids)
        assert final.tolist() == expected.tolist()
        assert happened.tolist() == [times for times, _, _ in count_events(pretokens, events)]
        parts = removal_parts(events)
        assert {place: table.parts_of(place) for place in parts} == parts


def test_deeply_nested_tokens_can_be_encoded():
    """Each token is made from the one before and one letter, and is removed in turn: thousands deep."""
    base = bytes(random.Random(1).choices(range(97, 123), k=2000))
    words = {base[:k]: 1 for k in range(1, len(base) + 1)}
    vocabulary = train_from_counts(WordCounts.from_mapping(words), 256 + 1500, refine=0.9)
    assert (vocabulary.events[:, 1] < 0).sum() > 1000
    tok = Tokenizer(vocabulary)
    assert tok.decode_bytes(tok.encode_bytes(base)) == base


def test_more_than_2_21_events():
    """Removals of a token that does not occur fill the table; the events behind them still apply, in order."""
    events = np.full((2**21 + 50, 3), -1, np.int32)
    events[:, 0] = 257
    events[0] = 99, 99, 257
    events[-3:] = (97, 98, 256), (256, 99, 258), (258, 100, 259)
    tokens = (*(bytes([i]) for i in range(256)), b"ab", b"cc", b"abc", b"abcd")
    table = make_table(events, [len(token) for token in tokens])
    symbols, happened, _ = replay(table, [(list(b"abcdab"), 1)], len(events), len(tokens))
    assert symbols[:2].tolist() == [259, 256]
    assert np.flatnonzero(happened).tolist() == [len(events) - 3, len(events) - 2, len(events) - 1]
    assert happened[-3:].tolist() == [2, 1, 1]


def test_events_repeated_for_one_pair_are_not_quadratic():
    """A pair that merges and is taken apart 300,000 times: with a search from the first event on, this would never end."""
    times = 300_000
    events = np.tile(np.array([(0, 1, 2), (2, -1, -1)], np.int32), (times, 1))
    table = make_table(events, [1, 1, 2])
    for copies in (1, 65):  # on the array, and on the heap
        symbols, happened, _ = replay(table, [([0, 1] * copies, 1)], len(events), 3)
        assert symbols.tolist() == [0, 1] * copies
        assert happened.tolist() == [copies] * (2 * times)


@pytest.mark.parametrize("copies", [1, 65])
def test_ctrl_c_stops_a_replay(copies):
    events = np.tile(np.array([(0, 1, 2), (2, -1, -1)], np.int32), (3_000_000, 1))
    table = make_table(events, [1, 1, 2])
    happened = np.zeros(len(events), np.uint64)
    symbols = np.array([0, 1] * copies, np.uint32)
    _interrupted(
        lambda: table.tally(
            symbols, np.array([2 * copies], np.uint64), np.ones(1, np.uint64), happened, np.zeros(4, np.uint64)
        )
    )
    assert happened[-1] == 0


def test_ctrl_c_stops_loading():
    events = np.tile(np.array([(0, 1, 2), (2, -1, -1)], np.int32), (8_000_000, 1))
    _interrupted(lambda: EventTable(events, np.array([1, 1, 2], np.uint32)))


def _interrupted(call):
    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_merges_of_other_lengths_are_refused_beside_removals():
    with pytest.raises(UsageError, match="event 1 merges tokens of 2 and 1 symbols into one of 2"):
        make_table([(0, 1, 2), (2, 1, 2), (2, -1, -1)], [1, 1, 2])


def test_parts_of_a_merge_are_refused():
    with pytest.raises(ValueError, match="not a removal"):
        make_table([(0, 1, 2)], [1, 1, 2]).parts_of(0)
