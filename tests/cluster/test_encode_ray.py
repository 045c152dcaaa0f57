"""Encoding on Ray gives the same bytes as on one machine, also when a machine is lost in the middle."""

import json
import random

import pytest

import tokenmill
from tokenmill.errors import InputError
from tokenmill.jobs.work import JobOptions
from tokenmill.token_files.encoding import encode_files

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = random.Random(6)
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(12):
        texts = [" ".join(rng.choices(["fox", "дог", "lower", "<|endoftext|>"], k=60)) for _ in range(50)]
        (folder / f"{number:02}.jsonl").write_text(
            "\n".join(json.dumps({"id": i, "text": t}) for i, t in enumerate(texts))
        )
    (folder / "20.txt").write_text("one document\n" * 1000)
    (folder / "21.txt").write_text("")
    return folder


@pytest.fixture(scope="module")
def tok(corpus):
    return tokenmill.train(corpus, vocab_size=300, special_tokens=["<|endoftext|>"])


@pytest.fixture
def many_tasks(monkeypatch):
    monkeypatch.setattr("tokenmill.token_files.encoding.TASK_BYTES", 30_000)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("format", ["megatron", "parquet"])
def test_the_same_bytes_as_the_local_engine(cluster, many_tasks, corpus, tok, tmp_path, monkeypatch, format):
    monkeypatch.chdir(corpus)  # Parquet has the names as they were given
    made = []
    for engine in ("ray", "local"):
        (tmp_path / engine).mkdir()
        made.append(encode_files(tok, "*.*", tmp_path / engine / "out", format=format, job=JobOptions(engine)))
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
    assert (made[0].documents, made[0].tokens) == (made[1].documents, made[1].tokens)
    assert made[0].documents == 602


def test_damage_is_told_as_on_one_machine(cluster, many_tasks, corpus, tok, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n{\n{"text": "fine"}')
    sources = [corpus, tmp_path / "a.jsonl"]
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: not JSON"):
        encode_files(tok, sources, tmp_path / "out.bin", job=JobOptions("ray"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.bin.unfinished", "a.jsonl"]
    skips = []
    made = encode_files(tok, sources, tmp_path / "out.bin", job=JobOptions("ray"), on_skip=skips.append)
    assert made.skipped == len(skips) == 1
    assert made.documents == 604


def test_a_node_that_is_killed_in_the_middle(third_node, many_tasks, corpus, tok, tmp_path):
    killed = []

    def watch(stage, done, total):
        if done >= total // 4 and not killed:
            killed.append(done)
            third_node()

    for engine, progress in (("ray", watch), ("local", None)):
        (tmp_path / engine).mkdir()
        encode_files(tok, corpus, tmp_path / engine / "out.bin", job=JobOptions(engine), progress=progress)
    assert killed
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
