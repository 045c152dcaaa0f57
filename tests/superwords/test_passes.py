"""The passes over text within little memory, with the same result."""

import random

import pytest

import tokenmill
from tokenmill.counting import options as count_options
from tokenmill.counting.spill import Spill
from tokenmill.errors import UsageError
from tokenmill.superwords import SuperwordTraining, file_text, passes
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


def train(corpus, kind, memory_limit=None, size=700):
    options = Options(vocab_size=size, superwords=kind, **KINDS[kind])
    counts = tokenmill.count(corpus)
    return SuperwordTraining(counts, file_text(corpus), options, memory_limit).run().fingerprint()


@pytest.mark.parametrize("kind", KINDS)
def test_little_memory_changes_nothing(corpus, tmp_path, monkeypatch, kind):
    """The tables of fragments go to disk again and again."""
    spills = []
    write = Spill.write
    monkeypatch.setattr(
        Spill, "write", lambda self, *args, **options: spills.append(self) or write(self, *args, **options)
    )
    monkeypatch.setattr(passes, "_KEPT_PERCENT", 0)
    monkeypatch.setattr(passes, "guess", lambda totals, wanted: 1)
    monkeypatch.setattr(count_options, "LEAST_MEMORY", 1)
    assert train(corpus, kind, memory_limit=1 << 19) == train(corpus, kind)
    assert len(spills) > 2


@pytest.mark.parametrize(
    "options",
    [
        {"superwords": "superbpe", "stage1_size": 300, "stage2_split": r"(a)\1"},
        {"superwords": "superbpe", "stage1_size": 300, "stage2_split": "("},
        {"superwords": "boundless", "split": r"(a)\1"},
    ],
)
@pytest.mark.filterwarnings("ignore:the split pattern")
def test_a_pattern_that_does_not_fit_is_an_error_before_the_text_is_read(corpus, options):
    with pytest.raises(UsageError):
        tokenmill.train(corpus, 400, progress=lambda *told: pytest.fail(f"{told} before the error"), **options)


def test_what_a_killed_training_spilled_is_deleted_by_the_next(corpus, tmp_path, monkeypatch):
    """Tables of both passes go to the folder of the job, which is locked, so what is there belongs to nobody."""
    left = tmp_path / ".tok.unfinished" / ".tokenmill.0123456789abcdef.part"
    left.mkdir(parents=True)
    (left / "run-0.arrow").write_bytes(b"left")
    folders = set()
    write = Spill.write
    monkeypatch.setattr(
        Spill, "write", lambda self, *args, **more: folders.add(self.folder.parent) or write(self, *args, **more)
    )
    monkeypatch.setattr(count_options, "LEAST_MEMORY", 1)
    monkeypatch.setattr(passes, "_KEPT_PERCENT", 0)
    options = {"superwords": "superbpe", "stage1_size": 400, "memory_limit": 1 << 17}
    tokenmill.train(corpus, 500, output=tmp_path / "tok", **options)
    assert folders == {left.parent} and not left.parent.exists()
