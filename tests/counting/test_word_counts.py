"""WordCounts: mappings, sums, pruning, and the folder of Parquet files."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenmill
from tokenmill import WordCounts
from tokenmill.counting import store as storage
from tokenmill.counting.rows import hashes
from tokenmill.errors import FormatError, OutputError, UsageError

COUNTS = {b"low": 5, b" lower": 2, b"": 1, b"x" * 1000: 2**17, "漢字".encode(): 2**27, b"\xff\0": 0}


def same(a, b):
    return list(a.items()) == list(b.items()) and (a.split_patterns, a.documents, a.total_bytes) == (
        b.split_patterns,
        b.documents,
        b.total_bytes,
    )


def folder_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def many(n, seed=0):
    rng = np.random.default_rng(seed)
    return {b"%d" % i: int(c) for i, c in zip(rng.permutation(n), rng.integers(1, 100, n), strict=True)}


def test_words_may_be_str():
    words = Counter("low low lower é".split())
    spelt = {b"low": 2, b"lower": 1, "é".encode(): 1}
    assert dict(WordCounts.from_mapping(words).items()) == spelt
    tok = tokenmill.train_from_counts(words, 259, split="whitespace")
    assert tok == tokenmill.train_from_counts(WordCounts.from_mapping(spelt), 259, split="whitespace")
    assert tok.vocabulary.tokens[256:] == (b"lo", b"low", b"er") and len(tok.encode("low low")) == 3
    with pytest.raises(UsageError, match="lone surrogate"):
        WordCounts.from_mapping({"\ud800": 1})


def test_from_mapping_and_back():
    counts = WordCounts.from_mapping(COUNTS)
    assert len(counts) == len(COUNTS)
    assert dict(counts.items()) == COUNTS


@pytest.mark.parametrize("mapping", [{1: 5}, {b"low": -1}, {b"low": 2**64}, {b"low": 1.5}, {b"low": 2.0}, {b"l": "1"}])
def test_what_is_not_a_count_is_refused(mapping):
    with pytest.raises(UsageError, match=r"low|count|pretokens are"):
        WordCounts.from_mapping(mapping)


ARENA, OFFSETS, NUMBERS = np.frombuffer(b"ab", np.uint8), np.array([0, 1, 2], np.uint64), np.array([3, 4], np.uint64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arena": b"ab"}, "arena must be a one-dimensional array of uint8, not bytes"),
        ({"counts": np.array([1.5, 2.0])}, "counts must be a one-dimensional array of uint64, not float64"),
        ({"counts": NUMBERS.astype(np.int64)}, "counts must be"),
        ({"offsets": OFFSETS.reshape(1, 3)}, "offsets must be"),
        ({"counts": NUMBERS[:1]}, "offsets must have 2 entries for 1 counts, but has 3"),
        ({"offsets": np.array([0, 3, 2], np.uint64)}, "offsets must ascend from 0 to 2"),
        ({"offsets": np.array([0, 1, 2**40], np.uint64)}, "offsets must ascend"),
        ({"offsets": np.array([1, 1, 2], np.uint64)}, "offsets must ascend"),
        ({"arena": np.frombuffer(b"aa", np.uint8)}, "b'a' is there twice"),
        ({"split_patterns": "p"}, "split_patterns must be a tuple"),
        ({"documents": -1}, "documents must be"),
        ({"total_bytes": 1.5}, "total_bytes is 1.5"),
    ],
)
def test_word_counts_that_are_wrong_cannot_be_made(change, message):
    good = {"arena": ARENA, "offsets": OFFSETS, "counts": NUMBERS}
    assert dict(WordCounts(**good).items()) == {b"a": 3, b"b": 4}
    with pytest.raises(UsageError, match=message):
        WordCounts(**(good | change))


def test_word_counts_cannot_be_changed():
    counts = WordCounts(ARENA, OFFSETS.copy(), NUMBERS.copy())
    with pytest.raises(ValueError, match="read-only"):
        counts.counts[0] = 7


def test_every_flipped_bit_of_a_file_is_noticed(tmp_path):
    """Parquet's own checksums cover the pages, not their headers nor the footer."""
    WordCounts.from_mapping(many(300), split_patterns=("p",)).save(tmp_path / "c")
    (path,) = (tmp_path / "c").iterdir()
    good = path.read_bytes()
    whole = WordCounts.load(tmp_path / "c")
    unnoticed = 0
    for bit in range(0, 8 * len(good), 29):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        try:
            loaded = WordCounts.load(tmp_path / "c")
        except FormatError as error:
            assert path.name in str(error) or str(tmp_path / "c") in str(error)
        else:
            assert list(loaded.items()) == list(whole.items())
            unnoticed += not same(loaded, whole)
    assert unnoticed == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"pretoken": [b"a"], "count": [1.5]}, "'count' .* has the type double"),
        ({"pretoken": [1], "count": [1]}, "'pretoken' .* has the type int64"),
        ({"pretoken": [b"a"], "count": [-1]}, "is damaged"),
    ],
)
def test_columns_of_other_types_are_refused(tmp_path, columns, message):
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=message):
        WordCounts.load(tmp_path)


def test_most_common():
    counts = WordCounts.from_mapping({b"a": 1, b"b": 3, b"c": 3, b"d": 2})
    assert counts.most_common(2) == [(b"b", 3), (b"c", 3)]
    assert counts.most_common() == [(b"b", 3), (b"c", 3), (b"d", 2), (b"a", 1)]
    assert counts.most_common(0) == WordCounts.from_mapping({}).most_common() == []
    assert counts.most_common(99) == counts.most_common()


def test_prune():
    counts = WordCounts.from_mapping(COUNTS)
    assert dict(counts.prune(0).items()) == COUNTS
    assert dict(counts.prune(1).items()) == {pretoken: n for pretoken, n in COUNTS.items() if n >= 1}
    assert dict(counts.prune(3).items()) == {pretoken: n for pretoken, n in COUNTS.items() if n >= 3}
    assert list(counts.prune(2**27).items()) == [("漢字".encode(), 2**27)]


def test_counts_add_up():
    a = WordCounts.from_mapping({b"a": 2**40, b"b": 1}, split_patterns=("p",))
    b = WordCounts.from_mapping({b"a": 1, b"c" * 50: 7}, split_patterns=("p",))
    both = a + b
    assert dict(both.items()) == {b"a": 2**40 + 1, b"b": 1, b"c" * 50: 7}
    assert both.split_patterns == ("p",)
    assert both.total_bytes == a.total_bytes + b.total_bytes
    assert list(both.items()) == list(WordCounts.merge([b, a]).items())
    assert len(WordCounts.merge([])) == 0
    assert same(WordCounts.merge([both]), both)


def test_counts_that_cannot_be_added():
    with pytest.raises(UsageError, match="split by different patterns"):
        WordCounts.from_mapping({b"a": 1}, split_patterns=("p",)) + WordCounts.from_mapping(
            {b"a": 1}, split_patterns=("q",)
        )
    with pytest.raises(UsageError, match="passes 2"):
        WordCounts.from_mapping({b"a": 1}) + WordCounts.from_mapping({b"a": 2**64 - 1})


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.binary(max_size=30), st.integers(0, 2**20), max_size=30))
def test_any_counts_survive_the_disk(tmp_path_factory, mapping):
    folder = tmp_path_factory.mktemp("counts") / "c"
    counts = WordCounts.from_mapping(mapping, split_patterns=(r"\s+", "é"))
    counts.save(folder)
    loaded = WordCounts.load(folder)
    assert dict(loaded.items()) == mapping
    assert same(loaded, WordCounts.merge([counts]))


def test_large_counts_survive_the_disk(tmp_path):
    counts = replace(WordCounts.from_mapping({b"a": 2**64 - 1, b"b": 2**63, b"c": 2**32}), total_bytes=0)
    counts.save(tmp_path / "c")
    assert same(WordCounts.load(tmp_path / "c"), WordCounts.merge([counts]))


def test_the_order_of_the_mapping_does_not_show_on_disk(tmp_path):
    items = list(many(5000).items())
    WordCounts.from_mapping(dict(items)).save(tmp_path / "a")
    WordCounts.from_mapping(dict(sorted(items))).save(tmp_path / "b")
    assert folder_bytes(tmp_path / "a") == folder_bytes(tmp_path / "b")


def test_files_row_groups_and_bytes_do_not_depend_on_how_rows_come(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "GROUP_ROWS", 300)
    monkeypatch.setattr(storage, "GROUP_BYTES", 1000)
    counts = WordCounts.merge([WordCounts.from_mapping(many(5000) | {b"z" * 3000: 1, b"y" * 999: 2})])
    arena, offsets, numbers = counts.arena, counts.offsets, counts.counts
    order = hashes(arena, offsets)
    for total_bytes in (0, 5 * 2**30):
        written = []
        for step in (5002, 1, 7, 299, 1000):

            def rows_of(sources, file, bits, pause, step=step):
                (rows,) = np.nonzero([h >> (64 - bits) == file for h in order.tolist()])
                first, last = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
                for i in range(first, last, step):
                    yield arena, offsets[i : min(last, i + step) + 1], numbers[i : min(last, i + step)]

            folder = tmp_path / f"{total_bytes}-{step}"
            folder.mkdir()
            monkeypatch.setattr(storage, "merge_partition", rows_of)
            with ThreadPoolExecutor(1) as pool:
                totals = storage.write_counts(folder, storage.CountsMetadata(("p",), 3, total_bytes), [], pool)
            assert (totals.distinct, totals.pretokens) == (len(counts), int(numbers.sum()))
            written.append(folder_bytes(folder))
            assert list(WordCounts.load(folder).items()) == list(counts.items())
        assert all(each == written[0] for each in written)
        assert len(written[0]) == storage.files_for(total_bytes)


def test_files_that_get_no_rows_are_empty(tmp_path):
    folder = tmp_path / "c"
    folder.mkdir()
    storage.write_counts(folder, storage.CountsMetadata((), 0, 4 * 2**30), [])
    assert len(list(folder.iterdir())) == 4
    assert len(WordCounts.load(folder)) == 0


def test_the_files_are_plain_parquet(tmp_path):
    WordCounts.from_mapping(COUNTS, split_patterns=(r"\p{L}+",)).save(tmp_path / "c")
    (path,) = (tmp_path / "c").iterdir()
    assert path.name == "counts-00000-of-00001.parquet"
    table = pq.read_table(path)
    assert table.schema.names == ["pretoken", "count"]
    assert (table.schema.field("pretoken").type, table.schema.field("count").type) == (pa.binary(), pa.uint64())
    assert dict(zip(table["pretoken"].to_pylist(), table["count"].to_pylist(), strict=True)) == COUNTS
    about = json.loads(table.schema.metadata[b"tokenmill.word_counts"])
    assert about["version"] == 1
    assert about["split_patterns"] == [r"\p{L}+"]


def test_foreign_parquet_files_are_read_and_doubles_added_up(tmp_path):
    folder = tmp_path / "foreign"
    folder.mkdir()
    pq.write_table(pa.table({"pretoken": ["a", "b"], "count": [1, 2], "more": [0, 0]}), folder / "x.parquet")
    pq.write_table(pa.table({"pretoken": [b"a", b"c"], "count": [5, 2]}), folder / "y.parquet")
    assert WordCounts.is_saved(folder)
    loaded = WordCounts.load(folder)
    assert dict(loaded.items()) == {b"a": 6, b"b": 2, b"c": 2}
    assert loaded.split_patterns == ()


def test_is_saved(tmp_path):
    WordCounts.from_mapping({b"a": 1}).save(tmp_path / "c")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("a")
    (tmp_path / "rows").mkdir()
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "rows" / "a.parquet")
    assert WordCounts.is_saved(tmp_path / "c")
    assert WordCounts.is_saved(str(tmp_path / "c"))
    assert not WordCounts.is_saved(tmp_path / "text")
    assert not WordCounts.is_saved(tmp_path / "rows")
    assert not WordCounts.is_saved(tmp_path / "nothing")
    assert not WordCounts.is_saved(tmp_path / "text" / "a.txt")


def test_damaged_folders(tmp_path, monkeypatch):
    folder = tmp_path / "c"
    monkeypatch.setattr(storage, "files_for", lambda total: 4)
    WordCounts.from_mapping(many(5000)).save(folder)
    files = sorted(folder.iterdir())
    whole = files[1].read_bytes()
    files[1].write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match=r"counts-00001-of-00004\.parquet is not a readable Parquet file"):
        WordCounts.load(folder)
    files[1].write_bytes(whole[:200] + bytes(200) + whole[400:])
    with pytest.raises(FormatError, match=r"counts-00001-of-00004\.parquet"):
        WordCounts.load(folder)
    files[1].unlink()
    with pytest.raises(FormatError, match="should have 00004 files of word counts, but has 3"):
        WordCounts.load(folder)
    with pytest.raises(FormatError, match="does not contain word counts"):
        WordCounts.load(tmp_path)
    with pytest.raises(FormatError, match="does not contain word counts: there is no such file or folder"):
        WordCounts.load(tmp_path / "nothing")


def test_foreign_folders(tmp_path):
    folder = tmp_path / "x"
    folder.mkdir()
    pq.write_table(pa.table({"text": ["a"]}), folder / "a.parquet")
    with pytest.raises(FormatError, match="no columns 'pretoken' and 'count'"):
        WordCounts.load(folder)
    pq.write_table(pa.table({"pretoken": ["a", None], "count": [1, 2]}), folder / "a.parquet")
    with pytest.raises(FormatError, match="empty cells"):
        WordCounts.load(folder)
    pq.write_table(pa.table({"pretoken": ["a"], "count": ["many"]}), folder / "a.parquet")
    with pytest.raises(FormatError, match=r"'count' .* has the type string"):
        WordCounts.load(folder)
    schema = pa.schema([("pretoken", pa.binary()), ("count", pa.uint64())])
    for metadata, message in (
        ('{"version": 2, "pretokens_of": "others"}', "was made by a newer version of tokenmill"),
        ('{"version": 0, "split_patterns": [], "documents": 0, "bytes": 0}', "has metadata of format 0"),
        ("{", "cannot be read"),
        ('{"version": 1, "split_patterns": [5], "documents": 0, "bytes": 0}', "wrong kinds"),
    ):
        pq.write_table(schema.with_metadata({"tokenmill.word_counts": metadata}).empty_table(), folder / "a.parquet")
        with pytest.raises(FormatError, match=message):
            WordCounts.load(folder)


def test_a_full_disk_is_one_error_and_the_older_counts_stay(full_disk):
    folder = full_disk / "counts"
    WordCounts.from_mapping({b"a": 1}).save(folder)
    rng = np.random.default_rng(1)
    large = WordCounts.from_mapping({rng.bytes(100): 1 for _ in range(20_000)})
    with pytest.raises(OutputError, match="No space left on device"):
        large.save(folder, overwrite=True)
    assert dict(WordCounts.load(folder).items()) == {b"a": 1}
    assert [path.name for path in full_disk.iterdir()] == ["counts"]


def test_files_that_do_not_belong_together(tmp_path):
    for name, split in (("a", "gpt2"), ("b", "cl100k")):
        tokenmill.count_iterator([name], split=split).save(tmp_path / name)
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for number, name in enumerate("ab"):
        (part,) = (tmp_path / name).iterdir()
        (mixed / storage.name_of_file(number, 2)).write_bytes(part.read_bytes())
    with pytest.raises(FormatError, match=r"00001-of-00002\.parquet does not belong with the other files in .*mixed"):
        WordCounts.load(mixed)


@pytest.mark.parametrize(("name", "saved"), [("counts-00000-of-00001.parquet", True), ("other.parquet", False)])
def test_a_damaged_file_is_word_counts_by_its_name(tmp_path, name, saved):
    (tmp_path / name).write_bytes(b"PAR1 and no more")
    assert WordCounts.is_saved(tmp_path) == saved
    with pytest.raises(FormatError, match="is not a readable Parquet file"):
        WordCounts.load(tmp_path)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"version": 1, "split_patterns": [3], "documents": 1, "bytes": 1}, "its values have the wrong kinds"),
        ({"version": 1, "split_patterns": [], "documents": 1}, "metadata that cannot be read: 'bytes'"),
        (None, "is damaged: part of its metadata is missing"),
    ],
)
def test_metadata_that_another_program_changed(tmp_path, about, said):
    tokenmill.count_iterator(["low"]).save(tmp_path / "counts")
    (path,) = (tmp_path / "counts").iterdir()
    table = pq.read_table(path).replace_schema_metadata(about and {storage.KEY: json.dumps(about)})
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({storage.ROWS_KEY: "1 00000000"})
    with pytest.raises(FormatError, match=said):
        WordCounts.load(tmp_path / "counts")
