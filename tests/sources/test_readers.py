"""Text, JSON lines and Parquet as documents, and everything that can be wrong with them."""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.corpus import read_documents
from tokenmill.errors import InputError, UsageError
from tokenmill.sources import parquet as parquet_source


def read(*sources, **options):
    """The documents' texts, and what was skipped."""
    skipped = []
    texts = [d.text for d in read_documents(sources, on_skip=skipped.append, **options)]
    return texts, [str(skip).rpartition("/")[2] for skip in skipped]


def write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_text_by_line_blank_line_separator_and_file(tmp_path):
    file = write(tmp_path / "a.txt", "\ufeffone\ntwo\r\n\n  \nthree<|>four\n")
    assert read(file, unit="line")[0] == ["one", "two", "  ", "three<|>four"]
    assert read(file, unit="blank")[0] == ["one\ntwo", "three<|>four"]
    assert read(file, unit="separator", separator="<|>")[0] == ["one\ntwo\r\n\n  \nthree", "four\n"]
    assert read(file)[0] == read(file, unit="file")[0] == ["one\ntwo\r\n\n  \nthree<|>four\n"]


def test_documents_know_where_they_come_from(tmp_path):
    file = write(tmp_path / "a.txt", "one\n\ntwo\n")
    assert [(d.source, d.id) for d in read_documents(file, unit="line")] == [(str(file), "1"), (str(file), "3")]
    assert [d.id for d in read_documents(file, unit="separator", separator="\n")] == ["0", "5"]
    assert [d.id for d in read_documents(file, unit="file")] == ["a.txt"]


@given(
    st.lists(st.text("ab\u00e9\u5b57 ", min_size=1).filter(str.strip), max_size=8),
    st.sampled_from(["|", "ab|", "||||"]),
)
def test_separators_are_found_wherever_chunks_end(tmp_path_factory, texts, separator):
    file = write(tmp_path_factory.mktemp("s") / "a.txt", separator.join(texts))
    assert read(file, unit="separator", separator=separator)[0] == texts


def test_a_separator_across_the_chunks_of_a_long_file(tmp_path):
    texts = ["x" * 65_533, "y" * 65_536, "z" * 200_000, "end"]
    file = write(tmp_path / "a.txt", "<->".join(texts))
    assert read(file, unit="separator", separator="<->")[0] == texts


@pytest.mark.parametrize("options", [{"unit": "line"}, {"unit": "blank"}, {"unit": "separator", "separator": "\n\n"}])
def test_a_document_beyond_the_limit_is_skipped_and_the_rest_read(tmp_path, options):
    file = write(tmp_path / "a.txt", "before\n\n" + "x" * 300_000 + "\n\nafter\n\n" + "y" * 1000)
    texts, skipped = read(file, max_document_bytes=1000, **options)
    assert [t.strip() for t in texts] == ["before", "after", "y" * 1000]
    assert len(skipped) == 1
    assert skipped[0].endswith("longer than 1,000 bytes; max_document_bytes (--max-document) raises the limit")
    assert ("line 3" if "separator" not in options else "byte 8") in skipped[0]
    assert read(file, unit="file", max_document_bytes=1000)[1] == [
        "a.txt: longer than 1,000 bytes; max_document_bytes (--max-document) raises the limit, or unit (--unit) divides the file "
        "into documents"
    ]


def test_a_blank_block_over_the_limit_only_in_sum_is_skipped(tmp_path):
    file = write(tmp_path / "a.txt", "x\n" * 600 + "\nok\n")
    texts, skipped = read(file, unit="blank", max_document_bytes=1000)
    assert texts == ["ok"]
    assert len(skipped) == 1


def test_text_that_is_not_utf8_is_skipped_by_document(tmp_path):
    file = write(tmp_path / "a.txt", b"good\ncaf\xe9\nalso good\n")
    texts, skipped = read(file, unit="line")
    assert texts == ["good", "also good"]
    assert skipped == ["a.txt, line 2: not UTF-8: the byte 0xe9 at 3 (unexpected end of data)"]


def test_without_a_listener_damage_stops(tmp_path):
    file = write(tmp_path / "a.txt", b"good\ncaf\xe9\n")
    documents = read_documents(file, unit="line")
    assert next(documents).text == "good"
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        next(documents)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{'text': 1}", "not JSON"),
        ('{"text": "a"', "not JSON"),
        ('["text"]', "JSON, but an array; expected an object"),
        ('{"body": "a", "n": 1}', "the field 'text' is missing; the fields are 'body', 'n'"),
        ('{"text": 7}', "is a number, not text"),
        ('{"text": null}', "is null, not text"),
        ("[" * 100_000, "nested too deeply"),
        ('{"text": ' + "9" * 10_000 + "}", "is a number, not text"),
    ],
)
def test_a_line_that_is_no_json_document_is_skipped(tmp_path, line, why):
    file = write(tmp_path / "a.jsonl", f'{{"text": "one"}}\n{line}\n\n{{"text": "two"}}')
    texts, skipped = read(file)
    assert texts == ["one", "two"]
    assert len(skipped) == 1
    assert skipped[0].startswith("a.jsonl, line 2: ")
    assert why in skipped[0]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            '{\n  "text": "a"\n}\n',
            "a.json, line 1: not JSON: the value goes on in the next line. Write each object on one line",
        ),
        ('{"text": "a",}\n', "a.json, line 1: not JSON: a comma after the last value, at 13. Remove it"),
        ('{"text": "a",\n "x": 1}\n', "a.json, line 1: not JSON: the value goes on in the next line."),
        ('{"text": "a"},\n{"text": "b"}\n', "a.json, line 1: not JSON: a comma after the last value, at 14. Remove it"),
        (
            '[{"text": "a"}, {"text": "b"},\n]\n',
            "a.json: not JSON: a comma after item 2, and no item after it. Remove it.",
        ),
        ('{"text": "a"} {"text": "b"}\n', "a.json, line 1: not JSON: another value follows the first, at 15."),
        ('[{"text": "a",}]', "a.json, item 1: not JSON: a comma after the last value, at 13. Remove it"),
    ],
)
def test_json_with_a_comma_too_many_or_over_many_lines_is_called_that(tmp_path, content, why):
    skipped = read(write(tmp_path / "a.json", content))[1]
    assert skipped[0].startswith(why)
    with pytest.raises(InputError) as refused:
        list(read_documents(tmp_path / "a.json"))
    assert "skip_damaged=True." in str(refused.value) and ".." not in str(refused.value)


def test_jsonl_fields(tmp_path):
    lines = [{"body": "\u5b57\ud83d\ude00", "id": 7, "title": "T"}, {"body": "b"}]
    file = write(tmp_path / "a.jsonl", "\n".join(json.dumps(line) for line in lines))
    documents = list(read_documents(file, field="body"))
    assert [(d.text, d.id, d.title) for d in documents] == [("\u5b57\U0001f600", "7", "T"), ("b", "2", "")]


def parquet(path, rows=10, kind=None, **options):
    texts = pa.array([f"text {i} \u00e9" for i in range(rows)])
    table = pa.table(
        {"text": texts.cast(kind) if kind else texts, "id": [f"id{i}" for i in range(rows)], "n": range(rows)}
    )
    pq.write_table(table, path, **options)
    return path


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
)
@pytest.mark.parametrize("most", [1, 1 << 26])
def test_parquet_columns_of_every_kind_of_string(tmp_path, kind, most, monkeypatch):
    monkeypatch.setattr(parquet_source, "MOST_BYTES", most)
    try:
        file = parquet(tmp_path / "a.parquet", kind=kind, row_group_size=3)
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow cannot write such a column")
    documents = list(read_documents(file))
    assert [d.text for d in documents] == [f"text {i} \u00e9" for i in range(10)]
    assert [d.id for d in documents] == [f"id{i}" for i in range(10)]
    assert [d.text for d in read_documents(file, field="id")] == [f"id{i}" for i in range(10)]


def test_reading_parquet_does_not_import_what_it_does_not_need(tmp_path):
    """pyarrow.compute takes as long to import as 20 MB to read."""
    parquet(tmp_path / "a.parquet")
    code = (
        "import sys; from tokenmill.sources.documents import *\n"
        "assert len(list(read_documents(sys.argv[1]))) == 10; assert 'pyarrow.compute' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "a.parquet"], check=True)


def test_parquet_ids_and_titles(tmp_path):
    """Ids of bytes are text, not Python's b'x'. Titles are read as from JSON lines, so that shards of Parquet keep them."""
    ids = pa.array([b"x", b"\xff", None, b"y"])
    table = pa.table(
        {"text": ["a", "b", "c", None], "id": ids, "title": pa.array(["T", None, "T", "U"]).dictionary_encode()}
    )
    pq.write_table(table, path := tmp_path / "a.parquet")
    documents = list(read_documents(path, on_skip=print))
    assert [(each.id, each.title) for each in documents] == [("x", "T"), ("\\xff", ""), ("3", "T")]
    pq.write_table(table.set_column(2, "title", [[1, 2, 3, 4]]), path)
    assert {each.title for each in read_documents(path, on_skip=print)} == {""}


def test_parquet_without_the_column_names_those_it_has(tmp_path):
    file = parquet(tmp_path / "a.parquet")
    assert read(file, field="content") == (
        [],
        [
            "a.parquet: no column 'content'; the columns are text, id, n. Name the column of the text with --field, or ReadOptions(field=...) in Python"
        ],
    )
    assert "contains int64, not text" in read(file, field="n")[1][0]


def test_parquet_whose_texts_are_all_null(tmp_path):
    """A shard whose first rows had no text may have no type of strings either."""
    pq.write_table(pa.table({"text": pa.nulls(5), "title": ["a", None, "b", "c", "d"]}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == ([], ["a.parquet: left out 5 rows without a text (null)"])
    texts, notes = read(tmp_path / "a.parquet", field=("text", "title"))
    assert (texts, notes) == (["a", "b", "c", "d"], ["a.parquet: left out 1 row without a text (null)"])


def test_parquet_with_two_columns_of_one_name(tmp_path):
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"]), pa.array(["c"])], names=["text", "text", "other"])
    pq.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", field="other") == (["c"], [])
    assert read(tmp_path / "a.parquet")[1] == [
        "a.parquet: 2 columns are called 'text'. Rename all but one, or name another with --field, or ReadOptions(field=...) in Python"
    ]


def test_a_damaged_row_group_is_skipped_and_the_others_read(tmp_path):
    file = parquet(tmp_path / "a.parquet", rows=3000, row_group_size=1000, compression="zstd", use_dictionary=False)
    start = pq.ParquetFile(file).metadata.row_group(1).column(0).data_page_offset
    data = bytearray(file.read_bytes())
    data[start : start + 2000] = bytes(2000)
    file.write_bytes(data)
    texts, skipped = read(file)
    assert texts == [f"text {i} \u00e9" for i in [*range(1000), *range(2000, 3000)]]
    assert len(skipped) == 1
    assert "row 1001 to row 2000: row group 1 cannot be read" in skipped[0]


def test_parquet_that_is_cut_off_or_not_utf8(tmp_path):
    file = parquet(tmp_path / "a.parquet")
    file.write_bytes(file.read_bytes()[:-30])
    assert "not a readable Parquet file" in read(file)[1][0]
    pq.write_table(pa.table({"text": [b"good", b"b\xff\xffd", None]}), tmp_path / "b.parquet")
    texts, skipped = read(tmp_path / "b.parquet")
    nulls = "b.parquet: left out 1 row without a text (null)"
    assert texts == ["good"]
    assert skipped == ["b.parquet, row 2: not UTF-8: the byte 0xff at 1 (invalid start byte)", nulls]


def test_the_fineweb_sample(shared):
    documents = list(read_documents(shared / "corpus" / "fineweb-schema-sample.parquet"))
    assert len(documents) == 4000
    assert documents[0].id == "<urn:uuid:4afe3aaf-1127-6e85-6293-994ee06c3285>"
    assert documents[0].text.startswith("\nA symbolic ref name.")


def test_wrong_options_are_told(tmp_path):
    file = write(tmp_path / "a.txt", "x")
    for options in (
        {"unit": "page"},
        {"format": "csv"},
        {"separator": "x"},
        {"unit": "separator"},
        {"max_document_bytes": 0},
    ):
        with pytest.raises(UsageError):
            list(read_documents(file, **options))


def skippable_first(data):  # as pzstd writes it
    return b"\x50\x2a\x4d\x18\4\0\0\0skip" + zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress, skippable_first]
)
@pytest.mark.parametrize("text", ["", "a text of some bytes\n" * 3])
def test_compressed_data_are_told_by_their_first_bytes(tmp_path, pack, text):
    """In a file of any name, and in a pipe that begins with less than those bytes."""
    data = pack(text.encode()) + pack(b"another member")
    (tmp_path / "a.txt").write_bytes(data)
    reader, writer = os.pipe()
    os.write(writer, data[:1])
    threading.Timer(0.05, lambda: (os.write(writer, data[1:]), os.close(writer))).start()
    try:
        for source in (tmp_path / "a.txt", f"/dev/fd/{reader}"):
            assert [document.text for document in read_documents(source)] == [text + "another member"]
    finally:
        os.close(reader)


def test_text_that_begins_almost_like_compressed_data(tmp_path):
    for text in ("BZh9 is not bzip2", "BZ", "\x1f"):
        assert read(write(tmp_path / "a.txt", text)) == ([text], [])
