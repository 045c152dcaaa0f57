"""tokenmill play from the command line: the export, the server, and its messages."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from functools import partial
from pathlib import Path

import pytest

from command_line import call
from tokenmill import formats
from tokenmill.split.patterns import PATTERNS
from tokenmill.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[2]
BYTES = Vocabulary(tuple(bytes([b]) for b in range(256)), (PATTERNS["gpt2"],))


run = partial(call, "play")


@pytest.fixture(scope="module")
def tiktoken_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("play") / "mine.tiktoken"
    formats.write(BYTES, path, "tiktoken")
    for beside in path.parent.iterdir():
        if beside != path:
            beside.unlink()  # what tells the split pattern
    return path


def test_export(tiktoken_file, tmp_path):
    done = run(tiktoken_file, tiktoken_file, f"own={tiktoken_file}", "--split", "gpt2", "--export", tmp_path / "site")
    assert done.exit_code == 0, done.stderr
    serve = f"python3 -m http.server 8000 --bind 127.0.0.1 --directory {tmp_path / 'site'}"
    assert serve in "".join(done.stderr.split("\n"))
    listing = json.loads((tmp_path / "site" / "catalog.json").read_text())
    assert [one["name"] for one in listing["tokenizers"]] == ["mine", "mine (2)", "own"]


def test_without_a_tokenizer_there_is_a_small_one(tmp_path):
    done = run("--export", tmp_path / "site")
    assert done.exit_code == 0, done.stderr
    listing = json.loads((tmp_path / "site" / "catalog.json").read_text())
    assert [one["name"] for one in listing["tokenizers"]] == ["starter"]
    assert (tmp_path / "site" / "packs" / "0.tmpack").stat().st_size < 40_000


def test_export_with_counts(tmp_path):
    pytest.importorskip("pyarrow")
    from tokenmill.counting import WordCounts
    from trained import train_from_counts

    counts = WordCounts.from_mapping({b"low": 5, b" lower": 2, b" newest": 6}, split_patterns=(PATTERNS["gpt2"],))
    counts.save(tmp_path / "counts")
    formats.write(train_from_counts(counts, 262), tmp_path / "tokenizer")
    done = run(tmp_path / "tokenizer", "--counts", tmp_path / "counts", "--export", tmp_path / "site")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "site" / "packs" / "0.tmpack").exists()


def test_wrong_calls_are_one_message(tiktoken_file, tmp_path):
    for arguments, code, words in (
        ((tmp_path / "no-such",), 1, "no such file"),
        ((tiktoken_file,), 2, "split pattern"),
        (("--counts", tmp_path), 2, "--counts is not used by a page without a tokenizer"),
        (("--split", "gpt2"), 2, "--split is not used by a page without a tokenizer"),
        ((tiktoken_file, "--split", r"(a)\1", "--export", tmp_path / "site"), 1, "cannot run the split pattern"),
    ):
        done = run(*arguments)
        assert done.exit_code == code, done.stderr
        assert words in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert not (tmp_path / "site").exists()


def test_the_server_starts_answers_and_ends_with_ctrl_c(tiktoken_file):
    process = subprocess.Popen(
        [sys.executable, "-m", "tokenmill", "play", str(tiktoken_file), "--split", "gpt2", "--no-browser"],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        line = process.stderr.readline()
        address = line.split()[4]
        assert address.startswith("http://127.0.0.1:")
        listing = json.loads(urllib.request.urlopen(address + "catalog.json", timeout=20).read())
        assert listing["opens"]["paths"] is False
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()


def test_a_training_is_watched_until_ctrl_c(tmp_path):
    (tmp_path / "text.txt").write_text("low lower newest widest " * 20)
    process = subprocess.Popen(
        [sys.executable, "-m", "tokenmill", "train", "text.txt", "--vocab-size", "264", "-o", "tokens", "--watch"],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""},
    )  # fmt: skip
    try:
        address = process.stderr.readline().split()[4]
        assert address.endswith("/#view=training")
        for line in process.stderr:
            if "until Ctrl-C" in line:
                break
        site = address.split("#")[0]
        state = json.loads(urllib.request.urlopen(f"{site}training?from=2", timeout=20).read())
        assert state["over"] and len(state["counts"]) == 6 and state["latest"][0]["rank"] == 0
        assert urllib.request.urlopen(site + state["tokenizer"]["pack"], timeout=20).read()[:2] == b"\x1f\x8b"
        assert json.loads(urllib.request.urlopen(f"{site}catalog.json", timeout=20).read())["live"] is True
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()


def test_the_documented_sizes_are_those_of_the_site(tmp_path):
    """The page in kB, and compressed, within a tenth."""
    from tokenmill.playground.pack import split_tables
    from tokenmill.playground.server import page_files

    documented = (ROOT / "docs" / "how-to" / "playground.md").read_text()
    said = re.search(r"page itself is about (\d+) kB \((\d+) kB compressed\)", documented)
    files = [*page_files().values(), split_tables([])[1]]
    for figure, sizes in zip(
        said.groups(), (map(len, files), (len(gzip.compress(file)) for file in files)), strict=True
    ):
        assert int(figure) == pytest.approx(sum(sizes) / 1000, rel=0.1)
