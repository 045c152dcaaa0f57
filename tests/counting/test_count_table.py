"""The kernel's table and the merge of rows beside collections.Counter: growth, long pretokens, large counts, collisions."""

import collections
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenmill.counting import rows as tables_module
from tokenmill.counting._row_merge_cy import RowMerge, hashes
from tokenmill.counting._table_cy import CountTable, count_text
from tokenmill.counting.rows import (
    concatenate,
    merge_all,
    merge_partitions,
    merge_rows,
    sort_rows,
    table_sources,
)
from tokenmill.errors import UsageError


def rows_of(items):
    items = list(items)
    offsets = np.zeros(len(items) + 1, np.uint64)
    np.cumsum([len(pretoken) for pretoken, _ in items], out=offsets[1:])
    return (
        np.frombuffer(b"".join(pretoken for pretoken, _ in items), np.uint8),
        offsets,
        np.array([count for _, count in items], np.uint64),
    )


def items_of(rows):
    arena, offsets, counts = rows
    data = arena.tobytes()
    return [(data[offsets[i] : offsets[i + 1]], int(count)) for i, count in enumerate(counts)]


def hash_of(pretoken):
    return int(hashes(np.frombuffer(pretoken, np.uint8), np.array([0, len(pretoken)], np.uint64))[0])


def merge_tables(tables, pool=None, pause=lambda: None):
    return concatenate(list(merge_all(table_sources(tables, pause), pool, pause)))


def canonical(counter):
    return sorted(counter.items(), key=lambda item: (hash_of(item[0]), item[0]))


def count_all(table, pretokens, rng=None):
    """Count pretokens, one each, through many small growths."""
    ends = np.cumsum([len(pretoken) for pretoken in pretokens]).astype(np.uint64)
    text, position, document = np.frombuffer(b"".join(pretokens), np.uint8), 0, 0
    while True:
        position, document = count_text(table, None, text, ends, position, document, 1 << 30)
        if document == len(ends):
            return table
        table.grow(int(table.slots * (rng.choice([1.05, 2, 3.3]) if rng else 2)), lambda: None)


def random_pretokens(rng, n):
    lengths = [1, 2, 3, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 127, 128, 255, 1000]
    return [bytes(rng.randrange(97, 100) for _ in range(rng.choice(lengths))) for _ in range(n)]


@pytest.mark.parametrize("seed", range(20))
def test_the_table_counts_like_a_counter_in_canonical_order(seed):
    rng = random.Random(seed)
    pretokens = random_pretokens(rng, rng.choice([0, 1, 700, 3000]))
    table = count_all(CountTable(1024), pretokens, rng)
    expected = collections.Counter(pretokens)
    assert len(table) == len(expected)
    assert items_of(merge_tables([table])) == canonical(expected)


@pytest.mark.parametrize("seed", range(10))
def test_a_merge_is_the_sum_whatever_the_parts_and_sources(seed):
    rng = random.Random(seed)
    groups = [random_pretokens(rng, 1500) for _ in range(rng.randrange(2, 5))]
    tables = [count_all(CountTable(rng.choice([1024, 1031, 5000])), group, rng) for group in groups]
    expected = collections.Counter(pretoken for group in groups for pretoken in group)
    arrays = [source for group in groups for source in sort_rows(rows_of((pretoken, 1) for pretoken in group))]
    assert items_of(merge_tables(tables)) == canonical(expected)
    of_tables = table_sources(tables)
    sources = [rng.choice(pair) for pair in zip(of_tables, arrays, strict=True)]
    bits = rng.randrange(6)
    assert items_of(concatenate(list(merge_partitions(sources, bits, range(1 << bits))))) == canonical(expected)


def many_hashes(pretokens):
    arena, offsets, _ = rows_of((pretoken, 1) for pretoken in pretokens)
    return hashes(arena, offsets)


@pytest.mark.parametrize("seed", range(3))
def test_large_tables_with_crowded_places(seed):
    rng = random.Random(seed)
    pretokens = [b"%x" % n * rng.choice([1, 1, 1, 4]) for n in rng.sample(range(10**9), 400_000)]
    where = many_hashes(pretokens)
    part = 1 << 52  # in a table of 2**17 slots, the first and last 32: clusters at the front, at the end and round it
    ends = [pretokens[i] for i in np.flatnonzero((where < part) | (where >= np.uint64(2**64 - part)))]
    middle = [pretokens[i] for i in np.flatnonzero(where >> np.uint64(53) == 1234)]
    assert len(ends) > 150 and len(middle) > 150
    crowds = [ends, middle, []][seed % 3]
    chosen = crowds + pretokens[: rng.choice([70_000, 140_000, 260_000])]
    table = count_all(CountTable(1 << 16), chosen)
    distinct = len(table)
    count_all(table, chosen)  # all are found again
    assert len(table) == distinct
    assert not table.seeded
    expected = {pretoken: 2 * count for pretoken, count in collections.Counter(chosen).items()}
    rows = merge_tables([table])
    assert dict(items_of(rows)) == expected
    assert (np.diff(hashes(*rows[:2]).astype(object)) > 0).all()


@pytest.mark.parametrize("shared", [0, 50_000, 200_000])
def test_merging_large_tables(shared):
    groups = [[b"%d" % i for i in range(first, first + 200_000)] for first in (0, 200_000 - shared)]
    tables = [count_all(CountTable(slots), group) for group, slots in zip(groups, (1 << 19, 400_001), strict=True)]
    expected = collections.Counter(groups[0] + groups[1])
    with ThreadPoolExecutor(2) as pool:
        assert items_of(merge_tables(tables, pool)) == canonical(expected)
    assert sum(map(len, tables)) == 400_000  # they were only read


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 60), max_size=120), max_size=9),
    st.integers(0, 5),
    st.sampled_from([1024, 1025, 3001]),
    st.booleans(),
)
def test_tables_are_added_up_like_counters(groups, bits, slots, at_the_ends):
    pretokens = AT_THE_ENDS if at_the_ends else SOME_PRETOKENS
    tables = [count_all(CountTable(slots), [pretokens[i] for i in group]) for group in groups]
    expected = collections.Counter(pretokens[i] for group in groups for i in group)
    one, rows = RowMerge(), []
    for part in range(1 << bits):
        one.begin()
        for source in table_sources(tables):
            source.add_to(one, part, bits)
        rows += items_of(one.finish())
    assert rows == canonical(expected)
    with ThreadPoolExecutor(3) as pool:
        assert items_of(merge_tables(tables, pool)) == canonical(expected)


SOME_PRETOKENS = [
    *(b"abcdefghijklmnopqrstuvwxyz0123456789"[:n] for n in range(1, 32)),
    *(b"%d" % n * 9 for n in range(30)),
]
NUMBERS = [b"%d" % n for n in range(300_000)]
ONES = [NUMBERS[i] for i in np.argsort(many_hashes(NUMBERS))]
AT_THE_ENDS = [*ONES[:20], *ONES[-41:]]  # 40 of these wrap round the end of a small table, to where others are at home


def short_collisions(n):
    """Distinct pretokens of 15 bytes whose canonical hashes begin with the same 40 bits.

    The hash folds a product of two numbers. Here the second is 33 << 58, so small steps of the first are small steps
    of the hash, and the pretokens are computed, not searched.
    """
    lo_constant, hi_constant = 0x2D358DCCAA6C78A5, 0x8BB84B93962EACC9
    end = (hi_constant & 2**56 - 1).to_bytes(7, "little")
    return [((0x1234567 << 36 | 64 * i) ^ lo_constant).to_bytes(8, "little") + end for i in range(n)]


def long_collisions(n):
    """Pretokens of 64 bytes with the same key of 120 bits: the constants in them set the hash to zero on the way."""
    erase = (0xE7037ED1A0B428DB).to_bytes(8, "little") + (0xA0761D6478BD642F).to_bytes(8, "little")
    return [i.to_bytes(16, "little") * 2 + erase + b"the same end...." for i in range(n)]


@pytest.mark.parametrize("collisions", [short_collisions, long_collisions])
def test_crafted_collisions_cost_a_bounded_number_of_probes(collisions):
    pretokens = collisions(30_000)
    assert len(set(pretokens)) == 30_000
    assert len(set((many_hashes(pretokens) >> np.uint64(40)).tolist())) == 1
    table = count_all(CountTable(1 << 16), pretokens)
    assert table.seeded
    assert table.steps < (1 << 20) + 256 * 30_000 + 2 * 30_000  # a window, one addition, and then few
    before = table.steps
    count_all(table, pretokens)
    assert table.steps - before < 2 * 30_000
    count_all(table, random_pretokens(random.Random(1), 100))
    other = count_all(CountTable(1024), [*pretokens[:100], b"other"])
    expected = collections.Counter(
        pretokens * 2 + random_pretokens(random.Random(1), 100) + pretokens[:100] + [b"other"]
    )
    rows = merge_tables([table, other])
    assert items_of(rows) == canonical(expected)
    table.clear()
    assert not table.seeded
    assert items_of(merge_tables([count_all(table, [b"a", b"a"])])) == [(b"a", 2)]


@pytest.mark.parametrize("stop_at", [0, 1, 5])
def test_a_merge_that_is_interrupted_raises_what_interrupted_it(stop_at):
    tables = [count_all(CountTable(1 << 17), NUMBERS[:60_000]) for _ in range(2)]
    calls = []

    def pause():
        calls.append(None)
        if len(calls) > stop_at:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(3) as pool, pytest.raises(KeyboardInterrupt):
        merge_tables(tables, pool, pause)


def test_counts_pass_2_to_the_32_and_never_wrap():
    groups = [[(b"a", 2**62 + 1), (b"b" * 40, 2**32)]] + [[(b"a", 2**60), (b"b" * 40, 2**32)]] * 4
    expected = {b"a": 2**62 + 1 + 4 * 2**60, b"b" * 40: 5 * 2**32}
    assert items_of(merge_rows([rows_of(group) for group in groups])) == canonical(expected)
    with pytest.raises(UsageError, match=r"passes 2\*\*64 - 1"):
        merge_rows([rows_of(group) for group in [*groups, [(b"a", 2**64 - 1)]]])


def test_long_pretokens_with_equal_beginnings_and_ends_are_told_apart():
    pretokens = [b"x" * 500 + bytes([65 + i]) + b"y" * 500 for i in range(20)] + [b"x" * n for n in range(10, 300)]
    table = CountTable(1024)
    for _ in range(3):
        count_all(table, pretokens)
    assert items_of(merge_tables([table])) == canonical(dict.fromkeys(pretokens, 3))


def test_clear_forgets_everything():
    table = count_all(CountTable(1024), [b"a", b"b" * 100])
    table.clear()
    assert len(table) == 0
    count_all(table, [b"b" * 100] * 5)
    assert items_of(merge_tables([table])) == [(b"b" * 100, 5)]


def test_memory_is_measured():
    table = CountTable(1 << 16)
    before = table.nbytes
    assert before >= 32 << 16
    count_all(table, [b"long pretoken " * 1000])
    assert table.nbytes >= before + 11_000


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 2**40)), max_size=60))
def test_any_rows_in_any_order(items):
    expected = collections.Counter()
    for pretoken, count in items:
        expected[pretoken] += count
    assert items_of(merge_rows([rows_of(items)])) == canonical(expected)


def test_rows_in_many_groups_and_pieces(monkeypatch):
    rng = random.Random(7)
    items = [(b"%d" % rng.randrange(50_000), rng.randrange(9)) for _ in range(60_000)]
    expected = collections.Counter()
    for pretoken, count in items:
        expected[pretoken] += count
    for rows in (100, 1 << 14):
        monkeypatch.setattr(tables_module, "ROWS", rows)
        groups = [rows_of(items[:5000]), rows_of([]), rows_of(items[5000:])]
        assert items_of(merge_rows(groups)) == canonical(expected)


@pytest.mark.parametrize("offsets", [[0, 5, 3], [0, 2, 9], [0, 2**63, 3]])
def test_offsets_that_leave_the_arena_are_refused(offsets):
    with pytest.raises(ValueError, match="offsets"):
        RowMerge().add_rows(np.zeros(8, np.uint8), np.array(offsets, np.uint64), *np.ones((2, 2), np.uint64))


def test_the_order_of_word_counts_is_fixed_for_good():
    # Word counts on disk are in this order: a change here breaks them.
    assert hash_of(b"") == 12747334863939471179
    assert hash_of(b"a") == 16213416853233432920
    assert hash_of(b" the") == 5287468234723043852
    assert hash_of(b"exactly15bytes!") == 48412465146821116
    assert hash_of(b"sixteen bytes ..") == 5700951580244660721
    assert hash_of(b"x" * 100) == 12457105433330716246
