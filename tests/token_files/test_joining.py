"""Token files that are joined are those that one encoding makes; files of other programs keep every byte."""

import itertools
import json
import struct
import tracemalloc

import numpy as np
import pytest
from token_file_examples import tokenizer

import tokenmill
from tokenmill.errors import FormatError, UsageError
from tokenmill.token_files import reading, settings
from tokenmill.token_files.settings import EncodeOptions

FORMATS = ["bin", "npy", "megatron", "nanogpt", "llmc", "olmo", "datatrove"]


def encode_parts(tok, paths, output, format, of=5, **options):
    return [
        tokenmill.encode_files(
            tok, paths, output, format=format, options=EncodeOptions(part=f"{n}/{of}", **options)
        ).path
        for n in range(1, of + 1)
    ]


@pytest.fixture(params=[None, 3], ids=["whole index", "3 documents at once"])
def block(request, monkeypatch):
    """How many numbers of an index are read at once."""
    if request.param:
        monkeypatch.setattr(reading, "BLOCK", request.param)


def files_of(folder):
    """The files by name, the metadata without the hashes of the ids: a joined file keeps the blocks of its parts."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in files:
        if name.endswith(".json"):
            files[name] = json.loads(files[name])
            del files[name]["hashes"]["ids"]
    return files


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("begin", [True, "<|endoftext|>"])
def test_parts_become_the_files_of_one_encoding(tok, sources, tmp_path, monkeypatch, block, format, begin):
    monkeypatch.setattr(settings.BlockHashes, "SIZE", 5000)
    monkeypatch.setattr(settings, "COPY", 3000)
    (tmp_path / "one").mkdir()
    (tmp_path / "joined").mkdir()
    suffix = settings.FORMATS[format].suffix
    whole = tokenmill.encode_files(
        tok, sources[0], tmp_path / "one" / f"t{suffix}", format=format, options=EncodeOptions(begin_of_text=begin)
    )
    parts = encode_parts(tok, sources[0], tmp_path / f"t{suffix}", format, begin_of_text=begin)
    output = tmp_path / "joined" / f"t{suffix}"
    summary = tokenmill.Join(files=parts[::-1], output=output).run()
    assert files_of(tmp_path / "joined") == files_of(tmp_path / "one")
    hashes = [tokenmill.load_tokens(path).metadata.hashes["ids"] for path in (output, *parts)]
    assert hashes[0] == [*itertools.chain(*hashes[1:])]
    assert tokenmill.verify(output, tok=tok, sources=sources[0]).documents == whole.documents
    assert (summary.documents, summary.tokens) == (whole.documents, whole.tokens)
    assert summary.text_bytes == whole.text_bytes


@pytest.mark.parametrize("format", ["llmc", "bin", "megatron"])
def test_numbered_files_become_one_and_parts_become_numbered_files(tok, sources, tmp_path, format):
    for name in ("one", "numbered", "joined", "again"):
        (tmp_path / name).mkdir()
    encode = tokenmill.encode_files
    encode(tok, sources[0], tmp_path / "one" / "t.bin", format=format)
    encode(
        tok,
        sources[0],
        tmp_path / "numbered" / "t.bin",
        format=format,
        options=EncodeOptions(shard_tokens=4000, val_shard=True),
    )
    numbered = [*(tmp_path / "numbered").glob("*.bin")]
    assert len(numbered) > 3
    joined = tokenmill.Join(files=[str(tmp_path / "numbered" / "*.bin")], output=tmp_path / "joined" / "t.bin").run()
    one, whole = files_of(tmp_path / "one"), files_of(tmp_path / "joined")
    metadata = whole.pop("t.bin.json")
    assert metadata == one.pop("t.bin.json") | {"text_bytes": None}
    assert whole == one and joined.documents == metadata["documents"]
    parts = encode_parts(tok, sources[0], tmp_path / "t.bin", format=format)
    job = tokenmill.Join(files=parts, output=tmp_path / "again" / "t.bin", shard_tokens=4000, val_shard=True)
    assert job.run().files == len(numbered)
    assert files_of(tmp_path / "again") == files_of(tmp_path / "numbered")


def test_missing_double_and_strange_parts_are_named(tok, sources, tmp_path):
    parts = encode_parts(tok, sources[0], tmp_path / "t.bin", "bin")
    join = tokenmill.Join
    output = tmp_path / "all.bin"
    with pytest.raises(UsageError, match="2 of 5 parts are missing: 2/5, 5/5"):
        join(files=[parts[0], *parts[2:4]], output=output).run()
    copy = tmp_path / "copy.bin"
    for path in tmp_path.glob(f"{parts[0].name}*"):
        (tmp_path / path.name.replace(parts[0].name, "copy.bin")).write_bytes(path.read_bytes())
    with pytest.raises(UsageError, match="contain the same part"):
        join(files=[*parts, copy], output=output).run()
    with pytest.raises(UsageError, match="contain the same part"):
        join(files=[*parts, parts[0]], output=output).run()
    others = encode_parts(tok, sources[0][:3], tmp_path / "u.bin", "bin")
    with pytest.raises(UsageError, match="not parts of one encoding: they have different sources"):
        join(files=[*parts[:4], others[4]], output=output).run()
    other = tokenizer(["<|endoftext|>", "<|x|>"])
    tokenmill.encode_files(other, sources[0], tmp_path / "o.bin")
    with pytest.raises(UsageError, match=r"o\.bin is a whole token file, and .*t-00001-of-00005\.bin is a part\."):
        join(files=[parts[0], tmp_path / "o.bin"], output=output).run()
    tokenmill.encode_files(tok, sources[0], tmp_path / "w.bin")
    with pytest.raises(UsageError, match="have different tokenizers"):
        join(files=[tmp_path / "w.bin", tmp_path / "o.bin"], output=output).run()
    beside = parts[1].with_name(f"{parts[1].name}.json")
    beside.rename(tmp_path / "away")
    for names in ([parts[0], parts[1], *parts[3:]], [*parts[:2]], [parts[1], parts[0]]):
        with pytest.raises(
            UsageError, match=r"t-00002-of-00005\.bin: its metadata \(t-00002-of-00005\.bin\.json\) is missing, and"
        ):
            join(files=names, output=output, dtype="uint16").run()
    (tmp_path / "away").rename(beside)
    tokenmill.encode_files(tok, sources[0], tmp_path / "p.parquet", format="parquet")
    with pytest.raises(UsageError, match="readers take a folder of them"):
        join(files=[tmp_path / "p.parquet"], output=tmp_path / "q.parquet").run()
    with pytest.raises(UsageError, match="name the token files"):
        join(files=[], output=output).run()
    assert not output.exists()


def test_damage_is_named_and_nothing_is_written(tok, sources, tmp_path):
    parts = encode_parts(tok, sources[0], tmp_path / "t.bin", "bin", 2)
    data = bytearray(parts[1].read_bytes())
    data[1000] ^= 1
    parts[1].write_bytes(data)
    with pytest.raises(
        FormatError, match=rf"t-00002-of-00002\.bin: the {len(data):,} bytes of ids from byte 0 on are not"
    ):
        tokenmill.Join(files=parts, output=tmp_path / "all.bin").run()
    parts[1].write_bytes(data[:-2])
    with pytest.raises(FormatError, match=r"has .* bytes; "):
        tokenmill.Join(files=parts, output=tmp_path / "all.bin").run()
    assert not [*tmp_path.glob("all*")]


def test_damage_of_a_joined_file_is_found_in_the_blocks_of_its_parts(tok, sources, tmp_path):
    parts = encode_parts(tok, sources[0], tmp_path / "t.bin", "bin", 3)
    path = tokenmill.Join(files=parts, output=tmp_path / "all.bin").run().path
    first, second = (part.stat().st_size for part in parts[:2])
    data = bytearray(path.read_bytes())
    data[first] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match=rf"all\.bin: the {second:,} bytes of ids from byte {first:,} on are not"):
        tokenmill.verify(path)


def test_files_in_any_order_without_metadata(tok, sources, tmp_path, block):
    """As Megatron's merge_datasets.py does it: ids and lengths in the order given, documents counted on. A file may come twice."""
    for name, paths in (("a", sources[0][:3]), ("b", sources[0][3:])):
        tokenmill.encode_files(tok, paths, tmp_path / name, format="megatron")
        (tmp_path / f"{name}.bin.json").unlink()
    tokenmill.Join(files=[tmp_path / f"{name}.bin" for name in "bab"], output=tmp_path / "c.bin").run()
    assert not (tmp_path / "c.bin.json").exists()
    tokenmill.encode_files(tok, [*sources[0][3:], *sources[0]], tmp_path / "d", format="megatron")
    for suffix in (".bin", ".idx"):
        assert (tmp_path / f"c{suffix}").read_bytes() == (tmp_path / f"d{suffix}").read_bytes()


def test_sequences_of_megatron_stay(tmp_path, block):
    """Documents of several sentences, as `preprocess_data.py --split-sentences` writes them."""

    def write(name, lengths, documents):
        ids = np.arange(sum(lengths), dtype=np.int32)
        ids.tofile(tmp_path / f"{name}.bin")
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1])) * 4
        head = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, 4, len(lengths), len(documents))
        body = np.array(lengths, "<i4").tobytes() + starts.astype("<i8").tobytes()
        (tmp_path / f"{name}.idx").write_bytes(head + body + np.array(documents, "<i8").tobytes())
        return ids.tobytes(), (tmp_path / f"{name}.idx").read_bytes()

    first, second, third = (
        write("a", [3, 1, 4], [0, 2, 3]),
        write("b", [5, 0, 2], [0, 0, 1, 3]),
        write("d", [1, 2], [0, 1, 2]),
    )
    _, index = write("both", [3, 1, 4, 5, 0, 2, 1, 2], [0, 2, 3, 3, 4, 6, 7, 8])
    assert tokenmill.load_tokens(tmp_path / "b.bin").offsets.tolist() == [0, 0, 5, 7]
    tokenmill.Join(files=[str(tmp_path / "[abd].*")], output=tmp_path / "c.bin").run()
    assert (tmp_path / "c.bin").read_bytes() == first[0] + second[0] + third[0]
    assert (tmp_path / "c.idx").read_bytes() == index
    with pytest.raises(UsageError, match="one sequence"):
        tokenmill.Join(files=[str(tmp_path / "[ab].*")], output=tmp_path / "e.bin", shard_tokens=4).run()


def test_a_megatron_index_that_contradicts_itself(tmp_path):
    np.arange(4, dtype=np.int32).tofile(tmp_path / "a.bin")
    lengths, starts = np.array([3, 1], "<i4").tobytes(), np.array([0, 12], "<i8").tobytes()

    def load(documents, more=b""):
        head = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, 4, 2, len(documents))
        (tmp_path / "a.idx").write_bytes(head + lengths + starts + np.array(documents, "<i8").tobytes() + more)
        return tokenmill.load_tokens(tmp_path / "a.bin").offsets.tolist()

    assert load([0, 1, 2]) == load([0, 1, 2], b"\0\0") == [0, 3, 4]  # the modes of the sequences may follow
    for documents in ([0, 2, 1, 2], [0, 1], [1, 2], []):
        with pytest.raises(FormatError, match="do not go from 0 to 2"):
            load(documents)
    with pytest.raises(FormatError, match="where 2 sequences in 3 documents take"):
        load([0, 1, 2], bytes(8))


def test_memory_does_not_grow_with_the_index(tmp_path):
    """The index of a terabyte of tokens is larger than memory: the file of offsets is mapped."""

    def peak(n):
        with open(tmp_path / "a.bin", "wb") as file:
            file.truncate(2 * n)
        np.save(tmp_path / "a.bin.offsets.npy", np.arange(n + 1))
        tracemalloc.start()
        job = tokenmill.Join(files=[tmp_path / "a.bin"], output=tmp_path / "b.bin", overwrite=True, dtype="uint16")
        assert job.run().documents == n
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak(3_000_000) < 1.2 * peak(1_000_000)


def test_a_terabyte_of_ids(tmp_path):
    """A sparse file: places beyond 32 bits are found."""
    n, length = 470, (1 << 31) - 1
    try:
        with open(tmp_path / "a.bin", "wb") as file:
            file.truncate(2 * n * length)
            file.seek(-2, 2)
            file.write(b"\x07\0")
    except OSError as error:
        pytest.skip(f"no sparse files here: {error}")
    head = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, 8, n, n + 1)
    starts = 2 * length * np.arange(n, dtype="<i8")
    index = np.full(n, length, "<i4").tobytes() + starts.tobytes() + np.arange(n + 1, dtype="<i8").tobytes()
    (tmp_path / "a.idx").write_bytes(head + index)
    tokens = tokenmill.load_tokens(tmp_path / "a.bin")
    assert (len(tokens), tokens.offsets[-1]) == (n, n * length)
    assert len(tokens[n - 1]) == length and tokens[n - 1][-2:].tolist() == [0, 7]


def test_files_without_documents(tmp_path):
    """Raw ids and llm.c's own files: the ids follow each other."""
    for name in ("a", "b"):
        np.array([1, 2, ord(name)], np.uint16).tofile(tmp_path / f"{name}.raw")
    with pytest.raises(FormatError, match="uint16"):
        tokenmill.Join(files=[tmp_path / "a.raw"], output=tmp_path / "c.bin").run()
    files = [tmp_path / "a.raw", tmp_path / "b.raw"]
    summary = tokenmill.Join(files=files, output=tmp_path / "c.bin", dtype="uint16").run()
    assert np.fromfile(tmp_path / "c.bin", np.uint16).tolist() == [1, 2, 97, 1, 2, 98]
    assert [path.name for path in sorted(tmp_path.glob("c*"))] == ["c.bin"] and summary.tokens == 6
    np.save(tmp_path / "b.raw.offsets.npy", np.array([0, 3]))
    with pytest.raises(UsageError, match=r"where the documents of .*a\.raw end, but they are known for .*b\.raw"):
        tokenmill.Join(files=files, output=tmp_path / "e.bin", dtype="uint16").run()
    (tmp_path / "b.raw.offsets.npy").unlink()
    for name in ("a", "b"):
        head = struct.pack("<3i", 20240520, 1, 3).ljust(1024, b"\0")
        (tmp_path / f"{name}.bin").write_bytes(head + (tmp_path / f"{name}.raw").read_bytes())
    tokenmill.Join(files=[tmp_path / "a.bin", tmp_path / "b.bin"], output=tmp_path / "d.bin").run()
    data = (tmp_path / "d.bin").read_bytes()
    assert struct.unpack_from("<3i", data) == (20240520, 1, 6) and len(data) == 1024 + 12


@pytest.mark.parametrize("header", [b"", struct.pack("<3i", 20240520, 1, 1000).ljust(1024, b"\0")])
def test_files_without_documents_are_cut_anywhere(tmp_path, header):
    """An index would invent documents."""
    ids = np.arange(2000, dtype=np.uint16)
    (tmp_path / "b.bin").write_bytes(header + ids[1000:].tobytes())
    (tmp_path / "a.bin").write_bytes(header + ids[:1000].tobytes())
    made = tokenmill.Join(
        files=[tmp_path / "a.bin", tmp_path / "b.bin"],
        output=tmp_path / "c.bin",
        dtype=None if header else "uint16",
        shard_tokens=300,
    ).run()
    assert sorted(path.name for path in tmp_path.glob("c*")) == [f"c_{number:06}.bin" for number in range(7)]
    parts = [np.fromfile(path, np.uint16, offset=len(header)) for path in sorted(tmp_path.glob("c*"))]
    assert np.array_equal(np.concatenate(parts), ids) and [len(part) for part in parts] == [300] * 6 + [200]
    assert (made.files, made.tokens, made.documents) == (7, 2000, 0)


@pytest.mark.parametrize("format", FORMATS)
def test_a_glob_may_find_the_files_beside(tok, sources, tmp_path, format):
    for name in ("a", "a.b"):
        tokenmill.encode_files(tok, sources[0], tmp_path / f"{name}{settings.FORMATS[format].suffix}", format=format)
    summary = tokenmill.Join(files=[str(tmp_path / "a*")], output=tmp_path / "all", overwrite=True).run()
    assert summary.documents == 2 * len(sources[1])


def test_an_output_is_not_overwritten(tok, sources, tmp_path):
    path = tokenmill.encode_files(tok, sources[0], tmp_path / "a.bin").path
    before = path.read_bytes()
    for output in (path, tmp_path / "a.bin"):
        with pytest.raises(tokenmill.errors.TokenmillError):
            tokenmill.Join(files=[path], output=output, overwrite=True).run()
    (tmp_path / "b.bin").write_bytes(b"mine")
    with pytest.raises(tokenmill.errors.TokenmillError, match="exists"):
        tokenmill.Join(files=[path], output=tmp_path / "b.bin").run()
    tokenmill.Join(files=[path], output=tmp_path / "b.bin", overwrite=True).run()
    assert (tmp_path / "b.bin").read_bytes() == before


@pytest.mark.parametrize("name", [".", "/"])
def test_a_folder_is_not_a_token_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match="is a folder"):
        tokenmill.Join(files=[name], output="x.bin").run()


def test_an_unfinished_job_of_encode_is_named_without_an_option_that_join_lacks(tok, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("low lower")
    made = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "a.bin").path
    with monkeypatch.context() as patch:
        patch.setattr("tokenmill.token_files.encoding.publish_files", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "b.bin")
    with pytest.raises(UsageError, match=r"To start again, delete .*\.b\.bin\.unfinished\.$"):
        tokenmill.Join(files=[made], output=tmp_path / "b.bin").run()


def test_one_file_is_a_list_of_one(tok, tmp_path):
    (tmp_path / "a.txt").write_text("low lower")
    made = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "a.bin").path
    for files in (made, str(made), iter([made])):
        tokenmill.Join(files=files, output=tmp_path / "joined.bin", overwrite=True).run()
        assert (tmp_path / "joined.bin").read_bytes() == made.read_bytes()
    for wrong in (5, [5]):
        with pytest.raises(UsageError, match=r"files is \[?5\]?, of the type (int|list); it must be a list of texts"):
            tokenmill.Join(files=wrong, output="out")
