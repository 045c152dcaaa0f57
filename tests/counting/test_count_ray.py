"""The Ray engine gives the same bytes as the local one, also when a machine is lost in the middle."""

import gzip
import itertools
import json
import random
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenmill import Splitter, WordCounts
from tokenmill.counting import count, count_to_folder
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
    for file, tables in enumerate(_tables_of(mapped, bits, files)):
        low, high = file / files, (file + 1) / files
        wanted = [
            (shard, part)
            for shard in range(3)
            for part in range(1 << bits)
            if part / (1 << bits) < high and (part + 1) / (1 << bits) > low
        ]
        assert tables == wanted


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 * 2**20})
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster, nodes
    ray.shutdown()
    cluster.shutdown()


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
    assert (summary.distinct, summary.pieces) == (len(local), int(local.counts.sum()))
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    monkeypatch.chdir(tmp_path)
    found = count(corpus, WORDS, engine="ray", min_count=2)
    assert list(found.items()) == [item for item in local.items() if item[1] >= 2]


def test_many_shards_and_files(cluster, corpus, tmp_path, monkeypatch):
    import tokenmill.counting.ray_engine as engine

    paths = sorted(corpus.iterdir())
    monkeypatch.setattr(engine, "files_for", lambda total: 4)
    folder = tmp_path / "c"
    folder.mkdir()
    seen = []
    count_with_ray(paths, folder, Splitter(WORDS), shard_bytes=60_000, progress=lambda *now: seen.append(now))
    assert len(list(folder.iterdir())) == 4
    assert list(WordCounts.load(folder).items()) == list(count(corpus, WORDS).items())
    total = sum(path.stat().st_size for path in paths)
    assert ("count", total, total) in seen
    assert seen[-1] == ("merge", 4, 4)


def test_errors_come_back_as_what_they_are(cluster, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n{')
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: this is no JSON"):
        count_to_folder(tmp_path / "a.jsonl", tmp_path / "c", WORDS, engine="ray")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    skips = []
    summary = count_to_folder(tmp_path / "a.jsonl", tmp_path / "c", WORDS, engine="ray", on_skip=skips.append)
    assert summary.skipped == len(skips) == 1
    with pytest.raises(UsageError, match="'local' or 'ray'"):
        count(tmp_path / "a.jsonl", WORDS, engine="spark")
    with pytest.raises(UsageError, match="local engine"):
        count_to_folder(tmp_path / "a.jsonl", tmp_path / "c", WORDS, engine="ray", approximate_prune=True)


def test_a_node_that_is_killed_in_the_middle(cluster, corpus, expected, tmp_path):
    """Comes last: it takes a node from the cluster."""
    whole, nodes = cluster
    progress = threading.Event()

    def watch(stage, done, total):
        if done > total // 4:
            progress.set()

    def kill():
        progress.wait(60)
        whole.remove_node(nodes[0], allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    folder = tmp_path / "c"
    folder.mkdir()
    summary = count_with_ray(sorted(corpus.iterdir()), folder, Splitter(WORDS), shard_bytes=20_000, progress=watch)
    killer.join()
    assert progress.is_set()
    assert summary.documents > 0
    assert folder_bytes(folder) == expected
