"""A count that is killed goes on where it was, and its output is the same to the byte."""

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tokenmill
from tokenmill import WordCounts
from tokenmill.counting import CountOptions, count
from tokenmill.counting.to_folder import count_to_folder
from tokenmill.errors import InputError, OutputError, UsageError
from tokenmill.jobs.work import JobOptions

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(tokenmill.__file__).parents[1])}
WORDS = r" [^ ]*|[^ ]+"

# Counts with tiny blocks and a checkpoint after almost each of them, and slowly enough to be killed in the middle.
SLOW_COUNT = """
import sys, time
import tokenmill.sources.blocks as reading
import tokenmill.counting.threads as threads
from tokenmill.counting.to_folder import count_to_folder
from tokenmill.jobs.work import JobOptions

reading.BLOCK = 3000
original = threads.Counter.count_block
def count(self, block):
    original(self, block)
    time.sleep(float(sys.argv[3]))
threads.Counter.count_block = count
import pyarrow.parquet
print("begin", flush=True)
summary = count_to_folder(sys.argv[1], sys.argv[2], split=r" [^ ]*|[^ ]+", job=JobOptions(num_threads=2, checkpoint_every=0.01))
print(summary.resumed_bytes)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = random.Random(7)
    folder = tmp_path_factory.mktemp("corpus")
    words = [str(rng.randrange(30_000)) for _ in range(60_000)]
    text = " ".join(words)
    (folder / "a.txt").write_text(text[:150_000])
    (folder / "b.txt.gz").write_bytes(gzip.compress(text[150_000:250_000].encode()))
    lines = [json.dumps({"text": text[i : i + 700]}) for i in range(250_000, len(text), 700)]
    (folder / "c.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def expected(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("expected") / "c"
    count(corpus, split=WORDS).save(folder)
    return folder_bytes(folder)


def folder_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def start(corpus, output, pause):
    command = [sys.executable, "-c", SLOW_COUNT, str(corpus), str(output), str(pause)]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)


def test_killed_at_random_moments_and_still_the_same(tmp_path, corpus, expected):
    rng = random.Random(os.getpid())
    output = tmp_path / "c"
    checkpoint = tmp_path / ".c.unfinished" / "count-00000.0000.json"
    for round in range(3 * SWEEP):
        process = start(corpus, output, 0.03)
        assert process.stdout.readline() == "begin\n"
        while round == 0 and not checkpoint.exists():  # on any machine, something is resumed
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(rng.uniform(0.02, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if output.exists():  # it was quicker
            assert folder_bytes(output) == expected
            shutil.rmtree(output)
    process = start(corpus, output, 0)
    assert process.wait(timeout=60) == 0
    process.communicate()
    assert folder_bytes(output) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def interrupted(corpus, output, monkeypatch, after):
    """A count that fails after so many blocks, with a checkpoint after each."""
    import tokenmill.counting.threads as threads

    original, seen = threads.Counter.count_block, []

    def failing(self, block):
        if len(seen) >= after:
            raise RuntimeError("power cut")
        seen.append(block.nbytes)
        original(self, block)

    with monkeypatch.context() as patch:
        patch.setattr(threads.Counter, "count_block", failing)
        patch.setattr("tokenmill.sources.blocks.BLOCK", 3000)
        with pytest.raises(RuntimeError, match="power cut"):
            count_to_folder(corpus, output, split=WORDS, job=JobOptions(num_threads=1, checkpoint_every=0))
    return sum(seen)


@pytest.mark.parametrize("after", [1, 70, 110])  # in the text, the .gz, the JSON lines
def test_the_place_in_every_kind_of_source_is_kept(tmp_path, corpus, expected, monkeypatch, after):
    counted = interrupted(corpus, tmp_path / "c", monkeypatch, after)
    summary = count_to_folder(corpus, tmp_path / "c", split=WORDS)
    assert 0 < summary.resumed_bytes <= counted
    assert folder_bytes(tmp_path / "c") == expected
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_interrupted_after_runs_were_merged_it_resumes(tmp_path, corpus, expected, monkeypatch):
    """The last checkpoint names the runs from before they were merged."""
    import tokenmill.counting.spill as spill
    import tokenmill.counting.to_folder as count_jobs

    monkeypatch.setattr(spill.Spill, "MANY", 3)

    def failing(*arguments):
        raise RuntimeError("power cut")

    interrupted(corpus, tmp_path / "c", monkeypatch, 10)
    with monkeypatch.context() as patch:
        patch.setattr(count_jobs, "write_counts", failing)
        with pytest.raises(RuntimeError, match="power cut"):
            count_to_folder(corpus, tmp_path / "c", split=WORDS)
    assert count_to_folder(corpus, tmp_path / "c", split=WORDS).resumed_bytes > 0
    assert folder_bytes(tmp_path / "c") == expected


def test_counts_that_came_meanwhile_are_not_replaced(tmp_path, corpus, expected, monkeypatch):
    interrupted(corpus, tmp_path / "c", monkeypatch, 30)
    count(corpus / "a.txt", split=WORDS).save(tmp_path / "c")
    others = folder_bytes(tmp_path / "c")
    with pytest.raises(OutputError, match="c exists: a folder with"):
        count_to_folder(corpus, tmp_path / "c", split=WORDS)
    assert folder_bytes(tmp_path / "c") == others
    count_to_folder(corpus, tmp_path / "c", split=WORDS, job=JobOptions(overwrite=True))
    assert folder_bytes(tmp_path / "c") == expected


def test_a_finished_count_is_only_moved(tmp_path, corpus, expected, monkeypatch):
    from tokenmill.jobs import working_folder

    def failing(*arguments):
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(working_folder, "publish", failing)
        with pytest.raises(RuntimeError, match="power cut"):
            count_to_folder(corpus, tmp_path / "c", split=WORDS)
    summary = count_to_folder(corpus, tmp_path / "c", split=WORDS)
    assert summary.resumed_bytes == summary.total_bytes > 0
    assert folder_bytes(tmp_path / "c") == expected


def test_resume_can_be_refused(tmp_path, corpus, expected, monkeypatch):
    interrupted(corpus, tmp_path / "c", monkeypatch, 30)
    summary = count_to_folder(corpus, tmp_path / "c", split=WORDS, job=JobOptions(resume=False))
    assert summary.resumed_bytes == 0
    assert folder_bytes(tmp_path / "c") == expected


def test_an_unfinished_count_of_something_else_is_not_mixed_in(tmp_path, corpus, monkeypatch):
    output = tmp_path / "c"
    interrupted(corpus, output, monkeypatch, 30)
    with pytest.raises(UsageError, match=r"unfinished job with different sources.*delete .*\.c\.unfinished"):
        count_to_folder(corpus / "a.txt", output, split=WORDS)
    with pytest.raises(UsageError, match="unfinished job with different options"):
        count_to_folder(corpus, output, split=r"\S+")
    with pytest.raises(UsageError, match="unfinished job with different options"):
        count_to_folder(corpus, output, split=WORDS, options=CountOptions(min_count=2))
    (tmp_path / ".c.unfinished" / "manifest.json").write_text("{")
    with pytest.raises(UsageError, match=r"manifest\.json cannot be read"):
        count_to_folder(corpus, output, split=WORDS)


def test_a_source_that_changed_is_noticed(tmp_path, monkeypatch):
    source = tmp_path / "a.txt"
    source.write_text("one two three " * 3000)
    interrupted(source, tmp_path / "c", monkeypatch, 3)
    source.write_text("four five six " * 3000)
    with pytest.raises(UsageError, match="different sources"):
        count_to_folder(source, tmp_path / "c", split=WORDS)


def test_a_failure_before_the_first_checkpoint_leaves_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_bytes(b"\0")
    with pytest.raises(InputError):
        count_to_folder([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "c", split=WORDS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_two_counts_into_one_folder_do_not_meet(tmp_path, corpus):
    output = tmp_path / "c"
    process = start(corpus, output, 0.05)
    try:
        assert process.stdout.readline() == "begin\n"
        while not (tmp_path / ".c.unfinished" / "lock").exists():
            time.sleep(0.01)
        time.sleep(0.1)
        with pytest.raises(UsageError, match="another process is writing"):
            count_to_folder(corpus, output, split=WORDS)
    finally:
        process.kill()
        process.communicate()
    count_to_folder(corpus, output, split=WORDS)
    assert len(WordCounts.load(output)) > 0
