"""Parts: together they have the documents of all sources, once and in order, whatever their number."""

import itertools
import json

import numpy as np
import pytest
from token_file_examples import corpus, text

import tokenmill
from tokenmill.errors import UsageError
from tokenmill.sources.documents import parts_of
from tokenmill.token_files.settings import EncodeOptions


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    paths, documents = corpus(folder)
    (folder / "f.jsonl").write_bytes(
        "".join(json.dumps({"text": text(n, 9)}) + "\n" for n in range(99)).encode("utf-16")
    )
    return [*paths, folder / "f.jsonl"], [*documents, *(text(n, 9) for n in range(99))]


@pytest.mark.parametrize("of", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("format", ["bin", "megatron", "llmc", "parquet"])
def test_parts_in_order_have_the_documents_of_the_whole(tok, sources, tmp_path, of, format):
    paths, documents = sources
    made = [
        tokenmill.encode_files(tok, paths, tmp_path / "t", format=format, options=EncodeOptions(part=f"{n}/{of}"))
        for n in range(1, of + 1)
    ]
    files = [tokenmill.load_tokens(each.path, tok=tok) for each in made]
    assert [tok.decode(ids) for tokens in files for ids in tokens] == documents
    assert sum(each.text_bytes for each in made) == sum(len(document.encode()) for document in documents)
    suffix = ".bin" if format == "megatron" else ""
    assert made[0].path.name == f"t-00001-of-{of:05}{suffix}"
    assert {tokens.metadata.sources["hash"] for tokens in files} == {files[0].metadata.sources["hash"]}
    assert [tokens.metadata.part for tokens in files] == [{"number": n, "of": of} for n in range(1, of + 1)]
    if format == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        whole = tokenmill.encode_files(tok, paths, tmp_path / "whole", format=format)
        tables = [pq.read_table(tokens.path) for tokens in files]
        assert pa.concat_tables(tables).equals(pq.read_table(whole.path))
    elif of > 1:
        sizes = [len(tokens.ids) for tokens in files]
        assert sum(map(bool, sizes)) > 1 and max(sizes) < sum(sizes)


def test_each_source_is_in_one_part_or_divided(tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"line {n}\n" for n in range(1000)))
    (tmp_path / "empty.txt").touch()
    (tmp_path / "list.json").write_text(json.dumps([{"text": "a" * 3000}]))
    names = [tmp_path / name for name in ("empty.txt", "lines.txt", "list.json")]
    read = tokenmill.ReadOptions(unit="line")
    spans = [*parts_of(names, read, range(1, 6), 5)]
    assert [source.name for part in spans for source, _, _ in part].count("list.json") == 1
    lines = [span for part in spans for source, _, span in part if source.name == "lines.txt"]
    assert lines[0][0] == 0 and lines[-1][1] == (tmp_path / "lines.txt").stat().st_size
    assert all(a[1] == b[0] for a, b in itertools.pairwise(lines)) and len(lines) > 2
    whole = [*parts_of(names, read, range(1, 6), 5, numbered=True)]
    assert sorted(source.name for part in whole for source, _, _ in part) == ["empty.txt", "lines.txt", "list.json"]


def test_wrong_parts(tok, sources, tmp_path):
    for part in ("0/4", "5/4", "1/0", "1/100001"):
        with pytest.raises(UsageError, match="parts are numbered from 1"):
            EncodeOptions(part=part)
    for part in ("3", "a/4", "1/4/5", "-1/4"):
        with pytest.raises(UsageError, match="such as 3/64"):
            EncodeOptions(part=part)
    with pytest.raises(UsageError, match="a part of standard input"):
        tokenmill.encode_files(tok, "-", tmp_path / "t.bin", options=EncodeOptions(part="1/2"))


def test_the_hashes_are_those_of_the_ids_and_of_the_lengths(tok, sources, tmp_path, monkeypatch):
    import hashlib

    from tokenmill.token_files import settings

    monkeypatch.setattr(settings.BlockHashes, "SIZE", 1000)
    for format in ("bin", "llmc", "npy", "parquet"):
        for options in (EncodeOptions(), EncodeOptions(begin_of_text="<|endoftext|>", end_of_text=False)):
            path = tokenmill.encode_files(
                tok, sources[0], tmp_path / f"{format}{options.end_of_text}", format=format, options=options
            ).path
            tokens = tokenmill.load_tokens(path)
            data = {"ids": np.asarray(tokens.ids).tobytes(), "lengths": np.diff(tokens.offsets).tobytes()}
            for name, value in data.items():
                blocks = [value[start : start + 1000] for start in range(0, len(value), 1000)]
                expected = [[len(block), hashlib.sha256(block).hexdigest()] for block in blocks]
                assert tokens.metadata.hashes[name] == expected, (format, options)


def test_a_part_in_which_all_is_damaged_is_joined_with_the_others(tok, tmp_path):
    (tmp_path / "two.jsonl").write_text('{"text": "low"}\n{bad, and a little longer\n')
    options = [EncodeOptions(part=part, read=tokenmill.ReadOptions(skip_damaged=True)) for part in ("1/2", "2/2", None)]
    skips: list = []
    made = [
        tokenmill.encode_files(tok, tmp_path / "two.jsonl", tmp_path / "t.bin", options=each, on_skip=skips.append)
        for each in options
    ]
    assert [each.documents for each in made] == [1, 0, 1] and len(skips) == 2
    joined = tokenmill.Join(files=[each.path for each in made[:2]], output=tmp_path / "joined.bin").run()
    assert joined.path.read_bytes() == made[2].path.read_bytes()
