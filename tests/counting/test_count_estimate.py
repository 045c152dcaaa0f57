"""The prediction beside what a count then finds."""

import bz2
import gzip
import json
import lzma
import random

import pytest
import zstandard

import tokenmill.counting.estimate as module
import tokenmill.sources.blocks as reading
from tokenmill.counting import CountOptions, count
from tokenmill.counting.estimate import estimate

COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
WORDS = r" [^ ]*|[^ ]+"


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 4000)
    monkeypatch.setattr(module, "BLOCK", 4000)


def words(n, seed):
    """Zipf's law with exponent 1.25: distinct words grow with about n ** 0.8."""
    rng = random.Random(seed)
    return " ".join(str(int(rng.paretovariate(0.8))) for _ in range(n))


def test_a_sample_that_is_everything_is_exact(tmp_path):
    (tmp_path / "a.txt").write_text(words(50_000, 1))
    counts = count(tmp_path, WORDS)
    found = estimate(tmp_path, WORDS, CountOptions(memory_limit="1GB"), num_threads=3)
    assert (found.distinct, found.total_bytes, found.sampled) == (len(counts), counts.total_bytes, counts.total_bytes)
    assert (found.threads, found.memory_limit, found.spills, found.spill_disk) == (3, 10**9, 0, 0)
    counts.save(tmp_path / "c")
    size = sum(path.stat().st_size for path in (tmp_path / "c").iterdir())
    assert 0.8 * size < found.disk < 1.2 * size


@pytest.mark.parametrize("kind", ["plain", "gz", "jsonl", "many"])
def test_distinct_pretokens_are_predicted_from_a_tenth(tmp_path, small, kind):
    texts = [words(2000, seed) for seed in range(100)]
    text = "\n ".join(texts)
    if kind == "plain":
        (tmp_path / "a.txt").write_text(text)
    elif kind == "gz":
        (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    elif kind == "jsonl":
        (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"id": i, "text": t}) for i, t in enumerate(texts)))
    else:
        for i, each in enumerate(texts):
            (tmp_path / f"{i}.txt").write_text(each)
    exact = count(tmp_path, WORDS)
    found = estimate(tmp_path, WORDS, sample=exact.total_bytes // 10)
    assert found.sampled < 0.2 * exact.total_bytes
    assert (0.99 if kind == "gz" else 0.8) * exact.total_bytes < found.total_bytes < 1.25 * exact.total_bytes
    assert (0.65 if kind == "gz" else 0.75) * len(exact) < found.distinct < 1.4 * len(exact)
    assert 0.5 < found.growth < 0.95


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_a_compressed_file_is_sampled_to_its_end(tmp_path, small, suffix):
    rng = random.Random(7)
    # The second half is of other words, and compresses far better.
    text = " ".join(f"{rng.getrandbits(40):x}" for _ in range(40_000)) + " ".join(["same words"] * 40_000)
    path = tmp_path / f"a.txt.{suffix}"
    path.write_bytes(zstandard.compress(text.encode()) if suffix == "zst" else COMPRESS[suffix](text.encode()))
    found = estimate(path, WORDS, sample=len(text) // 10)
    assert 0.99 * len(text) < found.total_bytes < 1.01 * len(text)
    assert found.sampled < 0.25 * len(text)


def test_spills_are_foreseen(tmp_path, small, monkeypatch):
    monkeypatch.setattr("tokenmill.counting.memory.LEAST", 1)
    (tmp_path / "a.txt").write_text(words(200_000, 1))
    roomy = estimate(tmp_path, WORDS, CountOptions(memory_limit="1GB"))
    tight = estimate(tmp_path, WORDS, CountOptions(memory_limit=roomy.memory // 4))
    assert roomy.spills == roomy.spill_disk == 0
    assert tight.memory == roomy.memory
    assert 2 <= tight.spills <= 12
    assert tight.spill_disk > 0
    assert tight.seconds >= 0


def test_nothing_to_predict(tmp_path):
    (tmp_path / "a.txt").write_text("")
    found = estimate(tmp_path, WORDS)
    assert (found.distinct, found.total_bytes, found.memory, found.disk, found.spills) == (0, 0, 0, 0, 0)
