"""Adding up word counts and .ddfreq: every byte comes back, damage is named."""

import os
import shutil
import struct

import numpy as np
import pytest

import tokenmill.counting.add_saved as sum_saved
import tokenmill.counting.ddfreq as ddfreq_file
import tokenmill.counting.options as count_options
from tokenmill import WordCounts
from tokenmill.counting import store
from tokenmill.counting.add_saved import add_up
from tokenmill.counting.ddfreq import read_ddfreq
from tokenmill.counting.rows import concatenate
from tokenmill.counting.store import CountsMetadata, name_of_file, write_file
from tokenmill.errors import FormatError, InputError, OutputError, UsageError

COUNTS = {b"low": 2**30, b" lower": 2, b"": 1, b"a\tb\nc\r\\x41\\": 3, b"x" * 3000: 8, bytes(range(256)): 7, b"\xff": 1}
COUNTS |= {"漢字 \u2028\x85".encode(): 9, b"count": 2, b"pretoken": 1}


def ddfreq(items):
    entries = (struct.pack("<Q", len(pretoken)) + pretoken + struct.pack("<Q", count) for pretoken, count in items)
    return struct.pack("<Q", len(items)) + b"".join(entries)


def folder_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read(path):
    arena, offsets, counts = concatenate(list(read_ddfreq(path)))
    return [(arena[offsets[i] : offsets[i + 1]].tobytes(), int(count)) for i, count in enumerate(counts)]


def test_ddfreq_is_read_and_written_byte_for_byte(tmp_path):
    items = list(WordCounts.merge([WordCounts.from_mapping(COUNTS)]).items())
    (tmp_path / "a.ddfreq").write_bytes(ddfreq(items))
    assert read(tmp_path / "a.ddfreq") == items
    summary = add_up([tmp_path / "a.ddfreq"], tmp_path / "c")
    assert (summary.distinct, summary.pretokens) == (len(COUNTS), sum(COUNTS.values()))
    assert dict(WordCounts.load(tmp_path / "c").items()) == COUNTS
    add_up([tmp_path / "c"], tmp_path / "b.ddfreq")
    assert (tmp_path / "b.ddfreq").read_bytes() == ddfreq(items)


@pytest.mark.parametrize("size", [1, 47, 401, 5000])
def test_entries_in_batches(tmp_path, monkeypatch, size):
    monkeypatch.setattr(ddfreq_file, "BATCH", size)
    items = [(b"%d" % i * (i % 9), i * 2**33) for i in range(400)] + [(b"y" * 999, 1)]
    (tmp_path / "a.ddfreq").write_bytes(ddfreq(items))
    assert read(tmp_path / "a.ddfreq") == items


def test_files_with_nothing(tmp_path):
    (tmp_path / "a.ddfreq").write_bytes(ddfreq([]))
    add_up([tmp_path / "a.ddfreq"], tmp_path / "c")
    assert len(WordCounts.load(tmp_path / "c")) == 0
    add_up([tmp_path / "c"], tmp_path / "d.ddfreq")
    assert (tmp_path / "d.ddfreq").read_bytes() == bytes(8)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"1234", "fewer than 8 bytes"),
        (ddfreq([(b"a", 1), (b"b", 2)])[:-1], "ends at byte 41 after 1 of its 2 entries"),
        (struct.pack("<QQ", 5, 2**63) + b"x" * 50, "ends at byte 66 after 0 of its 5 entries"),
        (ddfreq([(b"a", 1)]) + b"more", "goes on after its 1 entries, at byte 25"),
        (struct.pack("<Q", 2**64 - 1) + b"some text file of another kind", "ends at byte 38 after 0 of its"),
    ],
)
def test_damaged_ddfreq(tmp_path, data, message):
    (tmp_path / "a.ddfreq").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        add_up([tmp_path / "a.ddfreq"], tmp_path / "c")
    assert [path.name for path in tmp_path.iterdir()] == ["a.ddfreq"]


def many(n, seed):
    rng = np.random.default_rng(seed)
    return {b"%d" % i: int(c) for i, c in zip(rng.integers(0, 3 * n, n), rng.integers(1, 100, n), strict=True)}


def test_adding_up_is_the_same_as_merging_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(count_options, "LEAST_MEMORY", 1)
    parts = [WordCounts.from_mapping(many(30_000, seed), split_patterns=("p",)) for seed in range(3)]
    expected = WordCounts.merge(parts)
    expected.save(tmp_path / "expected")
    parts[0].save(tmp_path / "a")
    parts[1].save(tmp_path / "b")
    parts[2].save(tmp_path / "c")
    for limit in (None, 500_000):
        add_up([tmp_path / "a", tmp_path / "b", tmp_path / "c"], tmp_path / "sum", memory_limit=limit, overwrite=True)
        assert folder_bytes(tmp_path / "sum") == folder_bytes(tmp_path / "expected")
    add_up([tmp_path / "b"], tmp_path / "b.ddfreq")
    add_up([tmp_path / "c"], tmp_path / "c.ddfreq")
    summary = add_up(
        [tmp_path / "c.ddfreq", tmp_path / "a", tmp_path / "b.ddfreq"],
        tmp_path / "sum",
        memory_limit=500_000,
        overwrite=True,
    )
    assert folder_bytes(tmp_path / "sum") == folder_bytes(tmp_path / "expected")
    assert (summary.distinct, summary.pretokens) == (len(expected), int(expected.counts.sum()))
    assert summary.total_bytes == expected.total_bytes
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["a", "b", "b.ddfreq", "c", "c.ddfreq", "expected", "sum"]


def test_many_files_and_few(tmp_path, monkeypatch):
    parts = [WordCounts.from_mapping(many(5000, seed)) for seed in range(2)]
    expected = WordCounts.merge(parts)
    for files_a, files_b, files_sum in ((1, 8, 4), (4, 2, 16), (16, 1, 1)):
        for name, counts, files in (("a", parts[0], files_a), ("b", parts[1], files_b)):
            with monkeypatch.context() as patch:
                patch.setattr("tokenmill.counting.store.files_for", lambda total, files=files: files)
                counts.save(tmp_path / name, overwrite=True)
        with monkeypatch.context() as patch:
            patch.setattr("tokenmill.counting.store.files_for", lambda total, files=files_sum: files)
            add_up([tmp_path / "a", tmp_path / "b"], tmp_path / "sum", overwrite=True)
        assert len(list((tmp_path / "sum").iterdir())) == files_sum
        assert list(WordCounts.load(tmp_path / "sum").items()) == list(expected.items())


def test_each_input_is_read_once_however_many_files_the_sum_has(tmp_path, monkeypatch):
    parts = [WordCounts.from_mapping(many(500, seed)) for seed in range(3)]
    for name, counts in zip("abc", parts, strict=True):
        counts.save(tmp_path / name)
    read, opened = store._read_rows, []
    monkeypatch.setattr(store, "_read_rows", lambda path: opened.append(path.parent.name) or read(path))
    monkeypatch.setattr(store, "files_for", lambda total: 16)
    add_up([tmp_path / name for name in "abc"], tmp_path / "sum")
    assert sorted(opened) == ["a", "b", "c"]
    assert list(WordCounts.load(tmp_path / "sum").items()) == list(WordCounts.merge(parts).items())


def test_no_more_inputs_are_merged_at_once_than_memory_holds(tmp_path, monkeypatch):
    parts = [WordCounts.from_mapping(many(500, seed)) for seed in range(9)]
    names = [tmp_path / f"{seed}" for seed in range(9)]
    for name, counts in zip(names, parts, strict=True):
        counts.save(name)
    WordCounts.merge(parts).save(tmp_path / "expected")
    merged, merge = [], store.merge_partitions
    monkeypatch.setattr(
        store, "merge_partitions", lambda sources, *how: merged.append(len(sources)) or merge(sources, *how)
    )
    monkeypatch.setattr(count_options, "LEAST_MEMORY", 1)
    for limit, expected in ((4 * sum_saved.SAVED, 3), (9 * sum_saved.SAVED, 9), (1, 5)):
        add_up(names, tmp_path / "sum", memory_limit=limit, overwrite=True)
        assert folder_bytes(tmp_path / "sum") == folder_bytes(tmp_path / "expected")
        assert merged.pop() == expected


def test_min_count_is_of_the_sum(tmp_path):
    WordCounts.from_mapping({b"a": 1, b"b": 1}).save(tmp_path / "a")
    WordCounts.from_mapping({b"a": 1, b"c": 1}).save(tmp_path / "b")
    add_up([tmp_path / "a", tmp_path / "b"], tmp_path / "c", min_count=2)
    assert dict(WordCounts.load(tmp_path / "c").items()) == {b"a": 2}


def test_what_cannot_be_added(tmp_path):
    WordCounts.from_mapping({b"a": 1}, split_patterns=("p",)).save(tmp_path / "a")
    WordCounts.from_mapping({b"a": 1}, split_patterns=("q",)).save(tmp_path / "b")
    (tmp_path / "x.txt").write_text("text")
    with pytest.raises(UsageError, match="split by different patterns"):
        add_up([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    with pytest.raises(InputError, match="no such file"):
        add_up([tmp_path / "nothing"], tmp_path / "c")
    with pytest.raises(UsageError, match=r"x\.txt is neither"):
        add_up([tmp_path / "x.txt"], tmp_path / "c")
    with pytest.raises(UsageError, match="no word counts were given"):
        add_up([], tmp_path / "c")
    (tmp_path / "d.ddfreq").mkdir()
    with pytest.raises(OutputError, match="a folder has that name"):
        add_up([tmp_path / "a"], tmp_path / "d.ddfreq")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "d.ddfreq", "x.txt"]


@pytest.mark.parametrize("name", ["sum", "sum.ddfreq"])
def test_what_a_killed_process_left_is_deleted(tmp_path, monkeypatch, name):
    (tmp_path / "a.ddfreq").write_bytes(ddfreq([(b"a", 1), (b"b", 2)]))

    def killed(*_):
        """Copy the files, as a process that is killed leaves them."""
        shutil.copytree(tmp_path, tmp_path.with_name("killed"))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(store._Checksum, "add", killed)
        patch.setattr(store.WrittenTotals, "frequent", killed)
        add_up([tmp_path / "a.ddfreq"], tmp_path / name)
    assert os.listdir(tmp_path) == ["a.ddfreq"]
    left = tmp_path.with_name("killed")
    assert len(list(left.rglob("*.part"))) == 2  # the output, and the spilled counts
    add_up([left / "a.ddfreq"], left / name)
    assert sorted(os.listdir(left)) == ["a.ddfreq", name]
    shutil.rmtree(left)


def test_pretokens_out_of_order_are_damage(tmp_path):
    counts = WordCounts.from_mapping(many(1000, 1))
    (tmp_path / "a").mkdir()
    with open(tmp_path / "a" / name_of_file(0, 1), "wb") as file:
        write_file(file, CountsMetadata(), [(counts.arena, counts.offsets, counts.counts)])
    with pytest.raises(FormatError, match="not in the order"):
        add_up([tmp_path / "a"], tmp_path / "c")


def test_rows_that_come_in_canonical_order_are_no_trap(tmp_path, monkeypatch):
    """A table that grows while they come in would be filled at its front: minutes for what takes a second."""
    monkeypatch.setattr(count_options, "LEAST_MEMORY", 1)
    counts = WordCounts.merge([WordCounts.from_mapping(many(200_000, 3))])
    (tmp_path / "a.ddfreq").write_bytes(ddfreq(list(counts.items())))
    add_up([tmp_path / "a.ddfreq"], tmp_path / "c", memory_limit=3_000_000)
    assert list(WordCounts.load(tmp_path / "c").items()) == list(counts.items())
    assert len(counts) > ddfreq_file.BATCH


def test_a_sum_that_64_bits_cannot_hold_is_one_error(tmp_path):
    entry = struct.pack("<Q", 1) + b"a" + struct.pack("<Q", 2**63)
    (tmp_path / "a.ddfreq").write_bytes(struct.pack("<Q", 2) + 2 * entry)
    with pytest.raises(UsageError, match="two counts of the same pretoken passes"):
        WordCounts.load(tmp_path / "a.ddfreq")
    with pytest.raises(UsageError, match="two counts of the same pretoken passes"):
        add_up([tmp_path / "a.ddfreq"], tmp_path / "sum")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ddfreq"]
