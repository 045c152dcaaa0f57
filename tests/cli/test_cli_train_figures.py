"""The figures of `tokenmill train`: measured on the text as it was counted, or left out."""

import json

import pytest

import tokenmill
from command_line import CliRunner
from tokenmill.cli.main import app

TEXT = "The cat sat on the mat. The dog sat on the log, and the cats watched.\n" * 50
SUPERBPE = ["--superwords", "superbpe", "--stage1-size", "290"]
PIECES = ["--for", "sentencepiece"]


def run(*arguments, **more):
    return CliRunner().invoke(app, [*arguments], **more)


def figures(*arguments):
    result = run("train", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout), result.stderr


@pytest.fixture
def mixed(tmp_path, monkeypatch):
    """text.txt, and two files that are not text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "nul.bin").write_bytes(b"\0 the cat sat" * 9)
    (tmp_path / "latin.txt").write_bytes("é the cat sat".encode("latin-1") * 9)
    return tmp_path


@pytest.mark.parametrize("kind", [SUPERBPE, PIECES])
def test_files_that_are_not_text_are_measured_as_they_were_counted(kind, mixed):
    alone, _ = figures("text.txt", "--vocab-size", "300,330", *kind, "-o", "alone")
    skipped, _ = figures("text.txt", "nul.bin", "--binary", "skip", "--vocab-size", "300,330", *kind, "-o", "skipped")
    for name in ("bytes", "documents", "bytes_per_token", "sizes"):
        assert skipped[name] == alone[name]
    counted, _ = figures(
        *("text.txt", "nul.bin", "latin.txt"), "--binary", "count", "--vocab-size", "400,430", *kind, "-o", "counted"
    )
    assert counted["documents"] == 3 and 0 < counted["bytes_per_token"] < alone["bytes_per_token"] + 9
    assert len(counted["sizes"]) == 2


def test_held_out_files_that_are_not_text(mixed):
    result = run("train", "text.txt", "--vocab-size", "300", "--held-out", "nul.bin", "-o", "tok")
    assert result.exit_code == 1 and "looks binary" in result.stderr
    made, _ = figures(
        "text.txt", "--vocab-size", "300", "--binary", "skip", "--held-out", "nul.bin", "text.txt", "-o", "it"
    )
    assert round(made["sizes"][0]["bytes_per_token"], 4) == made["bytes_per_token"]


@pytest.mark.parametrize("counts", ["counts", "text.ddfreq"])
def test_sizes_of_pieces_trained_on_word_counts_are_not_compared(counts, mixed):
    assert run("count", "text.txt", "-o", counts, "--split", "ddtokens").exit_code == 0
    made, notes = figures(counts, "--vocab-size", "300,330", *PIECES, "-o", "tok")
    assert "name it with --held-out" in notes and "sizes" not in made
    assert made["bytes_per_token"] is None
    assert tokenmill.load(mixed / "tok/300.model").n_vocab <= 300
    made, notes = figures(counts, "--vocab-size", "300,330", *PIECES, "-o", "tok2", "--held-out", "text.txt")
    assert "name it with --held-out" not in notes and len(made["sizes"]) == 2


def test_standard_input_is_read_once(mixed):
    made = run("train", "-", "--vocab-size", "300,330", *PIECES, "-o", "tok", input=TEXT)
    assert made.exit_code == 0 and "name it with --held-out" in made.stderr
    made = run("train", "-", "--vocab-size", "300,330", "-o", "plain", input=TEXT)
    assert made.exit_code == 0 and "300" in made.stdout
    twice = run("train", "-", "--vocab-size", "300", "--held-out", "-", "-o", "twice", input=TEXT)
    assert twice.exit_code == 2 and "can be read only once" in twice.stderr


@pytest.mark.parametrize("options", [["--refine", "0.6"], ["--min-count", "2"], []])
def test_bytes_per_token_are_those_of_the_text(options, mixed):
    made, _ = figures("text.txt", "--vocab-size", "300", *options, "-o", "tok")
    tok = tokenmill.load("tok")
    assert made["bytes_per_token"] == round(len(TEXT) / len(tok.encode(TEXT)), 4)
