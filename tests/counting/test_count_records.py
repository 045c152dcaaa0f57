"""JSON lines, Parquet, spans of files, and what is left out on request."""

import collections
import gzip
import itertools
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenmill.sources.blocks as reading
from tokenmill import Splitter
from tokenmill.counting import CountOptions, count, count_iterator
from tokenmill.counting.reading import cut_of
from tokenmill.counting.to_folder import count_to_folder
from tokenmill.errors import InputError
from tokenmill.sources import parquet
from tokenmill.sources.blocks import Block, ReadOptions
from tokenmill.sources.documents import open_source
from tokenmill.sources.find import report_skips

WORDS = r" [^ ]*|[^ ]+"
TEXTS = ["low low lower", "", "é漢字 x", "a" * 300, "last\nlines\n here"] * 40


def items(counts):
    return dict(counts.items())


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
def test_parquet(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(parquet, "MOST_ROWS", 7)
    values = [text if i % 9 else None for i, text in enumerate(TEXTS)]
    column = (
        pa.array(values, pa.string()).cast(kind) if not pa.types.is_dictionary(kind) else pa.array(values, pa.string())
    )
    column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column
    pq.write_table(pa.table({"id": range(len(TEXTS)), "text": column}), tmp_path / "a.parquet", row_group_size=50)
    kept = [text for text in values if text is not None]
    expected = count_iterator(kept, split=WORDS)
    for num_threads in (1, 3):
        found = count(tmp_path / "a.parquet", split=WORDS, num_threads=num_threads)
        assert items(found) == items(expected)
        assert (found.documents, found.total_bytes) == (len(kept), expected.total_bytes)
    with pytest.warns(UnicodeWarning, match=f"left out {values.count(None)} rows without a text"):
        summary = count_to_folder(tmp_path / "a.parquet", tmp_path / "counts", split=WORDS)
    assert (summary.documents, summary.skipped) == (len(kept), 0)


def test_parquet_mistakes(tmp_path):
    pq.write_table(pa.table({"body": ["a"], "text": [1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"column 'text' contains int64, not text"):
        count(tmp_path / "a.parquet", split=WORDS)
    with pytest.raises(InputError, match=r"no column 'content'; the columns are body, text"):
        count(tmp_path / "a.parquet", split=WORDS, options=CountOptions(read=ReadOptions(field="content")))
    assert items(count(tmp_path / "a.parquet", split=WORDS, options=CountOptions(read=ReadOptions(field="body")))) == {
        b"a": 1
    }
    (tmp_path / "b.parquet").write_bytes(b"PAR1 this is not so")
    with pytest.raises(InputError, match=r"b\.parquet: not a readable Parquet file"):
        count(tmp_path / "b.parquet", split=WORDS)


def damaged_parquet(path):
    rng = random.Random(1)
    texts = [rng.randbytes(15).hex() for _ in range(3000)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=1000, compression="zstd", use_dictionary=False)
    data = bytearray(path.read_bytes())
    middle = pq.read_metadata(path).row_group(1).column(0).data_page_offset
    data[middle + 40 : middle + 400] = bytes(360)
    path.write_bytes(data)
    return texts


def test_what_cannot_be_read_is_left_out_and_told_of(tmp_path):
    texts = damaged_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text('{"text": "fine"}\n{\n{"body": ""}\n{"text": "fine too"}\n')
    packed = zstandard.ZstdCompressor().compress(b"word " * 1_000_000)
    (tmp_path / "c.txt.zst").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError):
        count(tmp_path, split=WORDS)
    skips = []
    counts = count(tmp_path, split=WORDS, on_skip=skips.append)
    told = sorted(map(str, skips))
    assert len(told) == 4
    assert "a.parquet, row 1001 to row 2000: row group 1 cannot be read" in told[0]
    assert "b.jsonl, line 2: not JSON" in told[1]
    assert "b.jsonl, line 3: the field 'text' is missing; the fields are 'body'" in told[2]
    assert "c.txt.zst: " in told[3]
    assert "ends in the middle" in told[3]
    assert counts.documents == 2000 + 2  # the file that is one document is left out whole
    found = items(counts)
    assert all(found[text.encode()] == 1 for text in texts[:1000] + texts[2000:])
    assert found[b"fine"] == 2
    assert b" word" not in found
    summary = count_to_folder(tmp_path, tmp_path / "counts", split=WORDS, on_skip=skips.append)
    assert summary.skipped == 4


def test_damage_is_met_at_the_same_place_however_blocks_fall(tmp_path, monkeypatch):
    text = b"".join(b"word%d\n" % (i * 7919 % 100_003) for i in range(200_000))
    for suffix, packed in ((".zst", zstandard.ZstdCompressor().compress(text)), (".gz", gzip.compress(text))):
        path = tmp_path / f"a.txt{suffix}"
        path.write_bytes(packed[: len(packed) * 3 // 4])
        seen = set()
        for block in (1 << 20, 70_001, 65_536, 300_007):
            monkeypatch.setattr(reading, "BLOCK", block)
            options = CountOptions(read=ReadOptions("line"))
            seen.add(count(path, split=WORDS, options=options, on_skip=lambda skip: None).total_bytes)
        assert len(seen) == 1 and seen != {0}


def drawn(path, span, splitter):
    """The pretokens of one span, documents that begin in it, and bytes."""
    source = open_source(path, ReadOptions(), cut=cut_of(splitter), binary="error", span=span)
    block, pretokens, documents, nbytes = Block(), collections.Counter(), 0, 0
    while source.draw(block):
        block.finish()
        report_skips(block.skips, None)
        first = 0
        for last in block.ends.tolist():
            text = bytes(memoryview(block.data)[first:last])
            pretokens.update(text[a:b] for a, b in itertools.pairwise([0, *splitter.ends(text)]))
            first = last
        documents += block.documents
        nbytes += block.nbytes
    return pretokens, documents, nbytes


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="ab \n.é漢1'", max_size=300), st.lists(st.integers(0, 400), max_size=4))
def test_spans_of_text_have_all_of_it_once(tmp_path_factory, text, bounds):
    folder = tmp_path_factory.mktemp("spans")
    data = text.encode()
    (folder / "a.txt").write_bytes(data)
    (folder / "a.jsonl").write_text("\n".join(json.dumps({"text": line}) for line in text.split(".")))
    splitter = Splitter("cl100k")
    for path in (folder / "a.txt", folder / "a.jsonl"):
        size = path.stat().st_size
        whole = drawn(path, None, splitter)
        edges = [0, *sorted({b for b in bounds if 0 < b < size}), size]
        parts = [drawn(path, span, splitter) for span in itertools.pairwise(edges)]
        assert sum((p for p, _, _ in parts), collections.Counter()) == whole[0]
        assert sum(n for _, _, n in parts) == whole[2]
        assert sum(n for _, n, _ in parts) == whole[1]


def test_spans_of_parquet_are_row_groups(tmp_path):
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "a.parquet", row_group_size=30)
    splitter = Splitter(WORDS)
    groups = parquet.ParquetSource.groups(tmp_path / "a.parquet")
    assert groups == 7
    whole = drawn(tmp_path / "a.parquet", None, splitter)
    parts = [drawn(tmp_path / "a.parquet", span, splitter) for span in ((0, 2), (2, 3), (3, 7))]
    assert sum((p for p, _, _ in parts), collections.Counter()) == whole[0]
    assert sum(n for _, n, _ in parts) == len(TEXTS)


def test_a_span_of_a_binary_file_is_binary_too(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\0" + b"text " * 50_000)
    splitter = Splitter(WORDS)
    with pytest.raises(InputError, match="looks binary"):
        drawn(tmp_path / "a.txt", (100_000, 200_000), splitter)
    source = open_source(
        tmp_path / "a.txt", ReadOptions(), cut=cut_of(splitter), binary="skip", span=(100_000, 200_000)
    )
    block = Block()
    assert source.draw(block)
    assert (block.nbytes, block.documents) == (0, 0)
    assert not source.draw(block)
