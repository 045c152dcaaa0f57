"""tokenmill encode and decode: there and back, and how they end when something is wrong."""

import subprocess
import sys

import pytest

import tokenmill

TEXT = "The cat sat on the mat.\n  Straße, 中文 and 😀.\r\n<|end|>"


def run(*arguments, stdin=b""):
    command = [sys.executable, "-m", "tokenmill", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("encode") / "tok"
    tokenmill.train_from_iterator([TEXT * 20], 280, special_tokens=["<|end|>"]).save(path)
    return path


def test_there_and_back_through_pipes(folder):
    ids = run("encode", "--tokenizer", folder, stdin=TEXT.encode())
    assert ids.returncode == 0, ids.stderr
    assert [int(word) for word in ids.stdout.split()] == tokenmill.load(folder).encode_ordinary(TEXT)
    back = run("decode", "--tokenizer", folder, stdin=ids.stdout)
    assert back.stdout == TEXT.encode()


def test_there_and_back_through_files(folder, tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    (tmp_path / "b.txt").write_bytes(b"another")
    assert run("encode", tmp_path / "*.txt", "--tokenizer", folder, "-o", tmp_path / "ids").returncode == 0
    assert len((tmp_path / "ids").read_text().splitlines()) == 2
    assert run("decode", tmp_path / "ids", "--tokenizer", folder, "-o", tmp_path / "back").returncode == 0
    assert (tmp_path / "back").read_bytes() == TEXT.encode() + b"another"


def test_special_tokens_only_where_asked_for(folder):
    plain = run("encode", "--tokenizer", folder, stdin=b"<|end|>").stdout.split()
    assert len(plain) > 1
    assert run("encode", "--special", "--tokenizer", folder, stdin=b"<|end|>").stdout.split() == [b"279"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["encode"], b"\xff", b"byte 0 is no UTF-8"),
        (["encode", "missing.txt"], b"", b"missing.txt"),
        (["decode"], b"1 2\n3 x", b"line 2: 'x' is no token id"),
        (["decode"], b"280", b"no token 280"),
        (["decode", "missing.txt"], b"", b"cannot read missing.txt"),
    ],
)
def test_a_mistake_is_one_message(folder, arguments, stdin, message):
    result = run(*arguments, "--tokenizer", folder, stdin=stdin)
    assert result.returncode == 1
    assert message in result.stderr
    assert b"Traceback" not in result.stderr
