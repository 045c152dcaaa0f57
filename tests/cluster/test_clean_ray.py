"""Cleaning on Ray gives the same bytes as on one machine, also when a machine is lost in the middle."""

import json
import random
import subprocess
from dataclasses import replace

import pytest

from command_line import program
from tokenmill.corpus import CleanOptions, clean, cleaning
from tokenmill.corpus.cleaning import report_path
from tokenmill.corpus.options import FILES
from tokenmill.errors import InputError
from tokenmill.jobs.work import JobOptions

pytest.importorskip("ray")
RAY = JobOptions("ray")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Twelve files of made-up sentences, some too short, some damaged, some with things to remove."""
    rng = random.Random(5)
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(12):
        texts = [" ".join(rng.choices(["fox", "дог", "the", "jumps"], k=rng.randint(5, 99))) for _ in range(400)]
        lines = [json.dumps({"text": f"{text} https://site{i % 7}.org"}) for i, text in enumerate(texts)]
        lines[number] = "{no json"
        (folder / f"{number}.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture
def many_tasks(monkeypatch):
    monkeypatch.setattr(cleaning, "TASK_BYTES", 100_000)


def contents(folder):
    """Every file of an output, hidden ones too, and the report."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return files | {"report": report_path(folder).read_bytes()}


READ = replace(FILES, skip_damaged=True)
OPTIONS = CleanOptions(shard_bytes=20_000, read=READ)


def test_the_same_bytes_as_the_local_engine(cluster, many_tasks, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(corpus)  # the names in the output are those that were given, and tasks run elsewhere
    seen = []
    clean("text", "*.jsonl", tmp_path / "ray", options=OPTIONS, job=RAY, progress=lambda *step: seen.append(step))
    clean("text", "*.jsonl", tmp_path / "local", options=OPTIONS)
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
    assert len(list((tmp_path / "ray").iterdir())) >= 12
    total = sum(path.stat().st_size for path in corpus.iterdir())
    assert seen[-1] == ("clean", total, total)


def test_errors_come_back_as_what_they_are(cluster, corpus, tmp_path):
    with pytest.raises(InputError, match=r"0\.jsonl, line 1: not JSON"):
        clean("text", corpus, tmp_path / "out", options=CleanOptions(), job=RAY)


def test_the_command_on_the_cluster_at_an_address(cluster, corpus, tmp_path):
    command = program("clean text -o out --engine ray --skip-damaged", corpus)
    result = subprocess.run(
        [*command, "--ray-address", cluster.address], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    clean("text", corpus, tmp_path / "local", options=CleanOptions(read=READ))
    assert contents(tmp_path / "out") == contents(tmp_path / "local")


def test_a_node_that_is_killed_in_the_middle(third_node, many_tasks, corpus, tmp_path):
    killed = []

    def watch(stage, done, total):
        if done >= total // 4 and not killed:
            killed.append(done)
            third_node()  # nothing more is collected meanwhile: the rest is done without it

    clean("text", corpus, tmp_path / "ray", options=OPTIONS, job=RAY, progress=watch)
    assert killed
    clean("text", corpus, tmp_path / "local", options=OPTIONS)
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
