"""Watching a training: the count of each merge and the IoS of each removal, live, saved, and shown."""

import random

import numpy as np
import pytest

import tokenmill
from command_line import CliRunner
from tokenmill import TrainingEvent, WordCounts
from tokenmill.cli.main import app
from tokenmill.training import loops
from trained import train_by_textbook

WORDS = {b"low": 5, b"lower": 2, b"newest": 6, b"aaaa": 3}


class Watcher:
    def __init__(self):
        self.events, self.stages = [], set()

    def __call__(self, stage, done, total):
        self.stages.add(stage)

    def event(self, event):
        self.events.append(event)


def random_counts(seed):
    chosen = random.Random(seed)
    words = {
        "".join(chosen.choices("aab c", k=chosen.randint(1, 9))).encode(): chosen.randint(1, 60) for _ in range(60)
    }
    return WordCounts.from_mapping(words)


def test_the_first_counts_by_hand():
    watcher = Watcher()
    tok = tokenmill.train_from_counts(WordCounts.from_mapping(WORDS), 259, progress=watcher)
    assert watcher.events == [
        TrainingEvent(0, b"aa", b"a", b"a", count=9),  # aaaa holds the pair three times
        TrainingEvent(1, b"we", b"w", b"e", count=8),
        TrainingEvent(2, b"lo", b"l", b"o", count=7),
    ]
    assert tok.vocabulary.event_counts.tolist() == [[9, 0], [8, 0], [7, 0]]
    assert "merge" in watcher.stages


@pytest.mark.parametrize("refine", [None, 0.4, 0.8])
@pytest.mark.parametrize("seed", range(12))
def test_the_kernels_numbers_are_the_textbooks(seed, refine, monkeypatch):
    monkeypatch.setattr(loops, "_SLICE", 1 + seed * 50)
    counts, fast, slow = random_counts(seed), Watcher(), Watcher()
    ours = tokenmill.train_from_counts(counts, 285, refine=refine, progress=fast)
    theirs = train_by_textbook(counts, 285, refine=refine, progress=slow)
    assert fast.events == slow.events and len(fast.events) == len(ours.events)
    assert ours.vocabulary.event_counts.tolist() == theirs.event_counts.tolist()
    for told, event in zip(fast.events, ours.events, strict=True):
        if event[0] == "merge":
            left, right, new = (ours.vocabulary.tokens[id] for id in event[1:])
            assert (told.left, told.right, told.token) == (left, right, new) and told.ios is None
        else:
            assert told.token == ours.vocabulary.tokens[event[1]] and refine <= told.ios <= 1


@pytest.mark.parametrize("refine", [None, 0.4])
def test_counts_are_saved_and_read(refine, tmp_path):
    tok = tokenmill.train_from_counts(random_counts(1), 280, refine=refine, special_tokens=["<x>"])
    wanted = tok.vocabulary.event_counts.tolist()
    tok.save(tmp_path / "t")
    assert tokenmill.load(tmp_path / "t").vocabulary.event_counts.tolist() == wanted
    path = tmp_path / "t" / "event_counts.txt"
    for damaged in (path.read_bytes()[:-9], path.read_bytes().replace(b"sha256 ", b"sha256 0"), b"", b"\xff"):
        path.write_bytes(damaged)  # no id depends on it
        loaded = tokenmill.load(tmp_path / "t")
        assert loaded == tok and loaded.vocabulary.event_counts.shape == (0, 2)
    loaded.save(tmp_path / "t", overwrite=True)
    assert not path.exists()


def test_counts_stay_with_their_events(tmp_path):
    tok = tokenmill.train_from_counts(random_counts(2), 275)
    more = tokenmill.extend(tok, random_counts(2), 285)
    whole = tokenmill.train_from_counts(random_counts(2), 285)
    assert more.vocabulary.event_counts.tolist() == whole.vocabulary.event_counts.tolist()
    added = tok.add_special_tokens(["<x>"]).vocabulary
    assert added.event_counts.tolist() == tok.vocabulary.event_counts.tolist()
    others = tok.vocabulary.replace(events=tok.vocabulary.events[:5], tokens=tok.vocabulary.tokens[:261])
    assert others.event_counts.shape == (0, 2)
    smaller = tokenmill.shrink(tok, text=WordCounts.from_mapping({b"aa": 1})).tok.vocabulary
    assert 0 < len(smaller.event_counts) == len(smaller.events) < len(tok.events)


@pytest.mark.parametrize("refine", [[], ["--refine", "0.5"]])
def test_the_command_line_prints_and_writes_them(refine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("low lower lowest newest " * 50)
    command = ["train", "a.txt", "--vocab-size", "266", *refine, "-o", "t", "--verbose", "--log", "merges.tsv"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(app, [*command[:-3], "-o", "t2", "--log", "merges.tsv"])
    assert again.exit_code == 1 and "merges.tsv exists" in again.stderr
    header, *rows = [line.split("\t") for line in (tmp_path / "merges.tsv").read_text().splitlines()]
    assert header == ["rank", "left", "right", "token", "count", "ios"]
    tok = tokenmill.load("t")
    assert len(rows) == len(tok.events) and rows[0] == ["0", "l", "o", "lo", "150", ""]
    assert f"{rows[0][0]:>7} l + o -> lo  150" in done.stderr
    removals = [row for row in rows if row[5]]
    assert bool(removals) == bool(refine)
    assert all(f"removed {row[3]}  IoS {row[5]}" in done.stderr for row in removals)
    assert np.array_equal(
        [int(row[4]) for row in rows if row[4]], tok.vocabulary.event_counts[tok.vocabulary.events[:, 1] >= 0, 0]
    )
