"""What `load_tokens` gives: slices, pickles, and the types of ids that it takes."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from token_file_examples import corpus

import tokenmill
from tokenmill.errors import FormatError, UsageError
from tokenmill.token_files.settings import FORMATS


@pytest.mark.parametrize("kind", FORMATS)
def test_a_pickle_holds_the_path_and_not_the_ids(tok, tmp_path, monkeypatch, kind):
    paths, _ = corpus(tmp_path / "sources")
    monkeypatch.chdir(tmp_path)
    tokens = tokenmill.load_tokens(tokenmill.encode_files(tok, paths, "t", format=kind).path, tok=tok)
    assert len(tokens.ids) > 10_000
    data = pickle.dumps(tokens)
    assert len(data) < 1000
    monkeypatch.chdir("/")  # as in another process: the path is absolute
    again = pickle.loads(data)
    assert "_contents" not in vars(again), "opened on first use"
    assert len(again) == len(tokens) and np.array_equal(again.ids, tokens.ids)
    assert again.end_of_text == tokens.end_of_text and np.array_equal(again[3], tokens[3])


def test_a_pickle_of_a_file_that_is_gone_is_one_error(tok, tmp_path):
    np.arange(10, dtype="<u2").tofile(tmp_path / "t.npy.bin")
    tokens = tokenmill.load_tokens(tmp_path / "t.npy.bin", dtype="uint16")
    assert pickle.loads(pickle.dumps(tokens)).ids.tolist() == list(range(10))
    (tmp_path / "a.txt").write_text("low")
    tokens = tokenmill.load_tokens(tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.bin").path, tok=tok)
    data = pickle.dumps(tokens)
    (tmp_path / "t.bin").unlink()
    with pytest.raises(FormatError, match=r"t\.bin is missing"):
        len(pickle.loads(data))


@pytest.mark.parametrize("kind", FORMATS)
def test_slices_are_lists_of_documents(tok, tmp_path, kind):
    paths, documents = corpus(tmp_path / "sources")
    tokens = tokenmill.load_tokens(tokenmill.encode_files(tok, paths, tmp_path / "t", format=kind).path, tok=tok)
    assert [tok.decode(ids) for ids in tokens[1:8:3]] == documents[1:8:3]
    assert [tok.decode(ids) for ids in tokens[-2:]] == documents[-2:]
    assert tokens[5:2] == [] and tok.decode(tokens[np.int64(2)]) == documents[2]
    for wrong in (1.0, "1", None, (1, 2)):
        with pytest.raises(UsageError, match="give a whole number or a slice"):
            tokens[wrong]


@pytest.mark.parametrize(
    "dtype", ["object", "O", "int16", "float16", "uint8", "uint64", "u2,u2", "(2,)u2", "", "U4", object, 5, ">u2"]
)
def test_only_ids_of_two_and_four_bytes(tmp_path, dtype):
    (tmp_path / "t.bin").write_bytes(bytes(64))
    with pytest.raises(UsageError, match='give "uint16" or "uint32"'):
        tokenmill.load_tokens(tmp_path / "t.bin", dtype=dtype)


@pytest.mark.parametrize("dtype", ["uint16", np.uint16, np.dtype("uint16")])
def test_types_of_ids_as_numpy_names_them(tmp_path, dtype):
    (tmp_path / "t.bin").write_bytes(bytes(64))
    assert tokenmill.load_tokens(tmp_path / "t.bin", dtype=dtype).ids.dtype == np.uint16


def test_decode_refuses_other_types_too(tok, tmp_path):
    tok.save(tmp_path / "tok")
    (tmp_path / "t.bin").write_bytes(os.urandom(64))
    command = [sys.executable, "-m", "tokenmill", "decode", tmp_path / "t.bin", "--tokenizer", tmp_path / "tok"]
    done = subprocess.run([*command, "--any-tokenizer", "--dtype", "object"], capture_output=True, text=True)
    assert done.returncode == 2 and "--dtype is 'object'; known are uint16, uint32" in done.stderr


@pytest.mark.parametrize("kind", FORMATS)
def test_a_token_file_is_renamed_with_its_companions(tok, tmp_path, kind):
    paths, documents = corpus(tmp_path / "sources")
    tokenmill.encode_files(tok, paths, tmp_path / "train", format=kind)
    for path in tmp_path.glob("train*"):
        path.rename(tmp_path / path.name.replace("train", "val"))
    (path,) = {path for path in tmp_path.glob("val*") if (tmp_path / f"{path.name}.json").exists()}
    tokens = tokenmill.load_tokens(path, tok=tok)
    assert [tok.decode(ids) for ids in tokens] == documents
    for companion in (tmp_path / "val.bin.offsets.npy", tmp_path / "val.idx"):
        if companion.exists():
            companion.unlink()
            with pytest.raises(FormatError, match=f"{path.name}: {companion.name} is missing"):
                tokenmill.load_tokens(path, tok=tok)


def test_the_suffix_of_another_format_is_refused(tok, tmp_path):
    (tmp_path / "a.txt").write_text("low")
    for name, format in (
        ("x.npy", "bin"),
        ("x.bin", "npy"),
        ("x.parquet", "megatron"),
        ("x.idx", "bin"),
        ("x.bin", "parquet"),
    ):
        with pytest.raises(UsageError, match="suffix of another format"):
            tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / name, format=format)


def test_a_folder_is_not_called_missing(tok, tmp_path):
    (tmp_path / "parts").mkdir()
    with pytest.raises(FormatError, match=r"parts: is a folder. Give a token file in it"):
        tokenmill.load_tokens(tmp_path / "parts")
    with pytest.raises(FormatError, match=r"parts: is a folder. Give a token file in it"):
        tokenmill.Join(files=[tmp_path / "parts"], output=tmp_path / "t.bin").run()


def test_a_file_without_metadata_does_not_ask_for_another_tokenizer(tok, tmp_path):
    np.arange(10, dtype="<u2").tofile(tmp_path / "t.bin")
    with pytest.raises(FormatError, match=r"does not record its tokenizer. To use this one, pass any_tokenizer=True"):
        tokenmill.load_tokens(tmp_path / "t.bin", tok=tok, dtype="uint16")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"text": ["a"], "id": ["b"]}, "no column 'ids'; the columns are text, id"),
        ({"ids": ["a"]}, "the column 'ids' contains string"),
        ({"ids": [[1, 2], None]}, "damaged: a row or an id is missing"),
        ({"ids": [[1, None]]}, "damaged: a row or an id is missing"),
        (None, "not a Parquet file of ids"),
    ],
)
def test_parquet_of_another_program(tmp_path, columns, said):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    if columns is not None:
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(FormatError, match=said):
        tokenmill.load_tokens(tmp_path / "t.parquet")


def test_metadata_that_does_not_fit(tok, tmp_path):
    (tmp_path / "a.txt").write_text("low")
    path = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.parquet", format="parquet").path
    values = json.loads((tmp_path / "t.parquet.json").read_text())
    for changed, said in (
        ({"documents": 2}, "it has 1 document; t.parquet.json says 2"),
        ({"version": "1"}, "version '1' of the metadata; this tokenmill reads 1"),
        ({"version": 2}, "made by a newer version of tokenmill"),
    ):
        (tmp_path / "t.parquet.json").write_text(json.dumps(values | changed))
        with pytest.raises(FormatError, match=said):
            tokenmill.load_tokens(path)


def test_arrays_that_are_not_a_row_of_ids(tmp_path):
    (tmp_path / "t.npy").write_bytes(b"\x93NUMPY and no more")
    with pytest.raises(FormatError, match=r"not a readable \.npy file"):
        tokenmill.load_tokens(tmp_path / "t.npy")
    np.save(tmp_path / "t.npy", np.zeros((2, 2), np.uint16))
    with pytest.raises(FormatError, match=r"an array of uint16 with shape \(2, 2\); expected a row of ids"):
        tokenmill.load_tokens(tmp_path / "t.npy")
    np.save(tmp_path / "t.npy", np.zeros(4, np.uint16))
    np.save(tmp_path / "t.npy.offsets.npy", np.array([0, 4], np.uint32))
    with pytest.raises(FormatError, match="offsets of uint32; expected int64"):
        tokenmill.load_tokens(tmp_path / "t.npy")


def test_an_index_stands_for_its_ids_and_records_their_type(tok, tmp_path):
    (tmp_path / "a.txt").write_text("low lower")
    path = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t", format="megatron").path
    (tmp_path / "t.bin.json").unlink()
    tokens = tokenmill.load_tokens(path.with_suffix(".idx"))
    assert tokens.path == path and len(tokens) == 1 and repr(tokens) == f"<TokenFile {str(path)!r}, 1 document>"
    with pytest.raises(UsageError, match="its ids are uint16, as it records: leave out dtype"):
        tokenmill.load_tokens(path, dtype="uint32")


def test_what_an_encoding_needs(tok, tmp_path):
    (tmp_path / "a.txt").write_text("low lower")
    with pytest.raises(UsageError, match=r"the token file format 'nano' is not known; known are bin, npy, "):
        tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t", format="nano")
    with pytest.raises(UsageError, match=r"a token file \(npy\) needs sources, and output with its name"):
        tokenmill.Encode(tokenizer="gpt2", format="npy").check()
    made = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.idx", format="megatron")
    assert made.path == tmp_path / "t.bin" and (tmp_path / "t.idx").exists()


def test_a_device_gets_the_ids_and_nothing_beside_it(tok, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("low lower")
    result = tokenmill.encode_files(tok, tmp_path / "a.txt", "/dev/null")
    assert str(result.path) == "/dev/null" and result.documents == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_ids_of_sixty_four_bits_are_not_joined(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(4, np.int64))
    with pytest.raises(UsageError, match="ids of int64 are not joined, only uint16 and uint32"):
        tokenmill.Join(files=[tmp_path / "a.npy"], output=tmp_path / "t.npy").run()


@pytest.mark.parametrize("kind", [pa.list_(pa.int32()), pa.large_list(pa.int64())], ids=str)
def test_parquet_of_other_programs(tmp_path, kind):
    """Polars writes large lists."""
    rows = [[1, 2, 3], [], [4]]
    pq.write_table(pa.table({"ids": pa.array(rows, kind)}), tmp_path / "x.parquet", row_group_size=2)
    assert [ids.tolist() for ids in tokenmill.load_tokens(tmp_path / "x.parquet")] == rows
