"""tokenmill encode and decode: there and back, and how they end when something is wrong."""

import json
import os
import subprocess
import sys
from functools import partial

import pytest

import tokenmill
from command_line import call as run
from command_line import program
from tokenmill.cli._console import speed

TEXT = "The cat sat on the mat.\n  Straße, 中文 and 😀.\r\n<|end|>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("encode") / "tok"
    tokenmill.train_from_iterator([TEXT * 20], 280, special_tokens=["<|end|>"]).save(path)
    return path


def test_there_and_back_through_pipes(folder):
    piped = partial(subprocess.run, capture_output=True, timeout=120)
    ids = piped(program("encode --tokenizer", folder), input=TEXT.encode())
    assert ids.returncode == 0, ids.stderr
    assert [int(word) for word in ids.stdout.split()] == tokenmill.load(folder).encode_ordinary(TEXT)
    assert piped(program("decode - --tokenizer", folder), input=ids.stdout).stdout == TEXT.encode()
    assert run("decode", "--tokenizer", folder, input=ids.stdout).stdout == TEXT


def test_there_and_back_through_files(folder, tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    (tmp_path / "b.txt").write_bytes(b"another")
    assert run("encode", tmp_path / "*.txt", "--tokenizer", folder, "-o", tmp_path / "ids").exit_code == 0
    assert len((tmp_path / "ids").read_text().splitlines()) == 2
    assert run("decode", tmp_path / "ids", "--tokenizer", folder, "-o", tmp_path / "back").exit_code == 0
    assert (tmp_path / "back").read_bytes() == TEXT.encode() + b"another"


def test_decode_does_not_replace_its_source(folder, tmp_path):
    (tmp_path / "ids").write_text("1 2 3\n")
    result = run("decode", tmp_path / "ids", "--tokenizer", folder, "-o", tmp_path / "ids", "--force")
    assert result.exit_code == 2 and "this command reads" in result.stderr
    assert (tmp_path / "ids").read_text() == "1 2 3\n"


def test_decode_refuses_a_type_of_ids_that_it_does_not_use(folder, tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    encode = ("encode", tmp_path / "a.txt", "--tokenizer", folder, "--no-end-of-text")
    assert run(*encode, "-o", tmp_path / "t.bin").exit_code == 0
    decode = ("decode", tmp_path / "t.bin", "--tokenizer", folder, "--dtype")
    assert run(*decode, "uint16").stdout == TEXT
    result = run(*decode, "uint32")
    assert result.exit_code == 2 and "its ids are uint16, as it records: leave out --dtype" in result.stderr
    result = run("decode", "--tokenizer", folder, "--dtype", "uint16", input=b"1 2")
    assert result.exit_code == 2 and "--dtype is not used by decoding lines of ids" in result.stderr


def test_verify_takes_a_glob_of_parts(folder, tmp_path):
    sources = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for source in sources:
        source.write_bytes(TEXT.encode())
    for part in ("1/2", "2/2"):
        encode = ("encode", *sources, "--tokenizer", folder, "--no-end-of-text", "--part", part)
        assert run(*encode, "-o", tmp_path / "t.bin").exit_code == 0
    verify = ("verify", tmp_path / "t-*.bin*", *sources, "--tokenizer", folder, "--json")
    verified = [json.loads(line) for line in run(*verify).stdout.splitlines()]
    assert [(each["documents"], each["verified"][-1]) for each in verified] == 2 * [(1, "the sources")]
    sources[1].write_bytes(b"other")
    assert "t-00002-of-00002.bin: from byte 0 on" in run(*verify).stderr
    assert run("verify", tmp_path / "none*").stderr.endswith("none*: no such file\n")


def test_special_tokens_only_where_asked_for(folder):
    plain = run("encode", "--tokenizer", folder, input=b"<|end|>").stdout.split()
    assert len(plain) > 1
    assert run("encode", "--special", "--tokenizer", folder, input=b"<|end|>").stdout.split() == ["279"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["encode"], b"text\xff", "not UTF-8: the byte 0xff at 4"),
        (["encode", "missing.txt"], b"", "missing.txt"),
        (["decode"], b"1 2\n3 x", "line 2: 'x' is not a token id"),
        (["decode"], b"\xef\xbb\xbf1\n\xff 2", "line 2: '\ufffd' is not a token id"),
        (["decode"], b"9" * 5000, "line 1: token 999"),
        (["decode"], b"280", "token 280 does not exist"),
        (["decode", "missing.txt"], b"", "cannot read missing.txt"),
    ],
)
def test_a_mistake_is_one_message(folder, arguments, stdin, message):
    result = run(*arguments, "--tokenizer", folder, input=stdin)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("name", ["t.parquet", "t --format megatron", "t.tokens --format bin"])
def test_token_files_there_and_back(folder, tmp_path, name):
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    (tmp_path / "b.jsonl").write_text('{"text": "one"}\n{"text": "two\\n"}\n')
    name, *options = name.split()
    result = run("encode", tmp_path, "--tokenizer", folder, "-o", tmp_path / name, *options, "--end-of-text", "<|end|>")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    path = tmp_path / (f"{name}.bin" if "megatron" in options else name)
    assert run("decode", path, "--tokenizer", folder).stdout == TEXT + "onetwo\n"
    lines = run("decode", path, "--tokenizer", folder, "--jsonl").stdout.splitlines()
    assert [json.loads(line)["text"] for line in lines] == [TEXT, "one", "two\n"]


def test_the_summary_as_json(folder, tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    out = ["-o", tmp_path / "t.bin", "--no-end-of-text", "--json"]
    summary = json.loads(run("encode", tmp_path / "a.txt", "--tokenizer", folder, *out).stdout)
    assert summary["tokens"] == len(tokenmill.load(folder).encode_ordinary(TEXT))
    assert summary["bytes_of_text"] == len(TEXT.encode()) and summary["dtype"] == "uint16"


def test_bytes_per_token_count_the_tokens_of_the_text(folder, tmp_path):
    """Not those after each document. With many short documents the figure would be another than that of `inspect`."""
    (tmp_path / "a.txt").write_bytes(b"low\n" * 100)
    encode = ["encode", tmp_path / "a.txt", "--tokenizer", folder, "-o", tmp_path / "t.bin", "--unit", "line", "--json"]
    summary = json.loads(run(*encode, "--end-of-text", "<|end|>").stdout)
    tokens = len(tokenmill.load(folder).encode_ordinary("low"))
    assert (summary["tokens"], summary["bytes_per_token"]) == (100 * (tokens + 1), round(3 / tokens, 4))


def test_the_summary_of_nothing_says_so(folder, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"")
    output = ["-o", tmp_path / "t.bin", "--end-of-text", "<|end|>"]
    lines = run("encode", tmp_path / "a.jsonl", "--tokenizer", folder, *output).stderr.splitlines()
    assert [*map(str.split, lines)][1:3] == [["documents", "0"], ["tokens", "0"]]


def test_numbered_files_in_a_folder(folder, tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.encode() * 100)
    options = ["--format", "llmc", "--begin-of-text", "<|end|>", "--shard-tokens", "1k", "--val-shard", "--json"]
    result = run("encode", tmp_path / "a.txt", "--tokenizer", folder, "-o", f"{tmp_path}/out/", *options)
    summary = json.loads(result.stdout)
    files = sorted((tmp_path / "out").glob("*.bin"))
    assert summary["files"] == len(files) > 2 and summary["token_file"] == str(tmp_path / "out" / "val_000000.bin")
    assert [path.name for path in files[:1] + files[-1:]] == ["train_000001.bin", "val_000000.bin"]
    assert not (tmp_path / "new").exists()


def test_mistakes_with_token_files(folder, tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    encode = ["encode", tmp_path / "a.txt", "--tokenizer", folder]
    for arguments, code, message in (
        (["-o", tmp_path / "t.bin"], 2, "--no-end-of-text"),
        (["--format", "npy"], 2, "--output with its name"),
        (["-o", f"{tmp_path}/new/"], 2, "is a folder, and lines of ids go to one file"),
        (["-o", tmp_path], 2, "or the format of token files: --format"),
        (["-o", tmp_path / "t.bin", "--val-shard"], 2, "--val-shard needs --shard-tokens"),
        (["-o", tmp_path / "t", "--shard-tokens", "9"], 2, "--shard-tokens is not used by encoding to lines of ids"),
        (
            ["-o", tmp_path / "t", "--format", "zip"],
            2,
            "known are text, bin, npy, megatron, parquet, nanogpt, llmc, olmo, datatrove",
        ),
        (["-o", tmp_path / "t.bin", "--no-end-of-text", "--end-of-text", "<|end|>"], 2, "exclude each other"),
        (["-o", tmp_path / "t.bin", "--no-end-of-text", "--unit", "page"], 2, "unit is 'page'; known are"),
    ):
        result = run(*encode, *arguments)
        assert result.exit_code == code and message in result.stderr, result.stderr
        assert "Traceback" not in result.stderr


def test_decoding_with_another_tokenizer_is_refused(folder, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"cat")
    encode = ("encode", tmp_path / "a.txt", "--tokenizer", folder, "-o", tmp_path / "t.bin", "--no-end-of-text")
    assert run(*encode).exit_code == 0
    tokenmill.train_from_iterator(["mat"], 258).save(tmp_path / "other")
    result = run("decode", tmp_path / "t.bin", "--tokenizer", tmp_path / "other")
    assert result.exit_code == 1
    assert "made with another tokenizer" in result.stderr and "--any-tokenizer" in result.stderr
    missing = run("decode", tmp_path / "none.bin", "--tokenizer", tmp_path / "other", "--any-tokenizer")
    assert missing.exit_code == 1 and "none.bin: No such file" in missing.stderr
    result = run("decode", tmp_path / "t.bin", "--tokenizer", tmp_path / "other", "--any-tokenizer")
    assert result.exit_code in (0, 1) and "Traceback" not in result.stderr


def test_a_token_file_is_written_without_numpy(folder, tmp_path):
    """With a saved tokenizer, NumPy would take longer to import than all else together."""
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    options = [
        "encode",
        str(tmp_path / "a.txt"),
        "--tokenizer",
        str(folder),
        "--force",
        "--no-end-of-text",
        "-o",
        str(tmp_path / "ids.bin"),
    ]
    code = f"""
import sys
from tokenmill.cli.main import app
app({options!r})
print([name for name in ("numpy", "pyarrow", "rich", "concurrent.futures.process") if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert b"[]\n" in ended.stdout, ended.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("verb", ["encode", "inspect", "--help"])
def test_output_that_cannot_be_written_is_an_error(folder, verb):
    """Also where it is small enough to wait for the end of the program."""
    words = {"encode": ["encode", "--tokenizer", folder, "-"], "inspect": ["inspect", folder, "--json"]}
    verb = words.get(verb, [verb])
    command = [sys.executable, "-m", "tokenmill", *verb]
    with open("/dev/full", "wb") as full:
        result = subprocess.run(command, input=b"low lower", stdout=full, stderr=subprocess.PIPE, timeout=120)
    assert result.returncode == 1
    assert b"error: cannot write the output: No space left on device" in result.stderr
    assert b"Traceback" not in result.stderr and b"Exception ignored" not in result.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_reader_of_a_pipe_that_leaves_is_not_told_that_nothing_was_written(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.txt").write_text("low lower " * 100_000)
    command = [
        sys.executable,
        "-m",
        "tokenmill",
        "encode",
        tmp_path / "a.txt",
        "--tokenizer",
        folder,
        "-o",
        tmp_path / "pipe",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        with open(tmp_path / "pipe", "rb") as reader:
            reader.read(10)
        message = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 1
    assert message.endswith("pipe: Broken pipe.\n")


def test_a_job_that_read_nothing_has_no_speed():
    assert speed(0.5, 0) == speed(0.5, None) == {"seconds": 0.5, "mb_per_second": None}
    assert speed(0.5, 1_000_000) == {"seconds": 0.5, "mb_per_second": 2.0}


def test_characters_without_a_token_are_dropped_on_request(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    tokenizers.Tokenizer(model).save(str(tmp_path / "tokenizer.json"))
    command = ["encode", "--tokenizer", tmp_path / "tokenizer.json"]
    assert "no token for b'c'" in run(*command, input=b"abcab").stderr
    dropped = run(*command, "--drop-unknown", input=b"abcab\xc3\xa9c")
    assert dropped.stdout.split() == ["2", "2"]
    assert dropped.stderr.count("dropped 3 characters without a token") == 1
    (tmp_path / "a.txt").write_text("abcab\u00e9c")
    to_file = run(
        *command, "--drop-unknown", tmp_path / "a.txt", "-o", tmp_path / "a.bin", "--no-end-of-text", "--json"
    )
    assert json.loads(to_file.stdout)["characters_dropped"] == 3
    assert "--drop-unknown" in run("decode", *command[1:], "--drop-unknown").stderr  # no such option


def test_check_drops_characters_without_a_token(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    tokenizers.Tokenizer(model).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "a.txt").write_text("abcab")
    command = ["check", tmp_path / "tokenizer.json", "--against", tmp_path / "tokenizer.json", tmp_path / "a.txt"]
    result = json.loads(run(*command, "--fuzz", "0", "--json", "--drop-unknown").stdout)
    assert result["agree"] and not result["refused"]
