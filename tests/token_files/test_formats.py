"""The files of each format as its training framework reads them, by readers written from the formats' descriptions; and files of others."""

import gzip
import json
import struct

import numpy as np
import pytest
from token_file_examples import expected_ids, read_megatron, tokenizer, wide_tokenizer

import tokenmill
from tokenmill.errors import FormatError, UsageError
from tokenmill.token_files import formats
from tokenmill.token_files.settings import FORMATS, EncodeOptions

WIDTHS = {"uint16": "<u2", "uint32": "<u4"}
LLMC = {"uint16": (20240520, 1), "uint32": (20240801, 7)}


@pytest.fixture(params=["uint16", "uint32"])
def tok(request):
    return tokenizer() if request.param == "uint16" else wide_tokenizer(70_000)


def dtype_of(tok):
    return "uint16" if tok.n_vocab < 65_536 else "uint32"


def lengths_of(tok, documents):
    return [len(tok.encode_ordinary(document)) + 1 for document in documents]


def test_llmc(tok, sources, tmp_path):
    paths, documents = sources
    tokenmill.encode_files(tok, paths, tmp_path / "t.bin", format="llmc")
    data = (tmp_path / "t.bin").read_bytes()
    magic, version, n, *zeros = struct.unpack_from("<256i", data)
    assert (magic, version) == LLMC[dtype_of(tok)] and not any(zeros)
    ids = np.frombuffer(data, WIDTHS[dtype_of(tok)], offset=1024).tolist()
    assert len(ids) == n
    assert ids == [id for document in documents for id in (tok.eot_token, *tok.encode_ordinary(document))]


def test_nanogpt(sources, tmp_path):
    paths, documents = sources
    tok = tokenizer()
    tokenmill.encode_files(tok, paths, tmp_path / "train.bin", format="nanogpt")
    ids = np.memmap(tmp_path / "train.bin", np.uint16, "r")
    assert ids.tolist() == expected_ids(tok, documents, tok.eot_token)
    with pytest.raises(UsageError, match=r"ids of 16 bits, and the tokenizer has 70,000 of them.*format='bin'"):
        tokenmill.encode_files(wide_tokenizer(70_000), paths, tmp_path / "wide.bin", format="nanogpt")
    assert not list(tmp_path.glob("*wide*"))


def test_olmo(tok, sources, tmp_path):
    paths, documents = sources
    assert tokenmill.encode_files(tok, paths, tmp_path / "t", format="olmo").path == tmp_path / "t.npy"
    ids = np.memmap(tmp_path / "t.npy", WIDTHS[dtype_of(tok)], "r")
    assert ids.tolist() == expected_ids(tok, documents, tok.eot_token)
    with gzip.open(tmp_path / "t.csv.gz", "rt") as file:
        spans = [tuple(map(int, line.split(","))) for line in file]
    assert [end - start for start, end in spans] == lengths_of(tok, documents)
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert all(ids[end - 1] == tok.eot_token for _, end in spans)


def test_datatrove(tok, sources, tmp_path):
    paths, documents = sources
    made = tokenmill.encode_files(tok, paths, tmp_path / "t.ds", format="datatrove")
    ids = np.fromfile(tmp_path / "t.ds", WIDTHS[dtype_of(tok)])
    assert ids.tolist() == expected_ids(tok, documents, tok.eot_token)
    ends = np.fromfile(tmp_path / "t.ds.index", "<u8")
    assert ends.tolist() == np.cumsum(lengths_of(tok, documents)).tolist()
    name, count, short = (tmp_path / "t.ds.metadata").read_text().split("\n")
    assert name == f"{tok.vocabulary.fingerprint()}|{ids.itemsize}" and int(count) == made.tokens == len(ids)
    assert short == f"{made.tokens / 1000:.1f} kT"


@pytest.mark.parametrize(
    ("tokens", "short"),
    [(0, "0.00 T"), (12, "12.0 T"), (999, "999 T"), (7_041_345, "7.04 MT"), (98_765_432_100, "98.8 GT")],
)
def test_datatrove_counts_for_people(tokens, short):
    assert formats.summary_of("name", "uint16", tokens).decode() == f"name|2\n{tokens}\n{short}"


@pytest.mark.parametrize(("n_vocab", "dtype"), [(65_499, "uint16"), (65_500, "uint32")])
def test_megatron_has_wide_ids_from_65_500_on(tmp_path, n_vocab, dtype):
    (tmp_path / "a.txt").write_text("abc")
    tok = wide_tokenizer(n_vocab)
    assert tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t", format="megatron").dtype == dtype
    assert read_megatron(tmp_path / "t") == [[*tok.encode_ordinary("abc"), n_vocab - 1]]


@pytest.mark.parametrize("format", FORMATS)
def test_a_token_before_and_one_after_each_document(sources, tmp_path, format, monkeypatch):
    monkeypatch.setattr("tokenmill.sources.blocks.BLOCK", 1000)
    paths, documents = sources
    tok = tokenizer(["<|bos|>", "<|endoftext|>"])
    before, after = (tok.vocabulary.special_tokens[name] for name in ("<|bos|>", "<|endoftext|>"))
    options = EncodeOptions(begin_of_text="<|bos|>", end_of_text="<|endoftext|>")
    tokens = tokenmill.load_tokens(
        tokenmill.encode_files(tok, paths, tmp_path / "t", format=format, options=options).path, tok=tok
    )
    wanted = [[before, *tok.encode_ordinary(document), after] for document in documents]
    assert np.array_equal(tokens.ids, np.concatenate(wanted))
    assert np.diff(tokens.offsets).tolist() == [*map(len, wanted)]
    assert [tok.decode(ids) for ids in tokens] == documents
    metadata = json.loads(tokens.path.with_name(f"{tokens.path.name}.json").read_text())
    assert (metadata["begin_of_text"], metadata["end_of_text"]) == (before, after)


def test_a_file_of_llmc_has_less_than_2_to_the_31_tokens(sources, tmp_path, monkeypatch):
    assert FORMATS["llmc"].most_tokens == (1 << 31) - 1
    monkeypatch.setitem(FORMATS, "llmc", FORMATS["llmc"]._replace(most_tokens=5000))
    with pytest.raises(UsageError, match="a file of the format llmc has at most 5,000 tokens"):
        tokenmill.encode_files(tokenizer(), sources[0], tmp_path / "t.bin", format="llmc")
    assert not (tmp_path / "t.bin").exists()


IDS = [7, 8, 9, 300, 7, 301]


def test_files_of_llmc(tmp_path):
    for dtype, (magic, version) in LLMC.items():
        header = struct.pack("<256i", magic, version, len(IDS), *[0] * 253)
        (tmp_path / "t.bin").write_bytes(header + np.array(IDS, dtype).tobytes())
        tokens = tokenmill.load_tokens(tmp_path / "t.bin")
        assert tokens.ids.tolist() == IDS and tokens.ids.dtype == dtype and tokens.offsets.tolist() == [0, len(IDS)]
        for damaged in (header + bytes(2), header[:1000], header + np.array(IDS[1:], dtype).tobytes()):
            (tmp_path / "t.bin").write_bytes(damaged)
            with pytest.raises(FormatError, match=r"t\.bin"):
                tokenmill.load_tokens(tmp_path / "t.bin")


def test_files_of_olmo(tmp_path):
    np.array(IDS, "<u4").tofile(tmp_path / "part-0.npy")
    with gzip.open(tmp_path / "part-0.csv.gz", "wt") as file:  # the Dolma toolkit adds columns
        file.write("0,4,a,b.json.gz,1\n4,6,c,b.json.gz,2\n")
    with pytest.raises(FormatError, match=r"dtype='uint16'"):
        tokenmill.load_tokens(tmp_path / "part-0.npy")
    tokens = tokenmill.load_tokens(tmp_path / "part-0.npy", dtype="uint32")
    assert [ids.tolist() for ids in tokens] == [IDS[:4], IDS[4:]]
    whole = (tmp_path / "part-0.csv.gz").read_bytes()
    for damaged in (whole[:-3], b"0,4\n", gzip.compress(b"0,4\n5,6\n"), gzip.compress(b"0\n"), gzip.compress(b"0,9\n")):
        (tmp_path / "part-0.csv.gz").write_bytes(damaged)
        with pytest.raises(FormatError, match=r"part-0"):
            tokenmill.load_tokens(tmp_path / "part-0.npy", dtype="uint32")


def test_files_of_datatrove(tmp_path):
    np.array(IDS, "<u2").tofile(tmp_path / "0_shuffled.ds")
    np.array([4, 6], "<u8").tofile(tmp_path / "0_shuffled.ds.index")
    tokens = tokenmill.load_tokens(tmp_path / "0_shuffled.ds", dtype="uint16")
    assert [ids.tolist() for ids in tokens] == [IDS[:4], IDS[4:]]
    (tmp_path / "0_shuffled.ds.metadata").write_text("gpt2|2\n6\n6.00 T")
    assert tokenmill.load_tokens(tmp_path / "0_shuffled.ds").ids.tolist() == IDS
    for damaged in (b"1234567", np.array([4, 5], "<u8").tobytes(), np.array([7, 6], "<u8").tobytes()):
        (tmp_path / "0_shuffled.ds.index").write_bytes(damaged)
        with pytest.raises(FormatError, match=r"0_shuffled\.ds"):
            tokenmill.load_tokens(tmp_path / "0_shuffled.ds")
