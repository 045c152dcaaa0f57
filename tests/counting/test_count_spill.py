"""Counting in bounded memory: the same bytes whether the tables went to disk or not; pruning; full disks."""

import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tokenmill.counting.options as count_options
import tokenmill.counting.threads as threads
import tokenmill.sources.blocks as reading
from tokenmill import WordCounts
from tokenmill.counting import CountOptions, count, count_iterator
from tokenmill.counting.rows import ArrayRows, concatenate, merge_partitions, merge_rows
from tokenmill.counting.spill import Spill, write_run
from tokenmill.counting.to_folder import count_to_folder
from tokenmill.errors import OutputError, UsageError
from tokenmill.jobs.work import JobOptions

WORDS = r" [^ ]*|[^ ]+"


@pytest.fixture
def tiny(monkeypatch):
    """Limits below the least, many threads all the same, small blocks, and tables of 1024 slots where the limit is 1."""
    monkeypatch.setattr(count_options, "LEAST_MEMORY", 1)
    monkeypatch.setattr(threads, "PER_THREAD", 1)
    monkeypatch.setattr(reading, "BLOCK", 2000)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = random.Random(5)
    folder = tmp_path_factory.mktemp("corpus")
    for i in range(5):
        words = (str(int(rng.paretovariate(0.3)) % 10**7) * rng.choice([1, 1, 1, 3]) for _ in range(6_000))
        (folder / f"{i}.txt").write_text(" ".join(words))
    (folder / "long.txt").write_text(" ".join("x" * n for n in range(500, 2500, 17)))
    return folder


def folder_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def no_thread_left():
    return not [t for t in threading.enumerate() if t.name.startswith("tokenmill")]


@pytest.mark.parametrize("num_threads", [1, 3])
def test_the_same_bytes_spilled_or_not(tmp_path, corpus, tiny, num_threads):
    whole = count(corpus, split=WORDS, memory_limit="1GB")
    whole.save(tmp_path / "whole")
    summary = count_to_folder(
        corpus,
        tmp_path / "spilled",
        split=WORDS,
        options=CountOptions(memory_limit=1),
        job=JobOptions(num_threads=num_threads),
    )
    assert summary.spills >= 10
    assert folder_bytes(tmp_path / "spilled") == folder_bytes(tmp_path / "whole")
    assert (summary.documents, summary.total_bytes) == (whole.documents, whole.total_bytes)
    assert (summary.distinct, summary.pretokens) == (len(whole), int(whole.counts.sum()))
    assert summary.resumed_bytes == 0
    again = count(corpus, split=WORDS, num_threads=num_threads, memory_limit=1)
    assert list(again.items()) == list(whole.items())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spilled", "whole"]
    assert no_thread_left()


def test_many_runs_are_merged_in_turns(tmp_path, corpus, tiny, monkeypatch):
    monkeypatch.setattr(Spill, "MANY", 3)
    count(corpus, split=WORDS, memory_limit="1GB").save(tmp_path / "whole")
    summary = count_to_folder(corpus, tmp_path / "spilled", split=WORDS, options=CountOptions(memory_limit=1))
    assert summary.spills > 12
    assert folder_bytes(tmp_path / "spilled") == folder_bytes(tmp_path / "whole")


def test_an_iterator_spills_too(tiny, monkeypatch, tmp_path, corpus):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    texts = [path.read_text() for path in sorted(corpus.iterdir())]
    expected = count_iterator(texts, split=WORDS, memory_limit="1GB")
    found = count_iterator((text for text in texts), split=WORDS, memory_limit=1, num_threads=3)
    assert list(found.items()) == list(expected.items())
    assert list(tmp_path.iterdir()) == []  # the temporary folder is gone


def test_a_block_with_more_new_pretokens_than_a_table_takes(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 1 << 20)
    (tmp_path / "a.txt").write_text(" ".join(map(str, range(50_000))))
    counts = count(tmp_path / "a.txt", split=WORDS, memory_limit=1, num_threads=2)
    assert len(counts) == 50_000
    assert set(counts.counts.tolist()) == {1}


def test_min_count_is_exact(tmp_path, corpus, tiny):
    whole = count(corpus, split=WORDS, memory_limit="1GB")
    kept = {pretoken: n for pretoken, n in whole.items() if n >= 3}
    assert 0 < len(kept) < len(whole)
    count_to_folder(corpus, tmp_path / "c", split=WORDS, options=CountOptions(memory_limit=1, min_count=3))
    assert dict(WordCounts.load(tmp_path / "c").items()) == kept
    assert dict(count(corpus, split=WORDS, memory_limit=1).prune(3).items()) == kept


def test_the_tables_keep_to_their_budget(tmp_path, corpus, tiny, monkeypatch):
    seen = []
    original = threads.Counter.make_room

    def watching(self):
        original(self)
        seen.append(self.table.nbytes)

    monkeypatch.setattr(threads.Counter, "make_room", watching)
    monkeypatch.setattr(threads, "BUFFERS", 0)
    count_to_folder(
        corpus, tmp_path / "c", split=WORDS, options=CountOptions(memory_limit=1 << 20), job=JobOptions(num_threads=2)
    )
    assert max(seen) <= (1 << 20) // 2 + 4000  # and a block's long pretokens, which is more than was foreseen


@pytest.mark.parametrize("limit", ["0", "much", "4XB", "-1", 1000, "1MB", "5 B i"])
def test_limits_that_make_no_sense(tmp_path, limit):
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(UsageError, match=r"is not a whole number|must be at least 100MB"):
        count(tmp_path / "a.txt", split=WORDS, memory_limit=limit)


@pytest.mark.parametrize(
    ("num_threads", "size", "mb", "expected"),
    [(16, None, 300, 16), (16, 0, 300, 1), (16, 1 << 19, 300, 3), (1000, 10**9, 200, 11), (4, 10**9, 1, 1)],
)
def test_no_more_threads_than_work_or_memory(num_threads, size, mb, expected):
    assert threads.useful_threads(num_threads, size, mb * 10**6) == expected


LIMITED = """
import re, sys
from tokenmill.counting import CountOptions
from tokenmill.counting.to_folder import count_to_folder
from tokenmill.jobs.work import JobOptions
options, job = CountOptions(memory_limit="100MB"), JobOptions(num_threads=int(sys.argv[3]))
summary = count_to_folder(sys.argv[1], sys.argv[2], options=options, job=job)
print(summary.spills, int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) // 1000)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory from /proc")
def test_the_memory_limit_is_that_of_the_process(tmp_path):
    rng = random.Random(1)
    with open(tmp_path / "a.txt", "w") as file:
        for _ in range(12):
            file.write(" ".join(f"{rng.getrandbits(40):010x}".translate(LETTERS) for _ in range(100_000)))
    command = [sys.executable, "-c", LIMITED, tmp_path / "a.txt", tmp_path / "c", "16"]
    spills, peak = map(int, subprocess.run(command, check=True, capture_output=True).stdout.split())
    assert spills > 0
    assert peak <= 100 + (60 if sys.version_info < (3, 13) else 70)  # the interpreter and its modules beside


LETTERS = str.maketrans("0123456789", "ghijklmnop")


def test_runs_are_opened_at_any_part(tmp_path):
    rng = random.Random(2)
    groups = []
    for _ in range(3):
        items = {b"%d" % rng.randrange(200_000): rng.randrange(1, 9) for _ in range(60_000)}
        groups.append(WordCounts.from_mapping(items))
    runs = []
    for i, group in enumerate(groups):
        rows = merge_rows([(group.arena, group.offsets, group.counts)])
        run = write_run(tmp_path / f"{i}.arrow", [ArrayRows(rows)])
        assert run.bits >= 2
        runs.append(run)
    expected = merge_rows([(g.arena, g.offsets, g.counts) for g in groups])
    for bits in (0, 1, 2, 5, 8):
        rows = []
        for first in range(0, 1 << bits, max(1, (1 << bits) // 3)):
            rows += merge_partitions(runs, bits, range(first, min(1 << bits, first + max(1, (1 << bits) // 3))))
        found = concatenate(rows)
        assert [part.tolist() for part in found] == [part.tolist() for part in expected]


def test_a_full_disk_while_spilling_is_one_error_and_nothing_else_is_touched(full_disk, corpus, tiny, tmp_path):
    output = full_disk / "counts"
    WordCounts.from_mapping({b"old": 1}).save(output)
    with pytest.raises(OutputError, match="No space left on device"):
        count_to_folder(
            corpus, output, split=WORDS, options=CountOptions(memory_limit=1), job=JobOptions(overwrite=True)
        )
    assert dict(WordCounts.load(output).items()) == {b"old": 1}
    assert no_thread_left()


def test_a_count_goes_on_when_the_disk_has_room_again(full_disk, corpus, tiny, tmp_path):
    filler = full_disk / "filler"
    output = full_disk / "counts"
    small = tmp_path / "small"
    small.mkdir()
    for name in ("0.txt", "1.txt"):
        (small / name).write_text((corpus / name).read_text()[:20_000])
    filler.write_bytes(bytes(200_000))
    with pytest.raises(OutputError, match="No space left on device"):
        count_to_folder(small, output, split=WORDS, options=CountOptions(memory_limit=1), job=JobOptions(num_threads=1))
    assert not output.exists()
    filler.unlink()
    summary = count_to_folder(
        small, output, split=WORDS, options=CountOptions(memory_limit=1), job=JobOptions(num_threads=1)
    )
    assert summary.resumed_bytes > 0
    count(small, split=WORDS).save(tmp_path / "whole")
    assert folder_bytes(output) == folder_bytes(tmp_path / "whole")
    assert [path.name for path in full_disk.iterdir()] == ["counts"]


def test_an_output_that_cannot_be_written_is_ignore_skip_counting(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    with pytest.raises(OutputError, match="a file has that name"):
        count_to_folder(tmp_path / "a.txt", tmp_path / "b.txt", split=WORDS)
    with pytest.raises(UsageError, match="this command reads"):
        count_to_folder(tmp_path / "a.txt", tmp_path / "a.txt", split=WORDS)
    with pytest.raises(OutputError, match="cannot write"):
        count_to_folder(tmp_path / "a.txt", "/proc/nowhere/c", split=WORDS)
