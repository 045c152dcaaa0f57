"""A file that cannot be read is named for what it is, not called half of a vocabulary."""

import pytest

import tokenmill
from command_line import CliRunner
from tokenmill.cli.main import app
from tokenmill.errors import FormatError


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("vocab.txt", b"[PAD]\n[UNK]\n[CLS]\nthe\n##ing\n", "a WordPiece vocabulary"),
        ("tokenizer_config.json", b'{"tokenizer_class": "X", "bos_token": "<s>"}', "is in tokenizer.json"),
        ("special_tokens_map.json", b'{"bos_token": "<s>"}', "a map of special tokens"),
        ("config.json", b'{"layers": 3, "model_type": "llama"}', "the configuration of a model"),
        (
            "a.json",
            b'{"title": "x", "n": 1, "b": [], "c": {}, "d": 2}',
            "keys 'title', 'n', 'b', 'c', ..., which is not",
        ),
        ("a.json", b'[{"text": "x"}]', "JSON, but an array"),
        ("a.json", b"{}", "an empty JSON object"),
        ("vocab.json", b'["[PAD]", "the", "##ing"]', "a list of tokens without merges or scores"),
        ("rwkv_vocab.txt", b"1 '\\x00' 1\n2 '\\x01' 1\n", "a vocabulary of RWKV, which is not BPE"),
        ("a.txt", b"Some prose, and nothing else.\n", "this is not a vocabulary"),
        ("a.md", b"## A heading\n## Another\n## A third\n## A fourth\n", "this is not a vocabulary"),
        ("a.txt", b"", "an empty file"),
        ("tokenizer.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:79e3\nsize 9\n", "git lfs pull"),
        ("tokenizer.model", b"version https://git-lfs.github.com/spec/v1\noid sha256:79e3\nsize 9\n", "git lfs pull"),
        ("tokenizer.json", b"<!doctype html>\n<html><title>Sign in</title></html>", "a web page"),
        ("tokenizer.json", b"<!DOCTYPE html><html></html>", "a web page"),
        ("a.html", b"\n <html lang='en'></html>", "a web page"),
        ("model.safetensors", b'\x10\0\0\0\0\0\0\0{"__metadata__":{}}', "the weights of a model"),
    ],
)
def test_what_the_file_is(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=f"{name}: this is ") as caught:
        tokenmill.load(tmp_path / name)
    assert message in str(caught.value) and "half of" not in str(caught.value)
    result = CliRunner().invoke(app, ["inspect", str(tmp_path / name)])
    assert result.exit_code == 1 and "Traceback" not in result.output


def test_a_vocab_json_is_still_half_of_a_vocabulary(tmp_path):
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1}')
    with pytest.raises(tokenmill.errors.InputError, match=r"half of a vocabulary. Put the other half, merges.txt"):
        tokenmill.load(tmp_path / "vocab.json")


def test_a_tokenizer_json_that_was_cut_off_is_damaged(tmp_path):
    (tmp_path / "tokenizer.json").write_text('{\n  "version": "1.0",\n  "truncation": null,\n  "added_tok')
    with pytest.raises(FormatError, match=r"tokenizer.json: line 4") as caught:
        tokenmill.load(tmp_path / "tokenizer.json")
    assert "half of" not in str(caught.value)
