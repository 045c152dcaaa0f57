"""Token files: what is in them, in every format, by readers that are not tokenmill's; and how they are read back."""

import gzip
import io
import json

import numpy as np
import pytest
from token_file_examples import expected_ids, read_megatron, stream_of, text, tokenizer, wide_tokenizer

import tokenmill
from tokenmill.errors import FormatError, InputError, UsageError
from tokenmill.jobs.work import JobOptions
from tokenmill.sources import blocks, parquet
from tokenmill.sources.documents import ReadOptions
from tokenmill.token_files import encoded_folder, encoding, formats
from tokenmill.token_files.settings import FORMATS, EncodeOptions, dtype_for


def files_in(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_bin_and_npy_are_the_ids_of_all_documents_with_the_end_after_each(tok, sources, tmp_path):
    paths, documents = sources
    wanted = expected_ids(tok, documents, tok.eot_token)
    made = tokenmill.encode_files(tok, paths, tmp_path / "t.bin")
    assert (made.dtype, made.documents, made.tokens) == ("uint16", len(documents), len(wanted))
    assert made.text_bytes == sum(len(document.encode()) for document in documents)
    assert stream_of(tmp_path / "t.bin", "<u2") == wanted
    tokenmill.encode_files(tok, paths, tmp_path / "t.npy")
    array = np.load(tmp_path / "t.npy", mmap_mode="r")
    assert array.dtype == np.uint16 and array.ndim == 1 and array.tolist() == wanted
    for name in ("t.bin", "t.npy"):
        offsets = np.load(tmp_path / f"{name}.offsets.npy", mmap_mode="r")
        assert offsets.dtype == np.int64 and len(offsets) == len(documents) + 1
        assert all(wanted[end - 1] == tok.eot_token for end in offsets[1:])


def test_megatron_reads_as_described(tok, sources, tmp_path):
    paths, documents = sources
    made = tokenmill.encode_files(tok, paths, tmp_path / "data", format="megatron")
    assert made.path == tmp_path / "data.bin"
    assert read_megatron(tmp_path / "data") == [[*tok.encode_ordinary(d), tok.eot_token] for d in documents]


def test_parquet_of_something_else_names_its_columns(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": ["low"], "url": ["a"]}), tmp_path / "t.parquet")
    with pytest.raises(FormatError, match=r"no column 'ids'; the columns are text, url$"):
        tokenmill.load_tokens(tmp_path / "t.parquet")


def test_parquet_has_a_row_for_each_document(tok, sources, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths, documents = sources
    tokenmill.encode_files(tok, paths, tmp_path / "t.parquet", format="parquet")
    table = pq.read_table(tmp_path / "t.parquet")
    assert table.schema.field("ids").type.value_type == pa.uint16()
    assert table.column("ids").to_pylist() == [tok.encode_ordinary(document) for document in documents]
    assert table.column("source").to_pylist()[0] == str(paths[0])
    assert table.column("id").to_pylist()[:4] == ["a.txt", "b.txt", "c0", "c1"]


@pytest.mark.parametrize("format", FORMATS)
def test_loading_gives_the_documents_back(tok, sources, tmp_path, format):
    paths, documents = sources
    made = tokenmill.encode_files(tok, paths, tmp_path / "t.out", format=format)
    tokens = tokenmill.load_tokens(made.path, tok=tok)
    assert [tok.decode(ids) for ids in tokens] == documents
    assert len(tokens) == len(documents) and tok.decode(tokens[-1]) == documents[-1]
    assert tok.decode(tokens[300]) == documents[300]
    assert len(tokens.ids) == made.tokens == tokens.metadata.tokens == tokens.offsets[-1]
    with pytest.raises(IndexError, match="document 9999"):
        tokens[9999]


def here(do, parts, address, cores):
    """In place of a Ray cluster: the tasks in this process, the last first."""
    for part in reversed(parts):
        do(part)
        yield part


@pytest.mark.parametrize("format", FORMATS)
def test_any_number_of_threads_and_any_parts_give_the_same_bytes(tok, sources, tmp_path, monkeypatch, format):
    paths, _ = sources
    outputs = []
    for threads in (1, 2, 5):
        folder = tmp_path / str(threads)
        tokenmill.encode_files(tok, paths, folder / "t.x", format=format, job=JobOptions(num_threads=threads))
        outputs.append(files_in(folder))
    monkeypatch.setattr(encoding, "TASK_BYTES", 10_000)
    monkeypatch.setattr("tokenmill.jobs.ray.finished_tasks", here)
    tokenmill.encode_files(tok, paths, tmp_path / "parts" / "t.x", format=format, job=JobOptions("ray"))
    outputs.append(files_in(tmp_path / "parts"))
    assert outputs[0] == outputs[1] == outputs[2] == outputs[3]


@pytest.mark.parametrize("block", [1, 3, 100])
@pytest.mark.parametrize("unit", ["file", "line", "blank"])
def test_blocks_of_any_size_give_the_same_bytes(tok, sources, tmp_path, monkeypatch, block, unit):
    options = EncodeOptions(read=ReadOptions(unit))
    tokenmill.encode_files(tok, sources[0], tmp_path / "whole" / "t.parquet", format="parquet", options=options)
    monkeypatch.setattr(blocks, "BLOCK", block)
    monkeypatch.setattr(parquet, "BLOCK", block)
    monkeypatch.setattr(encoded_folder, "JOB_BYTES", 10 * block)
    tokenmill.encode_files(tok, sources[0], tmp_path / "small" / "t.parquet", format="parquet", options=options)
    assert files_in(tmp_path / "small") == files_in(tmp_path / "whole")


@pytest.mark.parametrize(("n_vocab", "dtype"), [(65_536, "uint16"), (65_537, "uint32")])
def test_ids_never_wrap(tmp_path, n_vocab, dtype):
    tok = wide_tokenizer(n_vocab)
    assert tok.n_vocab == n_vocab and tok.eot_token == n_vocab - 1 and dtype_for(n_vocab) == dtype
    text = "".join(map(chr, range(1, 128))) + "\x7f\x7f~~é漢"
    (tmp_path / "a.txt").write_bytes(text.encode())
    options = EncodeOptions("<|endoftext|>", begin_of_text=False)
    for format in FORMATS:
        if format == "nanogpt" and dtype == "uint32":
            with pytest.raises(UsageError, match=r"65,537 of them. Write 32 bits \(format='bin'\)"):
                tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / format, format=format, options=options)
            continue
        made = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / format, format=format, options=options)
        tokens = tokenmill.load_tokens(made.path, tok=tok)
        assert made.dtype == dtype_for(n_vocab, format)
        assert tokens.ids.tolist() == [*tok.encode_ordinary(text), n_vocab - 1]
        assert tok.decode(tokens[0]) == text


def test_a_long_text_is_cut_into_parts_with_the_same_ids(tok, tmp_path, monkeypatch):

    monkeypatch.setattr("tokenmill.sources.blocks.BLOCK", 1000)
    long = text(3, 20_000) + "a" * 5000 + " " * 3000 + "\n" * 2000 + text(4, 2000)
    (tmp_path / "long.txt").write_bytes(long.encode())
    tokenmill.encode_files(tok, tmp_path / "long.txt", tmp_path / "t.bin")
    assert stream_of(tmp_path / "t.bin", "<u2") == [*tok.encode_ordinary(long), tok.eot_token]


def test_units_and_fields(tok, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n")
    (tmp_path / "b.jsonl").write_text('{"body": "four", "text": "no"}\n')

    def documents(*sources, unit="file", **options):
        made = tokenmill.encode_files(
            tok,
            [tmp_path / s for s in sources],
            tmp_path / "t.bin",
            options=EncodeOptions(read=ReadOptions(unit, **options)),
            job=JobOptions(overwrite=True),
        )
        return [tok.decode(ids) for ids in tokenmill.load_tokens(made.path, tok=tok)]

    assert documents("a.txt") == ["one\ntwo\n\nthree\n"]
    assert documents("a.txt", unit="line") == ["one", "two", "three"]
    assert documents("a.txt", unit="blank") == ["one\ntwo", "three"]
    assert documents("b.jsonl", field="body") == ["four"]


def test_special_tokens_in_text_only_where_asked_for(tok, tmp_path):
    (tmp_path / "a.txt").write_text("a<|endoftext|>b")
    tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.bin", options=EncodeOptions(False))
    assert tok.eot_token not in stream_of(tmp_path / "t.bin", "<u2")
    special = EncodeOptions(False, special=True)
    tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "s.bin", options=special)
    assert stream_of(tmp_path / "s.bin", "<u2") == tok.encode("a<|endoftext|>b", allowed_special="all")


def test_without_the_end_of_text_token_the_error_names_the_ways_out(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    tok = tokenizer(["<|x|>"])
    with pytest.raises(
        UsageError, match=r"no token is known to put after .*'<\|x\|>'.*end_of_text=\.\.\..*end_of_text=False"
    ):
        tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.bin")
    with pytest.raises(UsageError, match=r"no special token '<\|y\|>' to put before .*begin_of_text=False"):
        tokenmill.encode_files(
            tok, tmp_path / "a.txt", tmp_path / "t.bin", options=EncodeOptions(begin_of_text="<|y|>")
        )
    with pytest.raises(UsageError, match=r"no special token to put after each document. Add one .*end_of_text=False"):
        tokenmill.encode_files(tokenizer([]), tmp_path / "a.txt", tmp_path / "t.bin")
    tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.bin", options=EncodeOptions("<|x|>"))
    assert stream_of(tmp_path / "t.bin", "<u2") == [97, 319]


@pytest.mark.parametrize(
    ("specials", "config", "end", "begin"),
    [
        (["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"], {}, "<|end_of_text|>", "<|begin_of_text|>"),
        (["<s>", "</s>"], {"eos_token": "</s>"}, "</s>", "<s>"),
        (["<bos>", "<eos>", "<end_of_turn>"], {"eos_token": "<end_of_turn>"}, "<eos>", "<bos>"),
        (["<|im_end|>", "<|endoftext|>"], {"eos_token": "<|im_end|>"}, "<|endoftext|>", "<|endoftext|>"),
        (["<x>", "<y>"], {"eos_token": "<x>", "bos_token": "<y>"}, "<x>", "<y>"),
    ],
)
def test_the_token_between_documents_is_that_of_the_tokenizer(tmp_path, specials, config, end, begin):
    (tmp_path / "a.txt").write_text("a")
    tok = tokenizer(specials)
    tok = tokenmill.Tokenizer(tok.vocabulary.replace(config=config))
    ids = tok.vocabulary.special_tokens
    tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.bin")
    assert stream_of(tmp_path / "t.bin", "<u2") == [97, ids[end]]
    tokens = tokenmill.load_tokens(
        tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "l.bin", format="llmc").path
    )
    assert tokens.ids.tolist() == [ids[begin], 97]


def test_no_documents_at_all(tok, tmp_path):
    (tmp_path / "a.jsonl").write_text("\n")
    for format in FORMATS:
        made = tokenmill.encode_files(tok, tmp_path / "a.jsonl", tmp_path / format, format=format)
        tokens = tokenmill.load_tokens(made.path, tok=tok)
        assert (len(tokens), len(tokens.ids), list(tokens)) == (0, 0, [])


def test_what_cannot_be_read_is_an_error_or_left_out(tok, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good")
    (tmp_path / "b.txt").write_bytes(b"bad \xff")
    (tmp_path / "c.jsonl").write_text('{"text": "good"}\n{"no": 1}\n')
    with pytest.raises(InputError, match=r"b.txt: not UTF-8: the byte 0xff at 4"):
        tokenmill.encode_files(tok, tmp_path / "*.*", tmp_path / "out" / "t.bin")
    assert not (tmp_path / "out" / "t.bin").exists()
    skips = []
    made = tokenmill.encode_files(tok, tmp_path / "*.*", tmp_path / "out" / "t.bin", on_skip=skips.append)
    assert made.documents == 2 and made.skipped == 2
    assert [skip.position for skip in skips] == ["", "line 2"]


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary", "binary"])
@pytest.mark.parametrize("texts", [["one", None, "", "four", None], [None, None], [None, "two"]])
def test_rows_without_a_text_are_left_out_and_counted(tok, tmp_path, kind, texts):
    import pyarrow as pa
    import pyarrow.parquet as pq

    type = pa.dictionary(pa.int32(), pa.string()) if kind == "dictionary" else getattr(pa, kind)()
    try:
        pq.write_table(pa.table({"text": pa.array(texts, pa.string()).cast(type)}), tmp_path / "a.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow cannot write such a column")
    with pytest.warns(UnicodeWarning, match=f"left out {texts.count(None)} rows? without a text"):
        made = tokenmill.encode_files(tok, tmp_path / "a.parquet", tmp_path / "t.parquet", format="parquet")
    rows = {str(n): text for n, text in enumerate(texts, 1) if text is not None}
    assert (made.documents, made.skipped) == (len(rows), 0)
    assert [tok.decode(ids) for ids in tokenmill.load_tokens(made.path, tok=tok)] == [*rows.values()]
    assert pq.read_table(made.path).column("id").to_pylist() == [*rows]
    read = [(document.id, document.text) for document in tokenmill.read_documents(tmp_path / "a.parquet")]
    assert read == [*rows.items()]


def test_another_tokenizer_is_refused(tok, tmp_path):
    (tmp_path / "a.txt").write_text("the lowest")
    other = tokenizer(["<|endoftext|>", "<|other|>"])
    for format in FORMATS:
        made = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / format, format=format)
        with pytest.raises(FormatError, match="made with another tokenizer"):
            tokenmill.load_tokens(made.path, tok=other)
        assert len(tokenmill.load_tokens(made.path, tok=other, any_tokenizer=True)) == 1
        assert len(tokenmill.load_tokens(made.path)) == 1


def test_damage_is_one_error(tok, tmp_path):
    (tmp_path / "a.txt").write_text(text(1, 300))
    path = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t", format="megatron").path
    index = path.with_suffix(".idx").read_bytes()
    cut = path.read_bytes()[:-2]
    path.write_bytes(cut)
    with pytest.raises(FormatError, match=r"t.bin has [\d,]+ bytes; t.bin.json says"):
        tokenmill.load_tokens(path, tok=tok)
    (tmp_path / "t.bin.json").unlink()
    with pytest.raises(FormatError, match="no metadata"):
        tokenmill.load_tokens(path, tok=tok)
    with pytest.raises(FormatError, match="its offsets do not begin at 0 and end there"):
        tokenmill.load_tokens(path)
    for damaged in (index[:20], b"X" + index[1:], index[:-1], index[:9] + b"\2" + index[10:], index[:-1] + b"\1"):
        path.with_suffix(".idx").write_bytes(damaged)
        with pytest.raises(FormatError, match=r"t\.idx"):
            tokenmill.load_tokens(path)
    path.with_suffix(".idx").unlink()
    with pytest.raises(
        FormatError,
        match=r"is not a known kind of token file, and there is no metadata .* If it contains raw ids, name their type",
    ):
        tokenmill.load_tokens(path)
    assert tokenmill.load_tokens(path, dtype="uint16").ids.tobytes() == cut


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"kind": "x"},
        {"dtype": "float32"},
        {"tokens": "7"},
        {"documents": -1},
        {"files": 3},
        {"more": 1},
    ],
)
def test_damaged_metadata(tok, tmp_path, change):
    (tmp_path / "a.txt").write_text("a")
    path = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.bin").path
    beside = tmp_path / "t.bin.json"
    beside.write_text(json.dumps(json.loads(beside.read_text()) | change))
    with pytest.raises(FormatError, match=r"t\.bin\.json"):
        tokenmill.load_tokens(path)


def test_metadata_without_a_field_and_with_an_unknown_one(tok, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    path = tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.bin").path
    beside = tmp_path / "t.bin.json"
    values = json.loads(beside.read_text())
    for field in values.keys() - {"kind", "version", "part", "shard"}:
        beside.write_text(json.dumps({name: value for name, value in values.items() if name != field}))
        with pytest.raises(FormatError, match=rf"t\.bin\.json: damaged metadata \(the field '{field}' is missing\)"):
            tokenmill.load_tokens(path)
    beside.write_text(json.dumps({**values, "more": 1}))
    with pytest.raises(FormatError, match=r"the field 'more' is unknown"):
        tokenmill.load_tokens(path)


def test_the_output_may_not_be_a_source(tok, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(UsageError, match="this command reads"):
        tokenmill.encode_files(tok, tmp_path, tmp_path / "a.txt")


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "int32", "uint32", "int64", "uint64"])
def test_arrays_of_every_width_are_decoded(tok, tmp_path, dtype):
    ids = (np.array(tok.encode_ordinary("the lowest of all")) % 120).astype(dtype)
    (tmp_path / "ids").write_bytes(ids.tobytes())
    for given in (ids, ids[::-1][::-1], np.memmap(tmp_path / "ids", dtype, "r")):
        assert tok.decode(given) == tok.decode(ids.tolist())
        assert tok.decode_bytes(given) == tok.decode_bytes(ids.tolist())


def test_offsets_that_go_back_are_refused(tok, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    path = tokenmill.encode_files(tok, tmp_path / "a.jsonl", tmp_path / "t.bin").path
    offsets = np.load(tmp_path / "t.bin.offsets.npy")
    offsets[1] = offsets[2] + 1
    np.save(tmp_path / "t.bin.offsets.npy", offsets)
    with pytest.raises(FormatError, match="ends before it starts"):
        tokenmill.load_tokens(path, tok=tok)


def test_arrays_have_the_headers_that_numpy_writes():
    for kind, n in (("<u2", 0), ("<u4", 7), ("<i8", 123_456_789_012)):
        file = io.BytesIO()
        np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": (n,)})
        assert formats.npy_header(kind, n) == file.getvalue()


def test_caches_stay_small_however_many_pretokens_there_are(tmp_path):
    tok = tokenizer()
    (tmp_path / "a.txt").write_text(" ".join(map(str, range(10**6, 10**6 + 600_000))))
    tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / "t.bin", job=JobOptions(num_threads=1))
    assert all(held <= 32 << 20 for held, *_ in tok._core.kernel.statistics())


def test_damage_in_an_index_has_a_place(tok, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    path = tokenmill.encode_files(tok, tmp_path / "a.jsonl", tmp_path / "t", format="megatron").path
    index = bytearray(path.with_suffix(".idx").read_bytes())
    index[34] ^= 64  # the length of the first sequence
    path.with_suffix(".idx").write_bytes(index)
    with pytest.raises(
        FormatError, match=r"t\.idx: sequence 1 .* ids \(byte 38\) and begins .* \(byte 50\); those before it end"
    ):
        tokenmill.load_tokens(path)
    path = tokenmill.encode_files(tok, tmp_path / "a.jsonl", tmp_path / "o", format="olmo").path
    beside = tmp_path / "o.csv.gz"
    (end,) = {int(line.split(",")[0]) for line in gzip.decompress(beside.read_bytes()).decode().splitlines()} - {0}
    for line in (f"{end + 1},9", f"{end},3"):
        beside.write_bytes(gzip.compress(f"0,{end}\n{line}\n".encode()))
        (tmp_path / "o.npy.json").unlink(missing_ok=True)
        where = "line 2 begins at id" if line.startswith(f"{end + 1}") else "there are .* ids, and its offsets"
        with pytest.raises(FormatError, match=rf"o\.csv\.gz: {where}"):
            tokenmill.load_tokens(path, dtype="uint16")
