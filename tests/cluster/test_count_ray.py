"""The Ray engine gives the same bytes as the local one, also when a machine is lost in the middle."""

import gzip
import itertools
import json
import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenmill import Splitter, WordCounts
from tokenmill.counting import count, count_to_folder
from tokenmill.counting import ray_engine as engine
from tokenmill.counting.ray_engine import _tables_of, count_with_ray, plan_shards
from tokenmill.errors import InputError, UsageError

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
        shards = plan_shards(paths, Splitter(WORDS), shard_bytes)
        spans = [entry for shard in shards for entry in shard.sources]
        assert len(shards) == 1 or all(shard.nbytes >= shard_bytes for shard in shards[:-1])
        assert list(dict.fromkeys(path for path, _ in spans)) == paths
        for path in paths:
            mine = [span for other, span in spans if other == path]
            if mine == [None]:
                continue
            end = 3 if path.suffix == ".parquet" else sizes[path]
            assert path.suffix != ".gz"
            assert [mine[0][0], mine[-1][1]] == [0, end]
            assert all(a[1] == b[0] for a, b in itertools.pairwise(mine))
        assert sum(shard.nbytes for shard in shards) == sum(sizes.values())


@pytest.mark.parametrize(("bits", "files"), [(0, 1), (3, 1), (3, 4), (3, 8), (1, 8), (2, 16)])
def test_every_file_gets_the_tables_of_its_hashes(bits, files):
    mapped = [[(shard, part) for part in range(1 << bits)] for shard in range(3)]
    tasks = list(_tables_of(mapped, bits, files))
    assert [first for first, _, _ in tasks] == [0, *(last for _, last, _ in tasks[:-1])]
    assert tasks[-1][1] == files
    for first, last, tables in tasks:
        low, high = first / files, last / files
        wanted = [
            (shard, part)
            for shard in range(3)
            for part in range(1 << bits)
            if part / (1 << bits) < high and (part + 1) / (1 << bits) > low
        ]
        assert tables == wanted


@pytest.fixture(scope="module")
def expected(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected") / "c"
    count_to_folder(corpus, folder, WORDS)
    return folder_bytes(folder)


def test_the_same_bytes_as_the_local_engine(cluster, corpus, expected, tmp_path, monkeypatch):
    summary = count_to_folder(corpus, tmp_path / "c", WORDS, engine="ray")
    assert folder_bytes(tmp_path / "c") == expected
    local = count(corpus, WORDS)
    assert (summary.documents, summary.total_bytes) == (local.documents, local.total_bytes)
    assert (summary.distinct, summary.pretokens) == (len(local), int(local.counts.sum()))
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    monkeypatch.chdir(tmp_path)
    found = count(corpus, WORDS, engine="ray", min_count=2)
    assert list(found.items()) == [item for item in local.items() if item[1] >= 2]


@pytest.mark.parametrize(("parts", "files"), [(8, 4), (2, 8)])
def test_many_shards_and_files(cluster, corpus, tmp_path, monkeypatch, parts, files):
    paths = sorted(corpus.iterdir())
    monkeypatch.setattr(engine, "files_for", lambda total: files)
    monkeypatch.setattr(engine, "parts_for", lambda shards: parts)
    folder = tmp_path / "c"
    folder.mkdir()
    seen = []
    count_with_ray(paths, folder, Splitter(WORDS), shard_bytes=60_000, progress=lambda *now: seen.append(now))
    assert len(list(folder.iterdir())) == files
    total = sum(path.stat().st_size for path in paths)
    assert ("count", total, total) in seen
    assert seen[-1] == ("merge", min(parts, files), min(parts, files))
    monkeypatch.setattr("tokenmill.counting.storage.files_for", lambda total: files)
    count_to_folder(corpus, tmp_path / "local", WORDS)
    assert folder_bytes(folder) == folder_bytes(tmp_path / "local")


def test_errors_come_back_as_what_they_are(cluster, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n{')
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: this is no JSON"):
        count_to_folder(tmp_path / "a.jsonl", tmp_path / "c", WORDS, engine="ray")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    skips = []
    summary = count_to_folder(tmp_path / "a.jsonl", tmp_path / "c", WORDS, engine="ray", on_skip=skips.append)
    assert summary.skipped == len(skips) == 1
    with pytest.raises(UsageError, match="the engine is not 'ray'"):
        count(tmp_path / "a.jsonl", WORDS, ray_address="auto")
    with pytest.raises(UsageError, match="'local' or 'ray'"):
        count(tmp_path / "a.jsonl", WORDS, engine="spark")
    with pytest.raises(UsageError, match="local engine"):
        count_to_folder(tmp_path / "a.jsonl", tmp_path / "c", WORDS, engine="ray", approximate_prune=True)


@pytest.mark.parametrize("stage", ["count", "merge"])
def test_a_node_that_is_killed_in_the_middle(third_node, corpus, tmp_path, monkeypatch, stage):
    """Three nodes, one of which is lost: its tasks are done again, and so are those whose tables went with it."""
    monkeypatch.setattr(engine, "files_for", lambda total: 4)
    monkeypatch.setattr(engine, "parts_for", lambda shards: 8)
    killed = []

    def watch(now, done, total):
        if now == stage and done >= total // 4 and not killed:
            killed.append(done)
            third_node()  # nothing more is collected meanwhile: the rest is done without it

    folder = tmp_path / "c"
    folder.mkdir()
    summary = count_with_ray(sorted(corpus.iterdir()), folder, Splitter(WORDS), shard_bytes=20_000, progress=watch)
    assert killed
    assert summary.documents > 0
    assert [path.name for path in sorted(folder.iterdir())] == [f"counts-{i:05}-of-00004.parquet" for i in range(4)]
    assert list(WordCounts.load(folder).items()) == list(count(corpus, WORDS).items())


def test_an_address_where_nobody_answers(cluster, tmp_path):
    (tmp_path / "a.txt").write_text("a text")
    for address, message in (
        ("127.0.0.1:1", "cannot connect to the Ray cluster '127.0.0.1:1': "),
        ("nonsense", "cannot connect to the Ray cluster 'nonsense': Invalid address format"),
    ):
        command = [sys.executable, "-m", "tokenmill", "count", "a.txt", "-o", "c", "--engine", "ray"]
        result = subprocess.run(
            [*command, "--ray-address", address], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert result.returncode == 1
        assert message in " ".join(result.stderr.split())
        assert "Traceback" not in result.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
