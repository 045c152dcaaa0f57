"""The figures of `tokenmill train`: measured on the text as it was counted, or left out."""

import json
import re
import subprocess

import pytest

import tokenmill
from command_line import CliRunner, program
from tokenmill.cli.main import app
from tokenmill.quality import evaluation_text

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


def test_weighted_tokens_are_those_of_the_weighted_text(mixed):
    """Counts are multiplied by the common denominator, 2; the figures are not."""
    weight = ["--weight", "text.txt=3/2"]
    made, _ = figures("text.txt", *weight, "--vocab-size", "300,330", "-o", "weighted")
    plain, _ = figures("text.txt", "--vocab-size", "300,330", "-o", "plain")
    for row, other in zip(made["sizes"], plain["sizes"], strict=True):
        assert row["tokens_of_the_text"] == other["tokens_of_the_text"] * 3 // 2
        assert row["bytes_per_token"] == other["bytes_per_token"]
    pretokens = [
        json.loads(run("count", "text.txt", *more, "-o", "c", "--force", "--json").stdout) for more in ((), weight)
    ]
    assert pretokens[1]["weighted_pretokens"] == pretokens[0]["pretokens"] * 3 // 2


@pytest.mark.parametrize("most", [1 << 24, 1500])
def test_special_tokens_are_not_text_of_superwords(most, mixed, monkeypatch):
    """Neither where the text is measured whole, nor in a sample of it."""
    monkeypatch.setattr(evaluation_text, "MOST_BYTES", most)
    line = TEXT.splitlines()[0]
    (mixed / "two.jsonl").write_text(f'{{"text": "{line}<|end|>{line}"}}\n' * 40)
    made, _ = figures("two.jsonl", "--special-token", "<|end|>", "--vocab-size", "300", *SUPERBPE, "-o", "tok")
    name = "bytes_per_token" if most > 1500 else "bytes_per_token_of_a_sample"
    assert made[name] == round(len(line) / len(tokenmill.load("tok").encode(line)), 4)


def test_word_counts_say_what_they_leave_out(mixed):
    assert run("count", "text.txt", "-o", "whole").exit_code == 0
    assert run("count", "text.txt", "--min-count", "60", "-o", "few").exit_code == 0
    assert "leave out" not in figures("whole", "--vocab-size", "300", "-o", "a")[1]
    kept = tokenmill.WordCounts.load("few").counted_bytes
    share = f"{100 - 100 * kept / len(TEXT):.3g}%"
    assert f"the word counts leave out {share} of the text" in figures("few", "--vocab-size", "300", "-o", "b")[1]


def test_the_gini_coefficient_of_target_ratios_is_that_of_equal_content(mixed):
    for name, text in {"en": "the cat sat on the mat ", "xx": "the dog saw a log in the fog "}.items():
        (mixed / name).write_text(text * 20)
    ratios = {"en": 1, "xx": 1.25}
    made, _ = figures(
        *("--parity", "--language", "en=en", "xx=xx", "--ratio", "en=1", "xx=1.25", "--vocab-size", "280", "-o", "tok")
    )
    costs = [ratios[row["language"]] * row["tokens"] / row["bytes"] for row in made["languages"]]
    assert made["gini"] == pytest.approx(abs(costs[0] - costs[1]) / (2 * sum(costs)))


@pytest.mark.parametrize(
    "options",
    [
        ["--alphabet", "characters", "--unknown-token", "<u>", "--coverage", "0.9"],
        ["--normalize", "nfkc,lowercase"],
        [],
    ],
)
def test_the_need_of_memory_includes_that_of_libraries(options, mixed):
    arguments = ["text.txt", "--vocab-size", "300", *options, "-o", "tok", "--json"]
    result = subprocess.run(program("train", *arguments), capture_output=True, text=True, timeout=60)
    announced = int(re.match(r"training will need up to (\d+) MiB", result.stderr)[1])
    assert json.loads(result.stdout)["peak_memory_mib"] <= announced
