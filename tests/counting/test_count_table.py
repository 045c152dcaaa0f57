"""The kernel's table beside collections.Counter: growth, long pretokens, large counts, parts, canonical order."""

import collections
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenmill.counting._rows_cy import hashes, sort_clusters
from tokenmill.counting._sum_cy import TableSum
from tokenmill.counting._table_cy import CountTable
from tokenmill.counting.tables import add_rows, concatenate, grow, merge_rows, merge_tables, read_batches, sort


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
    out = np.zeros(1, np.uint64)
    hashes(np.frombuffer(pretoken, np.uint8), np.array([0, len(pretoken)], np.uint64), out)
    return int(out[0])


def canonical(counter):
    return sorted(counter.items(), key=lambda item: (hash_of(item[0]), item[0]))


def table_of(items, rng, slots=1024):
    """A table filled through many small growths."""
    rows, table, start = rows_of(items), CountTable(slots), 0
    while True:
        start = table.add(*rows, start)
        if start == len(rows[2]):
            return table
        grow(table, int(table.slots * rng.choice([1.05, 2, 3.3])))


def random_pretokens(rng, n):
    lengths = [0, 1, 2, 3, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 127, 128, 1000]
    return [bytes(rng.randrange(97, 100) for _ in range(rng.choice(lengths))) for _ in range(n)]


@pytest.mark.parametrize("seed", range(30))
def test_the_table_counts_like_a_counter_in_canonical_order(seed):
    rng = random.Random(seed)
    items = [
        (pretoken, rng.choice([1, 2, 2**31, 2**33]))
        for pretoken in random_pretokens(rng, rng.choice([0, 1, 700, 3000]))
    ]
    expected = collections.Counter()
    for pretoken, count in items:
        expected[pretoken] += count
    table = table_of(items, rng)
    assert len(table) == len(expected)
    slot = 0
    while slot is not None:
        slot = sort_clusters(table, slot, rng.randrange(1, 500))
    batches = list(read_batches(table, rng.randrange(1, 300), rng.randrange(1, 3000)))
    assert items_of(concatenate(batches)) == canonical(expected)


@pytest.mark.parametrize("seed", range(20))
def test_merged_tables_are_the_sum_whatever_the_parts(seed, monkeypatch):
    rng = random.Random(seed)
    groups = [[(p, rng.randrange(1, 5)) for p in random_pretokens(rng, 1500)] for _ in range(rng.randrange(2, 5))]
    tables = [table_of(group, rng, rng.choice([1024, 1031, 5000])) for group in groups]
    expected = collections.Counter()
    for group in groups:
        for pretoken, count in group:
            expected[pretoken] += count
    assert items_of(merge_rows([rows_of(group) for group in groups])) == canonical(expected)
    bits = rng.randrange(1, 6)
    parts = []
    for part in range(1 << bits):
        small = CountTable(8192, part, bits)
        for table in tables:
            slot = 0
            while slot is not None:
                slot = small.add_table(table, slot, rng.randrange(1, 700))
        sort(small)
        parts.append(concatenate(list(read_batches(small, 100, 1000))))
    assert items_of(concatenate(parts)) == canonical(expected)
    assert items_of(merge_tables(tables)) == canonical(expected)


def test_a_crowded_end_of_the_table_wraps_round_and_still_comes_out_in_order():
    rng = random.Random(1)
    pretokens = {b"%d" % rng.randrange(10**9): rng.randrange(1, 9) for _ in range(200_000)}
    high = [item for item in pretokens.items() if hash_of(item[0]) >> 55 == 511][:200]
    assert len(high) == 200
    table = CountTable(1024)  # all homes in the last two slots, so that the entries stand at the front
    add_rows(table, rows_of(high))
    low = [item for item in pretokens.items() if hash_of(item[0]) >> 57 == 0][:60]
    add_rows(table, rows_of(low))
    other = CountTable(4096)
    slot = 0
    while slot is not None:
        slot = other.add_table(table, slot, 7)
    for each in (table, other):
        sort(each)
        assert items_of(concatenate(list(read_batches(each, 50, 200)))) == canonical(dict(high + low))


def many_hashes(pretokens):
    arena, offsets, counts = rows_of((pretoken, 1) for pretoken in pretokens)
    out = np.zeros(len(counts), np.uint64)
    hashes(arena, offsets, out)
    return out


@pytest.mark.parametrize("seed", range(6))
def test_a_large_table_that_doubles_where_it_stands(seed):
    rng = random.Random(seed)
    pretokens = [b"%x" % n * rng.choice([1, 1, 1, 4]) for n in rng.sample(range(10**9), 400_000)]
    where = many_hashes(pretokens)
    part = 1 << 52  # in a table of 2**17 slots, the first and last 32: clusters at the front, at the end and round it
    ends = [pretokens[i] for i in np.flatnonzero((where < part) | (where >= np.uint64(2**64 - part)))]
    middle = [pretokens[i] for i in np.flatnonzero(where >> np.uint64(53) == 1234)]
    assert len(ends) > 150 and len(middle) > 150
    crowds = [ends, middle, []][seed % 3]
    items = [
        (pretoken, rng.randrange(1, 9)) for pretoken in crowds + pretokens[: rng.choice([70_000, 140_000, 260_000])]
    ]
    expected = collections.Counter()
    for pretoken, count in items:
        expected[pretoken] += count
    rows, table, start, doubled = rows_of(items), CountTable(1 << 16), 0, 0
    while start < len(items):
        start = table.add(*rows, start)
        if start < len(items) or (seed > 2 and table.slots < 1 << 19):
            before = table.slots
            table.grow(2 * table.slots)
            doubled += table.nbytes - table.arena_bytes == 64 * before  # and not both tables at once
            while table.grow_step(rng.choice([1000, 1 << 14, 1 << 20])):
                pass
            assert table.slots == 2 * before
    assert doubled or table.slots <= 1 << 17
    assert len(table) == len(expected)
    table.add(*rows, 0)  # all are found again
    assert len(table) == len(expected)
    sort(table)
    got = concatenate(list(read_batches(table, 100_000, 1 << 20)))
    assert dict(items_of(got)) == {pretoken: 2 * count for pretoken, count in expected.items()}
    order = [(int(h), pretoken) for h, (pretoken, _) in zip(many_hashes(expected), expected.items(), strict=True)]
    assert [pretoken for pretoken, _ in items_of(got)] == [pretoken for _, pretoken in sorted(order)]


@pytest.mark.parametrize("shared", [0, 50_000, 200_000])
def test_merging_large_tables(shared):
    rng = random.Random(3)
    groups = [[(b"%d" % i, i + 1) for i in range(first, first + 200_000)] for first in (0, 200_000 - shared)]
    tables = [table_of(group, rng, slots) for group, slots in zip(groups, (1 << 19, 400_001), strict=True)]
    expected = collections.Counter()
    for group in groups:
        expected.update(dict(group))
    with ThreadPoolExecutor(2) as pool:
        assert items_of(merge_tables(tables, pool)) == canonical(expected)
    assert sum(map(len, tables)) == 400_000  # they were only looked at


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 60), max_size=120), max_size=9),
    st.integers(0, 5),
    st.sampled_from([1024, 1025, 3001]),
    st.booleans(),
)
def test_tables_are_added_up_like_counters(groups, bits, slots, at_the_ends):
    pretokens = AT_THE_ENDS if at_the_ends else SOME_PRETOKENS
    tables, expected = [], collections.Counter()
    for group in groups:
        tables.append(CountTable(slots))
        add_rows(tables[-1], rows_of([(pretokens[i], i + 1) for i in group]))
        expected.update({pretokens[i]: 0 for i in group})
        for i in group:
            expected[pretokens[i]] += i + 1
    one, rows, first = TableSum(), [], 0
    for part in range(1 << bits):
        n, size = one.add_up(tables, part, bits)
        arena, offsets, counts = np.full(first + size + 9, 7, np.uint8), np.empty(n, np.uint64), np.empty(n, np.uint64)
        one.write(arena, offsets, counts, first)
        assert (arena[:first] == 7).all() and (arena[first + size :] == 7).all()  # others write there
        rows += items_of((arena, np.array([first, *offsets], np.uint64), counts))
        first = 5
    assert rows == canonical(expected)
    with ThreadPoolExecutor(3) as pool:
        assert items_of(merge_tables(tables, pool)) == canonical(expected)


SOME_PRETOKENS = [
    b"",
    *(b"abcdefghijklmnopqrstuvwxyz0123456789"[:n] for n in range(1, 31)),
    *(b"%d" % n * 9 for n in range(30)),
]
NUMBERS = [b"%d" % n for n in range(300_000)]
ONES = [NUMBERS[i] for i in np.argsort(many_hashes(NUMBERS))]
AT_THE_ENDS = [*ONES[:20], *ONES[-41:]]  # 40 of these wrap round the end of a small table, to where others are at home


def test_a_thread_that_fails_while_tables_are_merged_does_not_leave_the_others_waiting():
    tables = [CountTable(1 << 17) for _ in range(3)]
    for table in tables:
        add_rows(table, rows_of([(b"%d" % i, 2**63 if i == 40_000 else 1) for i in range(60_000)]))
    with ThreadPoolExecutor(3) as pool, pytest.raises(OverflowError, match="does not fit"):
        merge_tables(tables, pool)
    fine = [CountTable(1 << 17) for _ in range(2)]
    for table in fine:
        add_rows(table, rows_of([(pretoken, 1) for pretoken in NUMBERS[:60_000]]))
    calls = iter(range(10))

    def pause():
        if next(calls) == 4:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(3) as pool, pytest.raises(KeyboardInterrupt):
        merge_tables(fine, pool, pause)


def test_counts_pass_2_to_the_32_and_never_wrap():
    table = CountTable(1024)
    for _ in range(5):
        add_rows(table, rows_of([(b"a", 2**62 + 1 if len(table) == 0 else 2**60), (b"b" * 40, 2**32)]))
    sort(table)
    expected = {b"a": 2**62 + 1 + 4 * 2**60, b"b" * 40: 5 * 2**32}
    assert dict(items_of(concatenate(list(read_batches(table, 10, 10))))) == expected
    with pytest.raises(OverflowError):
        add_rows(table, rows_of([(b"a", 2**64 - 1)]))


def test_long_pretokens_with_equal_beginnings_and_ends_are_told_apart():
    pretokens = [b"x" * 500 + bytes([65 + i]) + b"y" * 500 for i in range(20)] + [b"x" * n for n in range(10, 200)]
    table = CountTable(1024)
    for _ in range(3):
        add_rows(table, rows_of([(pretoken, 1) for pretoken in pretokens]))
    sort(table)
    assert items_of(concatenate(list(read_batches(table, 1000, 1 << 20)))) == canonical(dict.fromkeys(pretokens, 3))


def test_clear_forgets_everything():
    table = CountTable(1024)
    add_rows(table, rows_of([(b"a", 1), (b"b" * 100, 2)]))
    table.clear()
    assert len(table) == 0
    add_rows(table, rows_of([(b"b" * 100, 5)]))
    sort(table)
    assert items_of(concatenate(list(read_batches(table, 10, 10)))) == [(b"b" * 100, 5)]


def test_memory_is_measured():
    table = CountTable(1 << 16)
    before = table.nbytes
    assert before >= 32 << 16
    add_rows(table, rows_of([(b"long pretoken " * 1000, 1)]))
    assert table.nbytes >= before + 11_000


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 2**40)), max_size=60))
def test_any_pretokens(items):
    expected = collections.Counter()
    for pretoken, count in items:
        expected[pretoken] += count
    assert items_of(merge_rows([rows_of(items)])) == canonical(expected)


def test_the_order_of_word_counts_is_fixed_for_good():
    # Word counts on disk are in this order: a change here breaks them.
    assert hash_of(b"") == 12747334863939471179
    assert hash_of(b"a") == 16213416853233432920
    assert hash_of(b" the") == 5287468234723043852
    assert hash_of(b"exactly15bytes!") == 48412465146821116
    assert hash_of(b"sixteen bytes ..") == 5700951580244660721
    assert hash_of(b"x" * 100) == 12457105433330716246
