"""Numbered files: which tokens are in which, their names, and what happens to the files of an earlier run."""

import itertools
import json
import random

import numpy as np
import pytest

import tokenmill
from tokenmill.errors import OutputError, UsageError
from tokenmill.jobs.work import JobOptions
from tokenmill.token_files import output
from tokenmill.token_files.settings import FORMATS, EncodeOptions


def encoded(tok, sources, path, format, force=False, **options):
    job = JobOptions(overwrite=force)
    return tokenmill.encode_files(tok, sources, path, format=format, options=EncodeOptions(**options), job=job)


def loaded(folder, suffix):
    return [tokenmill.load_tokens(path) for path in sorted(folder.glob(f"*_??????{suffix}"))]


def test_files_of_llmc_have_the_same_number_of_tokens(tok, sources, tmp_path):
    paths, documents = sources
    made = encoded(tok, paths, tmp_path / "web.bin", "llmc", shard_tokens=1000, val_shard=True)
    names = sorted(path.name for path in tmp_path.glob("*.bin"))
    assert made.files == len(names) > 10 and made.path == tmp_path / "web_val_000000.bin"
    assert names[:2] == ["web_train_000001.bin", "web_train_000002.bin"] and names[-1] == "web_val_000000.bin"
    files = sorted(loaded(tmp_path, ".bin"), key=lambda tokens: tokens.path.name[-10:])
    assert {len(tokens.ids) for tokens in files[:-1]} == {1000} and 0 < len(files[-1].ids) <= 1000
    stream = [id for document in documents for id in (tok.eot_token, *tok.encode_ordinary(document))]
    assert np.concatenate([tokens.ids for tokens in files]).tolist() == stream
    before = begun = 0
    for number, tokens in enumerate(files):
        metadata = json.loads(tokens.path.with_name(f"{tokens.path.name}.json").read_text())
        shard = {"number": number, "of": len(files), "first_document": begun, "ids_before": before}
        assert metadata["shard"] == shard
        pieces = np.diff(tokens.offsets).tolist()
        assert (pieces[0] if not before else 1) and len(pieces) == metadata["documents"]
        ends = tokens.ids[tokens.offsets[:-1][before > 0 :]]
        assert (ends == tok.eot_token).all(), "documents begin where the offsets say"
        last = sum(len(tok.encode_ordinary(document)) + 1 for document in documents)
        at = 1000 * (number + 1)
        begun = stream[: min(at, last)].count(tok.eot_token) - (at < last and stream[at] != tok.eot_token)
        starts = np.flatnonzero(np.array(stream[: min(at, last)]) == tok.eot_token)
        before = 0 if at >= last or stream[at] == tok.eot_token else at - int(starts[-1])


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "llmc"])
def test_files_of_other_formats_have_whole_documents(tok, sources, tmp_path, format):
    paths, documents = sources
    one = tokenmill.load_tokens(encoded(tok, paths, tmp_path / "one", format).path)
    encoded(tok, paths, tmp_path / "several" / "t", format, shard_tokens=1000)
    files = loaded(tmp_path / "several", FORMATS[format].suffix)
    assert [tok.decode(ids) for tokens in files for ids in tokens] == documents
    assert np.array_equal(np.concatenate([tokens.ids for tokens in files]), one.ids)
    lengths = [*map(len, files)]
    assert all(len(tokens.ids) <= 1000 or length == 1 for tokens, length in zip(files, lengths, strict=True))
    for tokens, after in itertools.pairwise(files):
        assert len(tokens.ids) + after.offsets[1] > 1000, "the next document has no room"
    if format == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = [pq.read_table(tokens.path) for tokens in files]
        assert pa.concat_tables(tables).equals(pq.read_table(one.path))


@pytest.mark.parametrize("format", ["bin", "llmc"])
def test_any_lengths(format):
    chosen = random.Random(5)
    for _ in range(300):
        lengths = [chosen.choice((0, 1, 1, 2, 5, 30)) for _ in range(chosen.randrange(12))]
        most = chosen.randrange(1, 12)
        found = list(output._shard_lengths(np.array(lengths, np.int64), most, format == "llmc"))
        assert sum(own.sum() for own, _ in found) == sum(lengths)
        joined: list[int] = []
        for own, begun in found:
            assert begun == 0 or format == "llmc"
            assert begun == 0 or joined[-1] == begun, "the ids before are those of the same document"
            joined[-1 if begun else len(joined) :] = [begun + int(own[0]), *own[1:].tolist()] if len(own) else []
        assert joined == lengths
        sizes = [int(own.sum()) for own, _ in found]
        if format == "llmc":
            assert all(size == most for size in sizes[:-1]) and sizes[-1] <= most
        else:
            assert all(size <= most or len(own) == 1 for size, (own, _) in zip(sizes, found, strict=True))


def test_a_folder_has_files_named_train_and_val(tok, sources, tmp_path):
    assert encoded(tok, sources[0], f"{tmp_path}/new/", "nanogpt").path == tmp_path / "new" / "train.bin"
    assert encoded(tok, sources[0], tmp_path, "olmo").path == tmp_path / "train.npy"
    encoded(tok, sources[0], f"{tmp_path}/llmc/", "llmc", shard_tokens=20_000, val_shard=True)
    names = {path.name for path in (tmp_path / "llmc").glob("*.bin")}
    assert names == {"val_000000.bin", "train_000001.bin"}


def test_files_of_an_earlier_run(tok, sources, tmp_path):
    first, (document, *_) = sources[0][0], sources[1]
    n = len(tok.encode_ordinary(document)) + 1
    (tmp_path / "web_1234567.bin").touch()
    (tmp_path / "website_000009.bin").touch()
    encoded(tok, sources[0], tmp_path / "web.bin", "llmc", shard_tokens=1000)
    assert len(list(tmp_path.glob("web_??????.bin"))) > 10
    with pytest.raises(OutputError, match=r"web_000000\.bin exists.*overwrite=True"):
        encoded(tok, first, tmp_path / "web.bin", "llmc", shard_tokens=n - 1, val_shard=True)
    (tmp_path / "web_999999.bin").touch()  # of another program
    encoded(tok, first, tmp_path / "web.bin", "llmc", True, shard_tokens=n - 1, val_shard=True)
    files = {
        f"web_{name}.bin{suffix}" for name in ("val_000000", "train_000001") for suffix in ("", ".json", ".offsets.npy")
    }
    assert {path.name for path in tmp_path.iterdir()} == files | {
        "web_1234567.bin",
        "website_000009.bin",
        "web_999999.bin",
    }


def test_an_output_of_another_format_leaves_no_old_index(tok, sources, tmp_path):
    for format in ("megatron", "nanogpt", "llmc"):
        encoded(tok, sources[0], tmp_path / "x.bin", format, True)
    assert {path.name for path in tmp_path.iterdir()} == {"x.bin", "x.bin.json", "x.bin.offsets.npy"}
    (tmp_path / "y.idx").touch()  # of another program
    np.array([1, 2], np.uint16).tofile(tmp_path / "y.raw")
    encoded(tok, sources[0], tmp_path / "y.bin", "nanogpt")
    tokenmill.Join(files=[tmp_path / "y.raw"], output=tmp_path / "y.bin", dtype="uint16", overwrite=True).run()
    assert {path.name for path in tmp_path.glob("y*")} == {"y.raw", "y.bin", "y.idx"}


def test_files_of_another_output_with_a_like_name_stay(tok, sources, tmp_path):
    for name in ("val", "web_val", "web_train"):
        encoded(tok, sources[0], tmp_path / f"{name}.bin", "bin", shard_tokens=5000)
    others = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("train", "web"):
        for force in (False, True):
            encoded(tok, sources[0], tmp_path / f"{name}.bin", "bin", force, shard_tokens=8000)
    assert others.items() <= {path: path.read_bytes() for path in tmp_path.iterdir()}.items()
    with pytest.raises(OutputError, match="exists"):
        encoded(tok, sources[0], tmp_path / "train.bin", "bin", shard_tokens=8000, val_shard=True)
    encoded(tok, sources[0], tmp_path / "train.bin", "bin", True, shard_tokens=8000, val_shard=True)
    assert (tmp_path / "val_000001.bin").read_bytes() == others[tmp_path / "val_000001.bin"]
    assert not (tmp_path / "train_000000.bin").exists()


def test_no_documents(tok, tmp_path):
    (tmp_path / "a.jsonl").write_text("\n")
    for format in FORMATS:
        encoded(tok, tmp_path / "a.jsonl", tmp_path / format / "t", format, shard_tokens=10)
        assert [len(tokens) for tokens in loaded(tmp_path / format, FORMATS[format].suffix)] == [0]


def test_what_does_not_go_together(tok, sources, tmp_path):
    with pytest.raises(UsageError, match="val_shard=True needs shard_tokens"):
        EncodeOptions(val_shard=True)
    with pytest.raises(UsageError, match="shard_tokens makes several files, and /dev/null is one"):
        encoded(tok, sources[0], "/dev/null", "bin", shard_tokens=10)
    with pytest.raises(UsageError, match="at most 2,147,483,647 tokens"):
        encoded(tok, sources[0], tmp_path / "t.bin", "llmc", shard_tokens=1 << 31)
