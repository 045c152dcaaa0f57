"""Each fault of a token file is found, and its place is named."""

import contextlib
import itertools
import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from token_file_examples import tokenizer

import tokenmill
from tokenmill.errors import FormatError, UsageError
from tokenmill.token_files import settings
from tokenmill.token_files.settings import EncodeOptions


@pytest.mark.parametrize("format", [*settings.FORMATS])
@pytest.mark.parametrize("options", [{}, {"begin_of_text": "<|endoftext|>"}, {"end_of_text": False}, {"special": True}])
def test_whole_files_hold_what_they_say(tok, sources, tmp_path, format, options):
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t", format=format, options=EncodeOptions(**options)).path
    text = sources[0] if format != "parquet" else ()
    result = tokenmill.verify(path, tok=tok, sources=text)
    assert result.tokens == len(tokenmill.load_tokens(path).ids) and result.documents == len(sources[1])
    assert result.checks[:3] == ("sizes", "SHA-256 of the ids and of the lengths", "ids below 320")
    assert bool(text) == (result.checks[-1] == "the sources")


def test_parts_and_numbered_files(tok, sources, tmp_path):
    for n in (1, 2, 3):
        options = EncodeOptions(part=f"{n}/3")
        path = tokenmill.encode_files(tok, sources[0], tmp_path / "t", format="llmc", options=options).path
        assert "the sources" in tokenmill.verify(path, tok=tok, sources=sources[0]).checks
    tokenmill.encode_files(tok, sources[0], tmp_path / "s.bin", format="llmc", options=EncodeOptions(shard_tokens=900))
    for path in tmp_path.glob("s_*.bin"):
        assert "a token before each document" in tokenmill.verify(path, tok=tok).checks
        with pytest.raises(UsageError, match="only a whole token file or a part"):
            tokenmill.verify(path, tok=tok, sources=sources[0])


def test_each_fault_has_its_place(tok, sources, tmp_path, monkeypatch):
    monkeypatch.setattr(settings.BlockHashes, "SIZE", 1000)
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t.bin").path
    offsets, metadata = tmp_path / "t.bin.offsets.npy", tmp_path / "t.bin.json"
    written = {file: file.read_bytes() for file in (path, offsets, metadata)}

    def fault(match, file, change, *arguments):
        data = bytearray(written[file])
        change(data)
        file.write_bytes(data)
        with pytest.raises(FormatError, match=match):
            tokenmill.verify(path, *arguments)
        file.write_bytes(written[file])

    def flip(data):
        data[2500] ^= 1

    fault("the 1,000 bytes of ids from byte 2,000 on are not those that were written", path, flip)
    fault(
        r"id number 1,250 is \d+, and the tokenizer has the ids 0 to 319", path, lambda data: data.__setitem__(2501, 9)
    )
    fault("has 2 bytes|has .* bytes; t.bin.json says", path, lambda data: data.__delitem__(slice(-2, None)))

    def move(data):  # the end of a document that is not its end
        array = np.frombuffer(data, np.int64, offset=128)
        array[3] += 1

    fault("the lengths of documents from document 0 on", offsets, move)
    other = tokenizer(["<|endoftext|>", "<|x|>"])
    with pytest.raises(FormatError, match="another tokenizer"):
        tokenmill.verify(path, tok=other)
    rewritten = json.loads(written[metadata])
    for row, error in (
        ([0, "ab"], "0 and 'ab' are not the bytes"),
        ([5, 7], "5 and 7 are not the bytes"),
        (7, "damaged"),
    ):
        rewritten["hashes"] = {"ids": [], "lengths": [row]}
        metadata.write_text(json.dumps(rewritten))
        with pytest.raises(FormatError, match=error):
            tokenmill.verify(path)


@pytest.mark.parametrize("format", [*settings.FORMATS])
@pytest.mark.parametrize("name", ["documents", "tokens"])
def test_counts_of_the_metadata_are_those_of_the_file(tok, sources, tmp_path, format, name):
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t", format=format).path
    beside = path.with_name(f"{path.name}.json")
    metadata = json.loads(beside.read_text())
    for wrong in (metadata[name] - 1, metadata[name] + 1, 0, 10**21):
        beside.write_text(json.dumps(metadata | {name: wrong}))
        with pytest.raises(FormatError, match=rf"{metadata[name]:,} {name}; .*\.json says {wrong:,}"):
            tokenmill.verify(path)


def test_a_changed_summary_of_datatrove(tok, sources, tmp_path):
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t.ds", format="datatrove").path
    summary = tmp_path / "t.ds.metadata"
    written = summary.read_bytes()
    assert tokenmill.verify(path).checks
    summary.write_bytes(written[:70] + b"x" + written[71:])
    with pytest.raises(FormatError, match=r"t\.ds\.metadata: byte 70 and those after it are not those"):
        tokenmill.verify(path)


def test_a_flipped_byte_in_any_column_of_parquet(tok, sources, tmp_path):
    """Of the ids, which the hashes cover, of the names of the documents, and of the names of the columns."""
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t.parquet", format="parquet").path
    written, table = path.read_bytes(), pq.read_table(path)
    assert "checksums of the columns source and id" in tokenmill.verify(path).checks
    noticed = 0
    for place in range(4, len(written), 61):
        path.write_bytes(written[:place] + bytes([written[place] ^ 4]) + written[place + 1 :])
        try:
            tokenmill.verify(path)
        except FormatError:
            noticed += 1
        else:
            assert pq.read_table(path).equals(table), place  # it is in the statistics of a page
    assert noticed > len(written) // 122
    path.write_bytes(written.replace(b"source", b"sourcf"))
    with pytest.raises(FormatError, match=r"t\.parquet: its columns are not"):
        tokenmill.verify(path)


def test_a_column_of_parquet_that_lost_its_rows(tok, sources, tmp_path):
    """A flipped bit in the header of a page may leave none, without an error of Arrow."""
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t.parquet", format="parquet").path
    written, table, group = path.read_bytes(), pq.read_table(path), pq.ParquetFile(path).metadata.row_group(0)
    for column in map(group.column, range(1, group.num_columns)):
        for start in {column.dictionary_page_offset, column.data_page_offset} - {None}:
            for place, bit in itertools.product(range(start, start + 20), (1, 32)):
                path.write_bytes(written[:place] + bytes([written[place] ^ bit]) + written[place + 1 :])
                with contextlib.suppress(FormatError):
                    tokenmill.verify(path)
                    assert pq.read_table(path).equals(table), place


@pytest.mark.parametrize(("format", "magic"), [("parquet", "b'PAR1'"), ("npy", r"b'\x93NUMPY'")])
def test_flipped_first_bytes(tok, sources, tmp_path, format, magic):
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t", format=format).path
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    with pytest.raises(FormatError, match=rf"t: not a \.{format} file: it does not begin with {re.escape(magic)}$"):
        tokenmill.verify(path)


def test_without_metadata_the_sizes_are_checked(tok, sources, tmp_path):
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t", format="megatron").path
    (tmp_path / "t.bin.json").unlink()
    assert tokenmill.verify(path).checks == ("sizes",)


def test_a_document_that_does_not_end_where_the_offsets_say(tok, sources, tmp_path):
    """A file whose hashes are right, because they were made of the wrong offsets."""
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t.bin").path
    metadata = json.loads((tmp_path / "t.bin.json").read_text())
    offsets = np.load(tmp_path / "t.bin.offsets.npy")
    offsets[3] -= 1
    np.save(tmp_path / "t.bin.offsets.npy", offsets)
    hashes = settings.BlockHashes()
    hashes.update(np.diff(offsets))
    metadata["hashes"]["lengths"] = hashes.rows()
    (tmp_path / "t.bin.json").write_text(json.dumps(metadata))
    with pytest.raises(FormatError, match="document 2 does not have the token 319 after it"):
        tokenmill.verify(path, tok=tok)


def test_other_sources_are_named_by_the_first_document_that_differs(tok, sources, tmp_path):
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t.bin").path
    other = tmp_path / "c.jsonl"
    lines = sources[0][2].read_text().splitlines()
    lines[5] = json.dumps({"text": "something else"})
    other.write_text("\n".join(lines))
    names = [*sources[0][:2], other, *sources[0][3:]]
    start = int(tokenmill.load_tokens(path).offsets[2 + 5])
    with pytest.raises(
        FormatError, match=rf"from byte {2 * start:,}? on, in document 7, its ids differ from those of the sources"
    ):
        tokenmill.verify(path, tok=tok, sources=names)
    with pytest.raises(FormatError, match="its ids differ from those of the sources"):
        tokenmill.verify(path, tok=tok, sources=sources[0][:-1])
    with pytest.raises(UsageError, match="name the tokenizer"):
        tokenmill.verify(path, sources=sources[0])


def test_files_of_other_programs(tmp_path, tok):
    np.array([1, 2, 319, 5], np.uint16).tofile(tmp_path / "a.raw")
    result = tokenmill.verify(tmp_path / "a.raw", tok=tok, dtype="uint16")
    assert result.documents is None and result.checks == ("sizes", "ids below 320")
    np.array([1, 2, 320, 5], np.uint16).tofile(tmp_path / "a.raw")
    with pytest.raises(FormatError, match="id number 2 is 320"):
        tokenmill.verify(tmp_path / "a.raw", tok=tok, dtype="uint16")


def test_the_file_of_a_newer_tokenmill_is_called_that(tok, sources, tmp_path):
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t.bin").path
    beside = tmp_path / "t.bin.json"
    beside.write_text(json.dumps(json.loads(beside.read_text()) | {"version": 2, "more": 1}))
    with pytest.raises(FormatError, match=r"t\.bin\.json was made by a newer version of tokenmill \(format 2; "):
        tokenmill.load_tokens(path)


def test_another_tokenizer_has_no_way_around_the_check(tok, sources, tmp_path):
    """verify has no any_tokenizer."""
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t.bin").path
    with pytest.raises(FormatError, match=r"made with another tokenizer: .* Use the tokenizer it was made with\.$"):
        tokenmill.verify(path, tok=tokenmill.train_from_iterator(["low lower"], vocab_size=258))


def test_a_token_file_among_the_sources_is_named(tok, sources, tmp_path):
    """As of `verify parts/*.bin`, which the shell expands."""
    paths = [
        tokenmill.encode_files(tok, sources[0], tmp_path / "t.bin", options=EncodeOptions(part=f"{n}/2")).path
        for n in (1, 2)
    ]
    for one in (tok, None):
        with pytest.raises(
            UsageError, match=r"t-00002-of-00002.bin is a token file, not a source. Verify one at a time"
        ):
            tokenmill.verify(paths[0], tok=one, sources=paths[1:])


def test_a_source_that_was_damaged_since_is_named_without_an_option_that_verify_lacks(tok, tmp_path):
    (tmp_path / "a.txt").write_text("low lower")
    path = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.bin").path
    (tmp_path / "a.txt").write_bytes(b"low\xff")
    with pytest.raises(FormatError, match=r"a.txt: not UTF-8.*It could be read when") as caught:
        tokenmill.verify(path, tok=tok, sources=tmp_path / "a.txt")
    assert "skip_damaged" not in str(caught.value)


def test_sources_may_be_an_iterator(tok, sources, tmp_path):
    """They are looked at twice: for token files among them, and to encode them again."""
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "t.bin").path
    assert tokenmill.verify(path, tok=tok, sources=iter(sources[0])).checks[-1] == "the sources"
    (tmp_path / "other.txt").write_text("another text")
    with pytest.raises(FormatError):
        tokenmill.verify(path, tok=tok, sources=iter([tmp_path / "other.txt"]))
