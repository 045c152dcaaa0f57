"""Training in parts: interrupted and resumed, within little memory, with the same result."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time

import pytest

import tokenmill
from tokenmill.counting import memory
from tokenmill.counting.spill import Spill
from tokenmill.errors import UsageError
from tokenmill.jobs.work import JobOptions
from tokenmill.jobs.working_folder import path_beside, working_folder
from tokenmill.superwords import FileText, SuperwordTraining, passes, resumable_passes
from tokenmill.training import Options

pytest.importorskip("pyarrow")
KINDS = {"superbpe": {"stage1_size": 400}, "boundless": {"refine": 0.9}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Some text of a few frequent words, in three files of which one is compressed."""
    rng = random.Random(2)
    folder = tmp_path_factory.mktemp("corpus")
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(1, 5))) for _ in range(300)]
    for i in range(3):
        lines = (" ".join(rng.choices(words, weights=range(1, 301), k=9)) for _ in range(700))
        (folder / f"{i}.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(resumable_passes, "SHARD", 20_000)
    monkeypatch.setattr(passes, "_KEPT", 0)


def train(corpus, kind, folder=None, progress=None, memory_limit=None, running=None, size=700):
    options = Options(vocab_size=size, superwords=kind, **KINDS[kind])
    counts = tokenmill.count(corpus)
    training = SuperwordTraining(counts, FileText(corpus), options, memory_limit, progress, folder, running)
    return training.run().fingerprint()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stage", ["borders", "fragments", "merge"])
def test_an_interrupted_training_does_only_the_parts_that_are_missing(
    corpus, tmp_path, monkeypatch, small_parts, kind, stage
):
    class Interrupt:
        seen = 0
        stage2 = False

        def __call__(self, now, done, total):
            Interrupt.stage2 |= now == "borders"
            Interrupt.seen += Interrupt.stage2 and now.startswith(stage) and done > 0
            if Interrupt.seen == (1 if stage == "merge" else 3):
                raise KeyboardInterrupt

    def resumed(progress):
        with working_folder(path_beside(tmp_path / "out"), tmp_path / "out", {}) as folder:
            return train(corpus, kind, folder, progress)

    done = []
    for work in (resumable_passes._Borders, resumable_passes._Fragments):
        monkeypatch.setattr(work, "do", lambda self, part, task, do=work.do: done.append(part) or do(self, part, task))
    expected = train(corpus, kind)
    assert done == []
    with pytest.raises(KeyboardInterrupt):
        resumed(Interrupt())
    before = len(done)
    assert before > 0
    assert resumed(lambda *now: None) == expected
    assert len(set(done)) > 2
    assert done.count(0) == 2  # of each pass once
    assert not path_beside(tmp_path / "out").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_elsewhere_does_the_same(corpus, tmp_path, monkeypatch, small_parts, kind):
    """A task on Ray gets the pass pickled, without the word counts."""

    def elsewhere(do, tasks, address, cores):
        for part in tasks:
            pickle.loads(pickle.dumps(do))(part)
            yield part

    monkeypatch.setattr("tokenmill.jobs.ray.finished_tasks", elsewhere)
    expected = train(corpus, kind)
    with working_folder(tmp_path / "work", tmp_path / "out", {}) as folder:
        assert train(corpus, kind, folder, running=JobOptions("ray")) == expected
        assert len(list(folder.path.glob("borders-*.npy"))) == len(list(folder.path.glob("fragments-*.arrow"))) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_little_memory_changes_nothing(corpus, tmp_path, monkeypatch, kind):
    """The tables of fragments go to disk again and again."""
    spills = []
    write = Spill.write
    monkeypatch.setattr(
        Spill, "write", lambda self, *args, **options: spills.append(self) or write(self, *args, **options)
    )
    monkeypatch.setattr(passes, "_KEPT", 0)
    monkeypatch.setattr(passes, "guess", lambda totals, wanted: 1)
    monkeypatch.setattr(memory, "LEAST", 1)
    assert train(corpus, kind, memory_limit=1 << 19) == train(corpus, kind)
    assert len(spills) > 2


def test_a_part_that_is_missing_is_an_error(corpus, tmp_path, small_parts):
    def stop(now, done, total):
        if now.startswith("fragments") and done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), working_folder(tmp_path / "work", tmp_path / "out", {}) as folder:
        train(corpus, "superbpe", folder, stop)
    next((tmp_path / "work").glob("borders-*.npy")).unlink()
    with (
        pytest.raises(UsageError, match="missing or damaged"),
        working_folder(tmp_path / "work", tmp_path / "out", {}) as folder,
    ):
        train(corpus, "superbpe", folder)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals for other processes")
def test_ctrl_c_in_stage_2(corpus, tmp_path):
    """The command ends with code 130 and leaves no tokenizer, and says that the same command goes on."""
    slow = (
        "import sys, time; from tokenmill.superwords import passes; from tokenmill.cli import entry\n"
        "def merge(*_):\n    print('now', flush=True)\n    time.sleep(60)\n"
        "passes.Passes.merge = merge\nsys.argv[0] = 'tokenmill'\nentry()"
    )
    command = ["train", corpus, "--vocab-size", "700", "--superwords", "superbpe", "--stage1-size", "400"]
    output = tmp_path / "tok"
    process = subprocess.Popen(
        [sys.executable, "-c", slow, *map(str, command), "-o", output],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "now\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "the same command goes on from there" in errors
    assert not output.exists()
    again = subprocess.run(
        [sys.executable, "-m", "tokenmill", *map(str, command), "-o", output],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "distinct pretokens" in again.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tok"]
    assert tokenmill.load(output).vocabulary.fingerprint() == train(corpus, "superbpe")
