"""tokenmill convert and tokenmill check, as a person or a program would call them."""

import base64
import gzip
import io
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import tokenmill
from command_line import CliRunner
from tokenmill import Tokenizer, Vocabulary
from tokenmill.cli.main import app
from tokenmill.errors import FormatError
from tokenmill.formats.libraries import LibraryEncoder
from tokenmill.split.patterns import PATTERNS

TEXT = "low lower lowest newest widest the other thing \u00e9t\u00e9\n" * 30


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a corpus, a trained tokenizer and a Picky one."""
    place = tmp_path_factory.mktemp("convert")
    (place / "corpus.txt").write_text(TEXT)
    trained = tokenmill.train_from_iterator(
        [TEXT], vocab_size=290, split="gpt2", special_tokens=["<|endoftext|>", "<|user|>"]
    )
    trained.save(place / "trained")
    Tokenizer(picky()).save(place / "picky")
    return place


def picky():
    """ "low" is made of "lo" and "w"; then "lo" is removed, so "lo" alone is two tokens: only events can say so."""
    tokens = (*(bytes([byte]) for byte in range(256)), b"low", b" low", b"lo")
    events = [(108, 111, 258), (258, 119, 256), (32, 256, 257), (258, -1, -1)]
    return Vocabulary(tokens, (PATTERNS["gpt2"],), "events", np.array(events, np.int32), whole_pretokens=False)


@pytest.mark.parametrize("to", ["huggingface", "tiktoken", "merges", "ddtok"])
def test_convert_ends_with_a_certificate(folder, to, tmp_path):
    result = run("convert", folder / "trained", tmp_path / "out", "--to", to, "--sample", folder / "corpus.txt")
    assert result.exit_code == 0, result.stderr
    assert "read by tokenmill: the same ids on" in result.stderr and "proved: " in result.stderr
    library = {"huggingface": "read by tokenizers ", "tiktoken": "read by tiktoken "}
    assert library.get(to, "read by tokenmill") in result.stderr
    if to != "huggingface":
        assert "note: the split pattern is not in the file" in result.stderr
    again = run("check", folder / "trained", "--against", tmp_path / "out", folder / "corpus.txt")
    assert again.exit_code == 0 and "no difference" in again.stderr


def test_convert_to_a_device_is_refused_since_nothing_can_be_read_back(folder):
    result = run("convert", folder / "trained", "/dev/null", "--to", "tiktoken")
    assert result.exit_code == 2 and "/dev/null cannot be read back" in result.stderr


def test_a_sample_that_does_not_exist_is_an_error_before_anything_is_written(folder, tmp_path):
    result = run("convert", folder / "trained", tmp_path / "out", "--to", "merges", "--sample", tmp_path / "none.txt")
    assert result.exit_code == 1 and "none.txt: no such file" in result.stderr
    assert not (tmp_path / "out").exists()


def test_the_certificate_as_json(folder, tmp_path):
    result = run("convert", folder / "trained", tmp_path / "out", "--to", "huggingface", "--json")
    found = json.loads(result.stdout)
    assert found["difference"] is None and found["notes"] == [] and found["format"] == "huggingface"
    assert found["readers"]["tokenmill"]["proof"] and found["readers"]["tokenmill"]["texts"] > 5000
    assert any(name.startswith("tokenizers ") for name in found["readers"])


def test_a_file_without_pattern_and_special_tokens(folder, tmp_path):
    run("convert", folder / "trained", tmp_path / "it.tiktoken", "--to", "tiktoken")
    (tmp_path / "it.tiktoken.json").unlink()
    result = run("convert", tmp_path / "it.tiktoken", tmp_path / "out", "--to", "huggingface")
    assert result.exit_code == 2 and "--split cl100k" in result.stderr
    ids = tokenmill.load(folder / "trained").vocabulary.special_tokens
    special = [word for text, id in ids.items() for word in ("--special-token", f"{text}={id}")]
    result = run(
        "convert", tmp_path / "it.tiktoken", tmp_path / "out", "--to", "huggingface", "--split", "gpt2", *special
    )
    assert result.exit_code == 0, result.stderr
    assert run("check", folder / "trained", "--against", tmp_path / "out").exit_code == 0
    result = run("convert", folder / "trained", tmp_path / "x", "--to", "huggingface", "--special-token", "<|a|>")
    assert result.exit_code == 2 and "expected TEXT=ID" in result.stderr


def test_what_would_change_ids_is_refused(folder, tmp_path):
    result = run("convert", folder / "picky", tmp_path / "out", "--to", "tiktoken")
    assert result.exit_code == 1 and "--lossy" in result.stderr
    assert not (tmp_path / "out").exists()
    result = run("convert", folder / "trained", tmp_path / "out", "--to", "onnx")
    assert result.exit_code == 2 and "--to is 'onnx'; known are huggingface, tiktoken" in result.stderr


@pytest.mark.parametrize("to", ["huggingface", "tiktoken"])
def test_an_output_that_fails_the_comparison_is_removed_unless_it_replaced_one(folder, to, tmp_path, monkeypatch):
    """Its library does not open it, or returns other ids."""
    out = tmp_path / "out"

    def fails(path, *_, **__):
        raise FormatError(f"{path}: the library cannot read this file")

    for encoder in (fails, lambda *_, **__: LibraryEncoder("it 1", lambda text: [1, 2, 3])):
        monkeypatch.setattr("tokenmill.formats.encode_with_library", encoder)
        assert run("convert", folder / "trained", out, "--to", to).exit_code == 1
        assert [*tmp_path.iterdir()] == []
    out.mkdir() if to == "huggingface" else out.touch()
    (out / "model.bin" if to == "huggingface" else tmp_path / "model.bin").touch()
    assert run("convert", folder / "trained", out, "--to", to, "--force").exit_code == 1
    left = {path.name for path in (*tmp_path.iterdir(), *(out.iterdir() if out.is_dir() else ()))}
    assert left == {"out", "model.bin"}


def test_an_export_without_events_tells_what_it_costs(folder, tmp_path):
    result = run(
        "convert",
        folder / "picky",
        tmp_path / "out",
        "--to",
        "tiktoken",
        "--lossy",
        "--json",
        "--sample",
        folder / "corpus.txt",
    )
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)["without_events"]
    same = {"longest_differing": 0, "longest_tokens": 30 * 45}
    assert found == {"pretokens": 300, "differing": 60, "tokens": 30 * 45, "other_tokens": 30 * 51, **same}
    result = run("convert", folder / "picky", tmp_path / "longest", "--to", "longest-match", "--lossy")
    assert result.exit_code == 0 and (tmp_path / "longest/tokenizer.json").is_file(), result.stderr
    result = run(
        "convert", folder / "picky", tmp_path / "folder", "--to", "huggingface", "--sample", folder / "corpus.txt"
    )
    assert (
        result.exit_code == 0
        and "without events, merged by rank: " in result.stderr
        and "read by tokenmill: the same ids" in result.stderr
    )
    result = run("convert", folder / "picky", tmp_path / "folder", "--to", "huggingface", "--force")
    assert "pass --sample SRC to measure" in result.stderr and "--to longest-match" in result.stderr


def test_check_shows_the_shortest_difference_and_exits_1(folder):
    result = run("check", folder / "trained", "--against", folder / "picky", folder / "corpus.txt")
    assert result.exit_code == 1
    assert "they differ (" in result.stderr and "corpus.txt:1" in result.stderr
    result = run("check", folder / "trained", "--against", folder / "picky", folder / "corpus.txt", "--json")
    found = json.loads(result.stdout)
    assert found["agree"] is False and found["difference"]["ids"] != found["difference"]["other_ids"]
    assert bytes.fromhex(found["difference"]["bytes"]).decode() == found["difference"]["text"]


def test_check_by_the_library_of_the_file(folder):
    assert run("check", folder / "trained", "--against", folder / "trained", "--library").exit_code == 0
    result = run("check", folder / "trained", "--against", "cl100k_nonesuch")
    assert result.exit_code == 2 and "published encodings" in result.stderr  # 1 is for a difference


def test_check_by_sentencepiece_and_by_tiktoken(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the low lower lowest, the newest"] * 9), model_writer=model, model_type="bpe",
        vocab_size=300, byte_fallback=True, hard_vocab_limit=False, minloglevel=2, normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    )  # fmt: skip
    (tmp_path / "tokenizer.model").write_bytes(model.getvalue())
    ranks = " ".join(base64.b64encode(bytes([byte])).decode() for byte in range(256))
    file = {"pat_str": r"\S+|\s+", "special_tokens": {"<|e|>": 256}, "bpe_ranks": f"! 0 {ranks}"}
    (tmp_path / "ranks.json").write_text(json.dumps(file))
    for path in (tmp_path / "tokenizer.model", tmp_path / "ranks.json"):
        result = run("check", path, "--against", path, "--library", "--fuzz", 300)
        assert result.exit_code == 0 and "no difference found" in result.stderr


def test_check_of_gguf_by_llama_cpp(tmp_path, monkeypatch):
    """A module of its name in its place: it opens the file itself and takes UTF-8 bytes."""
    path = tmp_path / "it.gguf"
    tokens = *(bytes([i]) for i in range(256)), b"Zq"
    Tokenizer(Vocabulary(tokens, ("gpt2",), "merges", [(90, 113, 256)])).save(path, format="gguf")
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    assert "pip install llama-cpp-python" in run("check", path, "--against", path, "--library").stderr

    class Llama:
        def __init__(self, model_path, vocab_only, verbose):
            assert (model_path, vocab_only, verbose) == (str(path), True, False)

        def tokenize(self, text, add_bos, special):
            return list(text) if b"Z" not in text else []

    monkeypatch.setitem(sys.modules, "llama_cpp", SimpleNamespace(Llama=Llama))
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1")
    result = run("check", path, "--against", path, "--library", "--fuzz", 20)
    assert result.exit_code == 1 and "'Z'" in result.stderr
    (tmp_path / "it.gguf.gz").write_bytes(gzip.compress(path.read_bytes()))
    packed = tmp_path / "it.gguf.gz"
    assert "Decompress it" in run("check", packed, "--against", packed, "--library").stderr
