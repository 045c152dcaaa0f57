"""The Ray engine gives the same bytes as the local one, also when a machine is lost in the middle."""

import gzip
import itertools
import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenmill import Splitter, WordCounts
from tokenmill.counting import CountOptions, count
from tokenmill.counting import to_folder as count_jobs
from tokenmill.counting.reading import cut_of
from tokenmill.counting.spill import Spill
from tokenmill.counting.to_folder import count_to_folder, plan_shards
from tokenmill.errors import InputError, UsageError
from tokenmill.jobs.work import JobOptions
from tokenmill.sources.blocks import ReadOptions

ray = pytest.importorskip("ray")
WORDS = r" [^ ]*|[^ ]+"


def folder_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = random.Random(3)
    folder = tmp_path_factory.mktemp("corpus")
    texts = [" ".join(str(int(rng.paretovariate(0.4)) % 10**7) for _ in range(5000)) for _ in range(12)]
    for i, text in enumerate(texts[:5]):
        (folder / f"{i}.txt").write_text(text)
    (folder / "5.txt.gz").write_bytes(gzip.compress(texts[5].encode()))
    (folder / "6.jsonl").write_text("\n".join(json.dumps({"text": t[i::9]}) for t in texts[6:9] for i in range(9)))
    pq.write_table(pa.table({"text": texts[9:]}), folder / "7.parquet", row_group_size=1)
    (folder / "8.txt").write_text("")
    return folder


def test_shards_cover_all_sources_once(corpus):
    paths = sorted(corpus.iterdir())
    sizes = {path: path.stat().st_size for path in paths}
    for shard_bytes in (500, 5000, 40_000, 10**9):
        shards = plan_shards(paths, ReadOptions(), cut_of(Splitter(WORDS)), shard_bytes)
        spans = [(path, span) for shard in shards for path, _, span in shard]
        sizes_of = [sum(size for _, size, _ in shard) for shard in shards]
        assert all(shards)
        assert list(dict.fromkeys(path for path, _ in spans)) == paths
        for path in paths:
            mine = [span for other, span in spans if other == path]
            if mine == [None]:
                continue
            end = 3 if path.suffix == ".parquet" else sizes[path]
            assert path.suffix != ".gz"
            assert [mine[0][0], mine[-1][1]] == [0, end]
            assert all(a[1] == b[0] for a, b in itertools.pairwise(mine))
        assert sum(sizes_of) == sum(sizes.values())


@pytest.fixture(scope="module")
def expected(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected") / "c"
    count_to_folder(corpus, folder, split=WORDS)
    return folder_bytes(folder)


RAY = JobOptions("ray")


def test_a_task_counts_with_the_threads_that_it_reserves(corpus, tmp_path, monkeypatch):
    """Without a cluster: `finished_tasks` does the parts here."""
    numbers, threads = [], count_jobs.Threads
    monkeypatch.setattr(count_jobs, "Threads", lambda new, n, *rest: numbers.append(n) or threads(new, n, *rest))
    monkeypatch.setattr("tokenmill.jobs.ray.finished_tasks", lambda do, parts, *_: [do(part) or part for part in parts])
    for n in (None, 3):
        numbers.clear()
        count_to_folder(corpus, tmp_path / f"{n}", split=WORDS, job=JobOptions("ray", num_threads=n))
        assert set(numbers) == {n or 1}


@pytest.fixture
def many_tasks(monkeypatch):
    monkeypatch.setattr(count_jobs, "SHARD", 20_000)


def test_weights_give_the_same_bytes_as_the_local_engine(cluster, corpus, tmp_path, many_tasks):
    options = CountOptions(weights={str(corpus / "[0-3].txt"): "2/3", str(corpus / "7.parquet"): 5}, min_count=2)
    local = count_to_folder(corpus, tmp_path / "local", split=WORDS, options=options)
    summary = count_to_folder(corpus, tmp_path / "c", split=WORDS, options=options, job=RAY)
    assert folder_bytes(tmp_path / "c") == folder_bytes(tmp_path / "local")
    assert summary.shares == local.shares


def test_the_same_bytes_as_the_local_engine(cluster, corpus, expected, tmp_path, monkeypatch):
    summary = count_to_folder(corpus, tmp_path / "c", split=WORDS, job=RAY)
    assert folder_bytes(tmp_path / "c") == expected
    local = count(corpus, split=WORDS)
    assert (summary.documents, summary.total_bytes) == (local.documents, local.total_bytes)
    assert (summary.distinct, summary.pretokens) == (len(local), int(local.counts.sum()))
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    count_to_folder(
        corpus, tmp_path / "c", split=WORDS, options=CountOptions(min_count=2), job=replace(RAY, overwrite=True)
    )
    assert list(WordCounts.load(tmp_path / "c").items()) == [item for item in local.items() if item[1] >= 2]
    monkeypatch.chdir(tmp_path)
    assert list(count(corpus, split=WORDS, engine="ray").items()) == list(local.items())


@pytest.mark.parametrize(("files", "at_once"), [(1, 64), (8, 4)])
def test_many_shards_and_files(cluster, many_tasks, corpus, tmp_path, monkeypatch, files, at_once):
    monkeypatch.setattr(Spill, "MANY", at_once)
    monkeypatch.setattr(count_jobs, "files_for", lambda total: files)
    seen = []
    count_to_folder(corpus, tmp_path / "ray", split=WORDS, job=RAY, progress=lambda *now: seen.append(now))
    assert len(list((tmp_path / "ray").iterdir())) == files
    total = sum(path.stat().st_size for path in corpus.iterdir())
    assert ("count", total, total) in seen
    assert any(stage == "combine" for stage, _, _ in seen) == (at_once == 4)
    assert seen[-1] == ("merge", files, files)
    monkeypatch.setattr("tokenmill.counting.store.files_for", lambda total: files)
    count_to_folder(corpus, tmp_path / "local", split=WORDS)
    assert folder_bytes(tmp_path / "ray") == folder_bytes(tmp_path / "local")


def test_errors_come_back_as_what_they_are(cluster, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n{')
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: not JSON"):
        count_to_folder(tmp_path / "a.jsonl", tmp_path / "c", split=WORDS, job=RAY)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    skips = []
    summary = count_to_folder(tmp_path / "a.jsonl", tmp_path / "c", split=WORDS, job=RAY, on_skip=skips.append)
    assert summary.skipped == len(skips) == 1
    with pytest.raises(UsageError, match="known are local, ray"):
        count(tmp_path / "a.jsonl", split=WORDS, engine="spark")


@pytest.mark.parametrize("stage", ["count", "merge"])
def test_a_node_that_is_killed_in_the_middle(third_node, many_tasks, corpus, tmp_path, monkeypatch, stage):
    """Three nodes, one of which is lost: its tasks are done again."""
    monkeypatch.setattr(count_jobs, "files_for", lambda total: 4)
    killed = []

    def watch(now, done, total):
        if now == stage and done >= total // 4 and not killed:
            killed.append(done)
            third_node()  # nothing more is collected meanwhile: the rest is done without it

    folder = tmp_path / "c"
    summary = count_to_folder(corpus, folder, split=WORDS, job=RAY, progress=watch)
    assert killed
    assert summary.documents > 0
    assert [path.name for path in sorted(folder.iterdir())] == [f"counts-{i:05}-of-00004.parquet" for i in range(4)]
    assert list(WordCounts.load(folder).items()) == list(count(corpus, split=WORDS).items())


# The driver kills itself as soon as it hears of the third finished part.
COUNT = """
import os, signal, sys
from tokenmill.jobs import ray

def finished_tasks(*arguments, original=ray.finished_tasks):
    for number, part in enumerate(original(*arguments), 1):
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        yield part

ray.finished_tasks = finished_tasks
from tokenmill.counting import to_folder as count_jobs
from tokenmill.counting.to_folder import count_to_folder
from tokenmill.jobs.work import JobOptions
count_jobs.SHARD = 20_000
count_to_folder(sys.argv[1], sys.argv[2], split=sys.argv[3], job=JobOptions("ray", sys.argv[4]))
"""


def test_a_driver_that_is_killed_leaves_finished_parts_that_are_not_done_again(
    cluster, many_tasks, corpus, expected, tmp_path
):
    command = [sys.executable, "-c", COUNT, corpus, tmp_path / "c", WORDS, cluster.address]
    assert subprocess.run(command, start_new_session=True).returncode == -signal.SIGKILL
    time.sleep(2)  # until Ray has ended the tasks of the dead driver
    finished = {path: path.stat().st_mtime_ns for path in (tmp_path / ".c.unfinished").glob("*.done.json")}
    assert len(finished) >= 3
    kept = []

    def watch(stage, done, total):
        if stage == "count" and done == total and not kept:
            kept.append({path: path.stat().st_mtime_ns for path in finished})

    summary = count_to_folder(corpus, tmp_path / "c", split=WORDS, job=RAY, progress=watch)
    assert kept == [finished]
    assert summary.resumed_bytes > 0
    assert folder_bytes(tmp_path / "c") == expected
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_an_address_where_nobody_answers(cluster, tmp_path):
    (tmp_path / "a.txt").write_text("a text")
    for address, message in (
        ("127.0.0.1:1", "cannot connect to the Ray cluster '127.0.0.1:1': "),
        ("nonsense", "cannot connect to the Ray cluster 'nonsense': "),
    ):
        command = [sys.executable, "-m", "tokenmill", "count", "a.txt", "-o", "c", "--engine", "ray"]
        result = subprocess.run(
            [*command, "--ray-address", address], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert result.returncode == 1
        assert message in " ".join(result.stderr.split())
        assert "Traceback" not in result.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
