"""The study code of the chapter on training gives the merges of the textbook loop, each step of it."""

import random
import re
from pathlib import Path

import pytest

import tokenmill
from tokenmill import learn
from tokenmill.learn import STEPS


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("seed", range(20))
def test_every_step_gives_the_same_merges(step, seed):
    chance = random.Random(seed)
    words = {bytes(chance.choices(b"aab", k=chance.randint(1, 12))): chance.randint(1, 9) for _ in range(12)}
    tok = tokenmill.train_from_counts(tokenmill.WordCounts.from_mapping(words), 276)
    pretokens = [(list(pretoken), count) for pretoken, count in words.items()]
    assert STEPS[step](pretokens, 20) == [(left, right) for _, left, right, _ in tok.events]


def test_the_module_times_each_step(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("the low lower lowest of the newest " * 30)
    learn.main([str(tmp_path / "a.txt"), "12"])
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.splitlines()[1:]] == [*STEPS, "kernel"]


def test_merges_that_the_text_does_not_have_are_not_reported(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("low lower")
    learn.main([str(tmp_path / "a.txt"), "1000"])
    counts = set(re.findall(r"for ([\d,]+) merges", capsys.readouterr().out))
    assert len(counts) == 1 and counts != {"1,000"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.txt"], "none.txt: no such file or folder"),
        (["folder"], "[Errno 21] Is a directory: 'folder'"),
        (["latin1.txt"], "latin1.txt: not UTF-8: the byte 0xe9 at 3"),
        (["a.txt", "ten"], "argument MERGES: invalid int value: 'ten'"),
        (["a.txt", "0"], "MERGES is 0; give a whole number from 1 on"),
        (["empty.txt"], "empty.txt is empty"),
        (["nul.txt"], "nul.txt: looks binary: a NUL byte at offset 1"),
        (["a.txt", "5", "more"], "unrecognized arguments: more"),
    ],
)
def test_a_mistake_is_named(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "a.txt", tmp_path / "folder" / "a.txt"):
        path.write_text("low lower")
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9")
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "nul.txt").write_bytes(b"a\0b")
    with pytest.raises(SystemExit, match=r"^2$"):
        learn.main(words)
    assert f"python -m tokenmill.learn: error: {message}" in capsys.readouterr().err


def test_help_is_printed(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        learn.main(["--help"])
    assert capsys.readouterr().out.startswith("usage: python -m tokenmill.learn [-h] [FILE] [MERGES]")


def test_the_code_of_the_course_is_that_of_the_module():
    """The Python blocks of the page that define something are in the module as they stand."""
    root = Path(learn.__file__).parents[2]
    page = (root / "docs" / "explanation" / "training.md").read_text()
    blocks = [block for block in re.findall(r"```python\n(.*?)```", page, re.S) if block.startswith("def ")]
    assert len(blocks) == 8
    source = Path(learn.__file__).read_text()
    for block in blocks:
        assert block in source
