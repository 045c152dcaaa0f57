"""Superwords trained on Ray are those of the local engine."""

import random
from dataclasses import replace

import pytest

import tokenmill
from tokenmill.jobs.work import JobOptions
from tokenmill.jobs.working_folder import working_folder
from tokenmill.superwords import FileText, SuperwordTraining, resumable_passes
from tokenmill.training import Options

pytest.importorskip("ray")


@pytest.mark.parametrize("kind", ["superbpe", "boundless"])
def test_the_same_superwords_as_the_local_engine(cluster, tmp_path, monkeypatch, kind):
    rng = random.Random(4)
    monkeypatch.setattr(resumable_passes, "SHARD", 30_000)
    words = ["".join(rng.choices("abcdef", k=rng.randint(1, 4))) for _ in range(100)]
    lines = (" ".join(rng.choices(words, weights=range(1, 101), k=8)) for _ in range(3000))
    (tmp_path / "text.txt").write_text("\n".join(lines))
    counts, text = tokenmill.count(tmp_path / "text.txt"), FileText(tmp_path / "text.txt")
    options = Options(
        vocab_size=500, superwords=kind, stage1_size=350 if kind == "superbpe" else None, special_tokens=["<|end|>"]
    )
    expected = SuperwordTraining(counts, text, options).run()
    with working_folder(tmp_path / "work", tmp_path / "out", {}) as folder:
        training = SuperwordTraining(counts, text, replace(options), None, None, folder, JobOptions("ray"))
        assert training.run().fingerprint() == expected.fingerprint()
        assert len(list(folder.path.glob("borders-*.npy"))) > 1
