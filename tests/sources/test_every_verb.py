"""One set of files through every verb: all see the same documents."""

import bz2
import codecs
import collections
import gzip
import json
import lzma
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import tokenmill
from command_line import CliRunner, call
from tokenmill.cli.main import app
from tokenmill.corpus import CleanOptions, clean, read_documents
from tokenmill.counting import CountOptions, count
from tokenmill.counting.to_folder import count_to_folder
from tokenmill.errors import UsageError
from tokenmill.jobs.work import JobOptions
from tokenmill.quality.checking import document_texts
from tokenmill.quality.evaluation_text import EvaluationText
from tokenmill.sources import blocks, decompress
from tokenmill.sources import parquet as parquet_source
from tokenmill.sources.blocks import ReadOptions
from tokenmill.token_files import encoded_folder
from tokenmill.token_files.encoding import encode_files
from tokenmill.token_files.settings import EncodeOptions

WHOLE = r"[\s\S]+"  # each document is one pretoken
TEXTS = ["one two", "caf\u00e9 \u5b57", "x" * 3000, "last one"]
LINES = "\n".join(TEXTS)
OBJECTS = [{"text": text, "n": i} for i, text in enumerate(TEXTS)]
JSONL = "".join(json.dumps(value) + "\n" for value in OBJECTS)
PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard.compress}
WIKI = (
    "<mediawiki><siteinfo/>"
    + "".join(
        f"<page><title>T{i}</title><ns>0</ns><id>{i}</id><revision><text>{text}</text></revision></page>"
        for i, text in enumerate(TEXTS)
    )
    + "</mediawiki>"
)


def parquet(path):
    pq.write_table(pa.table({"other": range(len(TEXTS)), "text": TEXTS}), path, row_group_size=3)


FILES = {
    "a.jsonl": JSONL,
    "a.ndjson": JSONL.replace("\n", "\r\n"),
    "lines.json": JSONL,
    "array.json": json.dumps(OBJECTS, indent=1),
    "a.parquet": parquet,
    "a.pq": parquet,
    "mark.jsonl": codecs.BOM_UTF8 + JSONL.encode(),
    "wide.jsonl": codecs.BOM_UTF16_LE + JSONL.encode("utf-16-le"),
    "dump.xml": WIKI,
    **{f"a.jsonl{suffix}": pack(JSONL.encode()) for suffix, pack in PACK.items()},
    **{f"array.json{suffix}": pack(json.dumps(OBJECTS).encode()) for suffix, pack in PACK.items()},
    "a.jsonl.zstd": zstandard.compress(JSONL.encode()),
    "a.jsonl.gzip": gzip.compress(JSONL.encode()),
    "parts.jsonl.gz": gzip.compress(JSONL[:50].encode()) + gzip.compress(JSONL[50:].encode()),
    "parts.jsonl.zst": zstandard.compress(JSONL[:50].encode()) + zstandard.compress(JSONL[50:].encode()),
}
# Text: the documents with the unit "line", which are the whole file with the unit "file".
TEXT_FILES = {
    "a.txt": LINES.encode(),
    "a.md": LINES.encode(),
    "crlf.txt": LINES.replace("\n", "\r\n").encode() + b"\r\n",
    "mark.txt": codecs.BOM_UTF8 + LINES.encode(),
    "wide.txt": codecs.BOM_UTF16_BE + LINES.encode("utf-16-be"),
    "wide.txt.gz": gzip.compress(codecs.BOM_UTF16_LE + LINES.encode("utf-16-le")),
    **{f"a.txt{suffix}": pack(LINES.encode()) for suffix, pack in PACK.items()},
}


@pytest.fixture(scope="module")
def tok():
    return tokenmill.train_from_iterator(TEXTS * 2, 270, special_tokens=["<|endoftext|>"])


def write(path, content):
    if callable(content):
        content(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# One of each kind: whole, cut into spans, of several members or frames, with another encoding. Of the others only the names,
# or what packs them, differ.
KINDS = {
    *"a.jsonl array.json a.parquet wide.jsonl dump.xml a.jsonl.bz2 parts.jsonl.gz parts.jsonl.zst a.jsonl.xz".split()
}
KINDS |= {"a.txt", "crlf.txt", "wide.txt.gz", "a.txt.bz2"}


def seen_by_every_verb(path, tok, folder, read, on_skip=None):
    """What each verb makes of the documents: their texts, in order where the verb has one. Two verbs read all files."""
    options = {"unit": read.unit, "separator": read.separator, "field": read.field, "max_document_bytes": None}
    yield "read_documents", [d.text for d in read_documents(path, on_skip=on_skip, **options)]
    counts = count(path, split=WHOLE, options=CountOptions(read=read), on_skip=on_skip)
    counted = collections.Counter({text.decode(): n for text, n in counts.items()})
    yield "count", sorted(counted.elements()) + [""] * (counts.documents - counted.total())
    if path.name in {*FILES, *TEXT_FILES} - KINDS:
        return
    count_to_folder(path, folder / "counts", split=WHOLE, options=CountOptions(read=read), on_skip=on_skip)
    assert dict(tokenmill.WordCounts.load(folder / "counts").items()) == dict(counts.items())
    for format in ("bin", "parquet"):
        made = encode_files(
            tok, path, folder / f"t.{format}", format=format, options=EncodeOptions(read=read), on_skip=on_skip
        )
        yield (
            f"encode to {format}",
            [tok.decode(ids).removesuffix("<|endoftext|>") for ids in tokenmill.load_tokens(made.path)],
        )
    if read.unit == "line":
        kind = "wikipedia" if path.suffix == ".xml" else "text"
        plain = CleanOptions(filters=(), min_chars=0, read=read if kind == "text" else replace(read, unit="file"))
        clean(kind, path, folder / "clean", options=plain)
        yield "clean", [d.text for d in read_documents((folder / "clean").glob("shard-*"))]
    elif read.unit == "file" and on_skip is None:
        whole = tokenmill.Tokenizer(tok.vocabulary.replace(split_patterns=(WHOLE,)))
        assert dict(EvaluationText([path]).counts(whole)[0].items()) == dict(counts.items())


def assert_alike(path, tok, folder, read, expected, on_skip=None):
    for verb, texts in seen_by_every_verb(path, tok, folder, read, on_skip):
        assert texts == (sorted(expected) if verb == "count" else expected), verb


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        *((name, ("title", "body", "id")) for name in ("a.jsonl", "a.json", "a.parquet", "dictionary.parquet")),
        ("a.jsonl", ["title", "body"]),
        ("a.parquet", ["title", "body"]),
    ],
)
def test_the_texts_of_several_fields_are_one_document(tmp_path, tok, name, fields):
    rows = [("One", "the first", "a"), ("", "no title", "b"), (None, "null", "c"), ("Caf\u00e9", None, "d")]
    rows = [dict(zip(("title", "body", "id"), row, strict=True)) for row in rows]
    if name.endswith(".parquet"):
        table = pa.Table.from_pylist([*rows, dict.fromkeys(("title", "body", "id"))])
        if name.startswith("dictionary"):
            table = pa.table([column.dictionary_encode() for column in table.columns], table.column_names)
        pq.write_table(table, tmp_path / name)
    else:
        lines = [*map(json.dumps, rows)]
        (tmp_path / name).write_text(f"[{','.join(lines)}]" if name == "a.json" else "\n".join(lines))
    texts = ["\n\n".join(filter(None, (row[field] for field in fields))) for row in rows]
    assert "One\n\nthe first" in texts[0]
    assert_alike(tmp_path / name, tok, tmp_path, ReadOptions("line", field=fields), texts)
    words = [str(tmp_path / name), *(word for field in fields for word in ("--field", field))]
    made = CliRunner().invoke(app, ["count", *words, "-o", str(tmp_path / "c"), "--json"])
    assert made.exit_code == 0, made.stderr
    assert json.loads(made.stdout)["documents"] == len(texts)


@pytest.mark.parametrize(
    "command",
    [
        "train {} --vocab-size 300 -o out",
        "count {} -o out",
        "clean fineweb {} --min-chars 1 -o out",
        "encode {} --tokenizer tok -o out",
        "encode {} --tokenizer tok --no-end-of-text -o out.bin",
        "inspect tok {}",
        "compare tok --on {}",
        "prune tok {} -o out",
        "check tok --against tok {}",
    ],
)
def test_every_command_says_once_how_many_rows_of_parquet_are_null(tmp_path, tok, command):
    tok.save(tmp_path / "tok")
    pq.write_table(pa.table({"text": ["a text", None, "another", None]}), tmp_path / "a.parquet", row_group_size=1)
    words = command.format("a.parquet").split()
    for more in ([], ["--skip-damaged", *["--force"] * ("-o" in words)]):
        made = call(*words, *more, cwd=tmp_path)
        assert made.exit_code == 0, made.stderr
        assert made.stderr.count("note: a.parquet: left out 2 rows without a text (null)\n") == 1, made.stderr


@pytest.mark.parametrize("title", ['"title": 3,', '"title": ["x"],', ""])
def test_an_object_without_one_of_several_fields_is_damaged(tmp_path, tok, title):
    path = tmp_path / "a.jsonl"
    path.write_text('{"title": "One", "text": "good"}\n{' + title + ' "text": "bad"}\n{"title": null, "text": null}\n')
    skips = []
    assert_alike(
        path,
        tok,
        tmp_path,
        ReadOptions("line", field=("title", "text"), skip_damaged=True),
        ["One\n\ngood"],
        skips.append,
    )
    assert {skip.position for skip in skips} == {"line 2", "line 3"}
    assert {skip.reason.partition(";")[0] for skip in skips} == {
        f"the field 'title' is {'missing' if not title else 'a number, not text' if '3' in title else 'an array, not text'}",
        "the field 'title' is null, not text",
    }


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("encode --tokenizer T -o", "b.txt"),
        ("encode --tokenizer T -o", "b.txt.gz"),
        ("encode --tokenizer T", "b.xml"),
        ("count -o", "b.txt.gz"),
        ("train --vocab-size 260 -o", "b.xml"),
        ("clean text -o", "b.txt"),
        ("inspect T", "b.txt"),
        ("compare a=T b=T", "b.txt"),
    ],
)
def test_a_field_of_a_source_without_fields_is_refused(tmp_path, tok, words, name):
    """It is not ignored. The error comes before the work. Beside JSON lines, text is read as it is."""
    tok.save(tmp_path / "t")
    (tmp_path / "in").mkdir()
    path = write(tmp_path / "in" / name, {"b.xml": WIKI, "b.txt": LINES}.get(name) or gzip.compress(LINES.encode()))
    words = words.replace("T", str(tmp_path / "t")).split()
    if words[-1] == "-o":
        words.append(str(tmp_path / "out.bin"))
    on = ["--on"] * (words[0] == "compare")
    result = CliRunner().invoke(app, [*words, *on, str(tmp_path / "in"), "--field", "body"])
    assert result.exit_code != 0 and result.stderr.count(f"{path} has no fields") == 1, result.stderr
    assert "it is not Parquet, .jsonl, .ndjson or .json. Leave out --field." in result.stderr
    assert not [*tmp_path.glob("out*")]


@pytest.mark.parametrize("fields", [(), ("a", "a"), tuple("abcdefghi"), (1,)])
def test_fields_that_cannot_be_are_refused(fields):
    with pytest.raises(UsageError, match=r"field is .*; give one to 8 different names"):
        ReadOptions(field=fields)
    assert ReadOptions(field=["a"]) == ReadOptions(field="a")


@pytest.mark.parametrize("name", FILES)
def test_files_of_many_documents(tmp_path, tok, name):
    path = write(tmp_path / name, FILES[name])
    assert_alike(path, tok, tmp_path, ReadOptions(), TEXTS)
    (tmp_path / "lines").mkdir()
    assert_alike(path, tok, tmp_path / "lines", ReadOptions("line"), TEXTS)
    assert "\n".join(text for _, text in document_texts([path])) == LINES


def outputs(folder, paths, tok, threads):
    """The bytes of all files that the verbs write."""
    job = JobOptions(num_threads=threads)
    read = ReadOptions("line")
    count_to_folder(paths, folder / "counts", split="cl100k", options=CountOptions(read=read), job=job)
    encode_files(tok, paths, folder / "t.bin", format="bin", options=EncodeOptions(read=read), job=job)
    encode_files(tok, paths, folder / "t.parquet", format="parquet", options=EncodeOptions(read=read), job=job)
    clean("text", paths, folder / "clean", options=CleanOptions(read=read), job=job)
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize(("block", "threads"), [(1, 2), (7, 3), (100, 1)])
def test_no_output_depends_on_blocks_or_threads(tmp_path, tok, monkeypatch, block, threads):
    names = (
        "a.jsonl",
        "array.json",
        "a.parquet",
        "wide.jsonl",
        "a.jsonl.bz2",
        "a.jsonl.xz",
        "parts.jsonl.gz",
        "parts.jsonl.zst",
    )
    (tmp_path / "in").mkdir()
    paths = [write(tmp_path / "in" / name, FILES[name]) for name in names]
    paths += [write(tmp_path / "in" / name, TEXT_FILES[name]) for name in ("a.txt", "crlf.txt", "wide.txt.gz")]
    expected = outputs(tmp_path / "whole", paths, tok, 1)
    assert len(expected) > 6
    for module in (blocks, parquet_source):
        monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(encoded_folder, "JOB_BYTES", 10 * block)
    monkeypatch.setattr(decompress, "THREADS_FROM", 0)
    assert outputs(tmp_path / "blocks", paths, tok, threads) == expected


@pytest.mark.parametrize("name", TEXT_FILES)
def test_text_files(tmp_path, tok, name):
    path = write(tmp_path / name, TEXT_FILES[name])
    whole = LINES.replace("\n", "\r\n") + "\r\n" if name == "crlf.txt" else LINES
    assert_alike(path, tok, tmp_path, ReadOptions("file"), [whole])
    for unit, separator, expected in (
        ("line", "", TEXTS),
        ("blank", "", [LINES]),
        ("separator", "two", whole.split("two")),
    ):
        folder = tmp_path / unit
        folder.mkdir()
        assert_alike(path, tok, folder, ReadOptions(unit, separator), expected)
    assert "".join(text for _, text in document_texts([path])) == whole


def test_an_empty_file_is_an_empty_document_or_none(tmp_path, tok):
    for name, unit, expected in (("a.txt", "file", [""]), ("b.txt", "line", []), ("c.jsonl", "file", [])):
        path = write(tmp_path / name, b"")
        (tmp_path / unit / name).mkdir(parents=True)
        options = {"unit": unit, "max_document_bytes": None}
        assert [d.text for d in read_documents(path, **options)] == expected
        assert count(path, split=WHOLE, options=CountOptions(read=ReadOptions(unit))).documents == len(expected)
        made = encode_files(tok, path, tmp_path / unit / name / "t.bin", options=EncodeOptions(read=ReadOptions(unit)))
        assert made.documents == len(expected)


@pytest.mark.parametrize("name", ["a.jsonl.zst", "a.jsonl.gz", "a.jsonl.xz"])
def test_a_file_that_was_cut_off(tmp_path, tok, name):
    text = "".join(json.dumps({"text": f"{i} {i * 7919 % 104729}"}) + "\n" for i in range(40_000))
    packed = PACK[Path(name).suffix](text.encode())
    path = write(tmp_path / name, packed[: len(packed) * 3 // 4])
    skips = []
    expected = [d.text for d in read_documents(path, on_skip=skips.append)]
    assert len(skips) == 1 and "damaged or cut off after" in str(skips[0])
    assert 10_000 < len(expected) < 40_000
    assert_alike(path, tok, tmp_path, ReadOptions(), expected, skips.append)
    assert len({str(skip) for skip in skips}) == 1
    with pytest.raises(tokenmill.errors.InputError, match="damaged or cut off"):
        count(path, split=WHOLE)


def test_lone_surrogates(tmp_path, tok):
    path = write(tmp_path / "a.jsonl", '{"text": "a\\ud800b"}\n{"text": "\\ud83d\\ude00"}\n')
    skips = []
    assert_alike(path, tok, tmp_path, ReadOptions("line"), ["a\ufffdb", "\U0001f600"], skips.append)
    assert {"1 lone surrogate in JSON became U+FFFD" in str(skip) for skip in skips} == {True}
    assert not any(skip.left_out for skip in skips)
    with pytest.warns(UnicodeWarning, match="line 1: 1 lone surrogate"):
        assert count(path, split=WHOLE).documents == 2
    report = clean("text", path, tmp_path / "out", options=CleanOptions(min_chars=0))
    assert report.removed_by_kind == {"lone surrogate": 1}


def run(*arguments, input=b""):
    """What the command prints to stdout."""
    result = CliRunner().invoke(app, list(map(str, arguments)), input)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_standard_input(tmp_path, tok, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tok.save(tmp_path / "tok")
    write(tmp_path / "a.txt", LINES)
    outputs = {}
    for source, given in (("a.txt", b""), ("-", LINES.encode())):
        run("count", source, "--split", WHOLE, "-o", "counts", "--no-resume", "--force", input=given)
        outputs.setdefault("count", []).append(dict(tokenmill.WordCounts.load(tmp_path / "counts").items()))
        run("train", source, "--vocab-size", 260, "-o", "t", "--force", input=given)
        outputs.setdefault("train", []).append(tokenmill.load(tmp_path / "t").events)
        run("encode", source, "--tokenizer", "tok", "-o", "t.bin", "--force", input=given)
        outputs.setdefault("encode", []).append((tmp_path / "t.bin").read_bytes())
        outputs.setdefault("lines", []).append(run("encode", source, "--tokenizer", "tok", input=given))
        run("clean", "text", source, "-o", "c", "--min-chars", 0, "--force", input=given)
        outputs.setdefault("clean", []).append([d.text for d in read_documents((tmp_path / "c").glob("shard*"))])
        run("check", "tok", "--against", "tok", source, "--fuzz", 0, input=given)
        found = json.loads(run("inspect", "tok", source, "--json", input=given))
        outputs.setdefault("inspect", []).append(str(found).replace("a.txt", "-").replace("'a'", "'-'"))
    for verb, (file, stdin) in outputs.items():
        if verb != "inspect":  # words are a second pass, which a pipe does not have
            assert file == stdin, verb


def test_a_file_name_that_is_not_utf8(tmp_path, tok):
    name = os.fsdecode(b"caf\xe9.jsonl")
    write(tmp_path / name, JSONL + "no json\n")
    report = clean(
        "text",
        tmp_path / name,
        tmp_path / "out",
        options=CleanOptions(min_chars=0, read=ReadOptions(skip_damaged=True)),
    )
    assert report.documents_kept == 4
    assert report.skipped[0].source.endswith("caf\\xe9.jsonl")
    assert "caf\\\\xe9" in (tmp_path / "out.report.json").read_text(encoding="utf-8")
    made = encode_files(tok, tmp_path / name, tmp_path / "t.parquet", format="parquet", on_skip=lambda skip: None)
    assert pq.read_table(made.path)["source"][0].as_py().endswith("caf\\xe9.jsonl")


def test_names_that_are_not_utf8_for_libraries_that_take_only_utf8(tmp_path, tok, monkeypatch):
    """Arrow and rapidgzip."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    parquet(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").rename(folder / "a.parquet")
    (folder / "a.bz2").write_bytes(bz2.compress(LINES.encode()))
    monkeypatch.setattr("tokenmill.sources.decompress.THREADS_FROM", 1)
    monkeypatch.setattr("tokenmill.sources.decompress.available_cores", lambda: 2)
    monkeypatch.setattr("tokenmill.counting.threads.Counter.wants_pause", lambda counter: True)  # so that it spills
    options = CountOptions(weights={folder: 2})
    summary = count_to_folder([folder / "a.parquet", folder / "a.bz2"], folder / "c", options=options)
    assert summary.spills and summary.shares[0]["source"].endswith("caf\\xe9")
    assert tokenmill.WordCounts.load(folder / "c").mixture[0].weight == "2"
    made = encode_files(tok, folder / "a.parquet", folder / "t.parquet").path
    assert [tok.decode(ids) for ids in tokenmill.load_tokens(made)] == TEXTS


def test_parquet_without_pyarrow_is_one_message(tmp_path):
    parquet(tmp_path / "a.parquet")
    program = (
        "import sys; sys.modules['pyarrow'] = None; from tokenmill.cli.main import app; "
        "sys.exit(app(['train', 'a.parquet', '--vocab-size', '300', '-o', 'out']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(tokenmill.__file__).parents[1])}
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "pip install '.[corpus]'" in " ".join(result.stderr.split())


def test_a_file_cut_inside_a_character_is_one_error_in_every_verb(tmp_path, tok):
    """Also where the file is read in parts: the position is that in the file."""
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / "good.txt", "good text\n")
    text = ("line of text\n" * 150_000).encode()
    bad = write(folder / "bad.txt", text + "\u5b57".encode()[:2])
    message = f"bad.txt.*: not UTF-8: the byte 0xe5 at {len(text):,} \\(unexpected end of data\\)"
    verbs = {
        "read_documents": lambda on_skip: list(read_documents(folder, max_document_bytes=None, on_skip=on_skip)),
        "count": lambda on_skip: count(folder, split="cl100k", on_skip=on_skip),
        "count to a folder": lambda on_skip: count_to_folder(folder, tmp_path / "c", split="cl100k", on_skip=on_skip),
        "encode": lambda on_skip: encode_files(tok, folder, tmp_path / "t.bin", on_skip=on_skip),
    }
    loud = {
        "train": lambda: tokenmill.train(folder, 300),
        "inspect": lambda: tokenmill.inspect(tok, text=[folder]),
        "compare": lambda: tokenmill.compare([tok, tok], [folder]),
        "check": lambda: list(document_texts([folder])),
        "clean": lambda: clean("text", folder, tmp_path / "clean", options=CleanOptions()),
    }
    for verb in [*(lambda do=do: do(None) for do in verbs.values()), *loud.values()]:
        with pytest.raises(tokenmill.errors.InputError, match=message):
            verb()
    for verb, do in verbs.items():
        skips = []
        result = do(skips.append)
        assert [skip.source for skip in skips] == [str(bad)], verb
        assert (len(result) if verb == "read_documents" else result.documents) == 1, verb
    (folder / "good.txt").unlink()
    write(bad, b"good\nb\xe5d\nalso good\n")
    skips = []
    assert (
        count(folder, split=WHOLE, options=CountOptions(read=ReadOptions("line")), on_skip=skips.append).documents == 2
    )
    assert [str(skip).rpartition("/")[2] for skip in skips] == [
        "bad.txt, line 2: not UTF-8: the byte 0xe5 at 1 (invalid continuation byte)"
    ]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("bad.jsonl", JSONL + "no json\n", "line 5: not JSON"),
        ("bad.txt", b"good\n" * 50 + "\u5b57".encode()[:2], "bad.txt: not UTF-8: the byte 0xe5 at 250"),
        ("bad.txt", "no mark\n".encode("utf-16-le"), "bad.txt: looks binary: a NUL byte at offset 1; if it is text"),
    ],
)
def test_skip_damaged_in_every_command(tmp_path, tok, file, content, message, monkeypatch):
    """What cannot be read is an error with its position, or is left out and reported."""
    monkeypatch.chdir(tmp_path)
    tok.save(tmp_path / "tok")
    tok.save(tmp_path / "copy")
    write(tmp_path / file, content)
    write(tmp_path / "good.txt", "good text\n" * 50)
    for command in (
        f"train {file} good.txt --vocab-size 260 -o out",
        f"train {file} good.txt --vocab-size 300 --superwords superbpe --stage1-size 270 -o superwords",
        f"count {file} good.txt -o counts",
        f"encode {file} good.txt --tokenizer tok",
        f"clean text {file} good.txt -o clean --min-chars 1",
        f"inspect tok {file} good.txt",
        f"compare tok copy --on {file} --on good.txt",
        f"check tok --against tok {file} good.txt --fuzz 0",
        f"prune tok {file} good.txt -o pruned",
    ):
        refused = CliRunner().invoke(app, command.split())
        said = " ".join(refused.stderr.split())
        expected = 2 if command.startswith("check") else 1  # 1 says that tokenizers differ
        assert refused.exit_code == expected and message in said, (command, said)
        assert "pass --skip-damaged" in said and said.count("--skip-damaged") == 1, (command, said)
        ran = CliRunner().invoke(app, [*command.split(), "--skip-damaged"])
        assert ran.exit_code == 0 and message in " ".join(ran.stderr.split()), (command, ran.stderr)
