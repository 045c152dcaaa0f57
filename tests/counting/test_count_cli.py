"""tokenmill count, as a person or a program would call it."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import tokenmill
from command_line import call
from tokenmill import Count, WordCounts
from tokenmill.errors import UsageError
from tokenmill.jobs.working_folder import alone

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(tokenmill.__file__).parents[1])}
WORDS = r" [^ ]*|[^ ]+"


run = partial(call, "count")


def test_counting_saves_and_reports(tmp_path):
    (tmp_path / "a.txt").write_text("low low lower")
    (tmp_path / "b.txt").write_text("low")
    result = run(tmp_path / "a.txt", str(tmp_path / "b*"), "--split", WORDS, "-o", tmp_path / "c", "--json")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert (summary["documents"], summary["bytes"], summary["distinct_pretokens"], summary["pretokens"]) == (
        2,
        16,
        3,
        4,
    )
    assert dict(WordCounts.load(tmp_path / "c").items()) == {b"low": 2, b" low": 1, b" lower": 1}
    result = run(tmp_path / "a.txt", "--split", WORDS, "-o", tmp_path / "c", "--force")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "distinct pretokens" in result.stderr
    assert len(WordCounts.load(tmp_path / "c")) == 3


def test_text_is_counted_into_a_file_at_once(tmp_path):
    name = "c.ddfreq"
    (tmp_path / "a.txt").write_text("low low lower\nlow once\n")
    result = run("a.txt", "--split", "ddtokens", "-o", name, "--min-count", "2", "--json", cwd=tmp_path)
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert (summary["documents"], summary["distinct_pretokens"], summary["pruned_pretokens"]) == (1, 2, 3)
    assert dict(WordCounts.load(tmp_path / name).items()) == {b"low": 2, b"\n": 2}
    run("a.txt", "--split", "ddtokens", "-o", "folder", cwd=tmp_path)
    merged = run("--merge", "folder", "-o", "m" + name[1:], "--min-count", "2", "--json", cwd=tmp_path)
    assert json.loads(merged.stdout)["pruned_pretokens"] == 3
    said = run("--merge", "folder", "-o", "said.ddfreq", "--min-count", "2", cwd=tmp_path).stderr
    assert "3 of 5" in said
    (tmp_path / "said.ddfreq").unlink()
    assert (tmp_path / ("m" + name[1:])).read_bytes() == (tmp_path / name).read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted(["a.txt", name, "folder", "m" + name[1:]])
    again = run("a.txt", "--split", "ddtokens", "-o", name, cwd=tmp_path)
    assert again.exit_code == 1 and f"{name} exists" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing.txt"], 1, "nothing.txt: no such file"),
        (["b.bin"], 1, "b.bin: looks binary"),
        (["a.txt", "--binary", "maybe"], 2, "--binary is 'maybe'; known are error, skip, count"),
        (["a.txt", "--num-threads", "0"], 2, "at least 1"),
        (["a.txt", "--memory-limit", "1kB"], 2, "at least 100MB"),
        (["--merge", "a.txt"], 2, "a.txt is neither a folder of word counts"),
        ([], 2, "Missing SOURCES"),
    ],
)
def test_mistakes_are_one_message(tmp_path, arguments, code, message):
    (tmp_path / "a.txt").write_text("some text")
    (tmp_path / "b.bin").write_bytes(b"\0\1")
    result = run("-o", "c", *arguments, cwd=tmp_path)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "c").exists()


def test_counts_are_merged_and_exported(tmp_path):
    (tmp_path / "a.txt").write_text("low low lower")
    (tmp_path / "b.txt").write_text("low")
    for name in "ab":
        assert run(f"{name}.txt", "--split", WORDS, "-o", name, cwd=tmp_path).exit_code == 0
    result = run("--merge", "a", "b", "-o", "sum.ddfreq", "--json", cwd=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["distinct_pretokens"] == 3
    assert dict(WordCounts.load(tmp_path / "sum.ddfreq").items()) == {b"low": 2, b" low": 1, b" lower": 1}
    assert run("--merge", "sum.ddfreq", "a", "-o", "c", cwd=tmp_path).exit_code == 0
    assert dict(WordCounts.load(tmp_path / "c").items()) == {b"low": 3, b" low": 2, b" lower": 2}


def test_the_output_is_required(tmp_path):
    (tmp_path / "a.txt").write_text("low low lower")
    result = run("a.txt", cwd=tmp_path)
    assert result.exit_code == 2
    assert "Missing --output. See tokenmill count --help." in result.stderr


def test_ctrl_c_stops_at_once_and_leaves_nothing(tmp_path):
    os.mkfifo(tmp_path / "endless.txt")  # a source that gives nothing: the threads wait
    (tmp_path / "a.txt").write_text("some text")
    command = [sys.executable, "-m", "tokenmill", "count", "a.txt", "endless.txt", "-o", "c"]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    try:
        with open(tmp_path / "endless.txt", "w") as pipe:  # returns when the other side has opened it
            pipe.write("text " * 1000)
            pipe.flush()
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 130
    finally:
        process.kill()
    assert "stopped" in process.stderr.read()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "endless.txt"]


def test_a_pipe_is_a_source(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, "-m", "tokenmill", "count", "pipe", "--split", WORDS, "-o", "c"]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    with open(tmp_path / "pipe", "w") as pipe:
        for _ in range(1000):
            pipe.write("text " * 100)
    assert process.wait(timeout=30) == 0
    assert dict(WordCounts.load(tmp_path / "c").items()) == {b"text": 1, b" text": 99_999, b" ": 1}


def test_no_room_for_the_counts_is_one_error_and_the_next_call_makes_them(tmp_path):
    """A limit on the size of a file stands for a full disk where none can be mounted."""
    (tmp_path / "a.txt").write_text(" ".join(str(i * 7919 % 10**6) for i in range(60_000)))
    whole = run("a.txt", "--split", WORDS, "-o", "whole", cwd=tmp_path)
    assert whole.exit_code == 0, whole.stderr
    command = [sys.executable, "-m", "tokenmill", "count", "a.txt", "--split", WORDS, "-o", "c"]
    limited = ["bash", "-c", 'ulimit -f 20; exec "$@"', "bash", *command]
    result = subprocess.run(limited, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "cannot write" in result.stderr and "File too large" in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "c").exists()
    assert subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, timeout=60).returncode == 0
    for path in (tmp_path / "whole").iterdir():
        assert (tmp_path / "c" / path.name).read_bytes() == path.read_bytes()
    limited[2], limited[-1] = limited[2].replace("20", "1000"), "c.ddfreq"  # enough for the folder that becomes a file
    result = subprocess.run(limited, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert "cannot write" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "c", "whole"]


def test_a_file_of_counts_is_written_by_one_process(tmp_path):
    (tmp_path / "a.txt").write_text("low low lower")
    job = Count(sources=[tmp_path / "a.txt"], output=tmp_path / "c.ddfreq")
    with alone(job.output), pytest.raises(UsageError, match=r"another process is writing .*/c\.ddfreq\."):
        job.run()
    assert os.listdir(tmp_path) == ["a.txt"]
    assert job.run().documents == 1
