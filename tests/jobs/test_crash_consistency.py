"""A loss of power after any write leaves the old output, or the new one, or a job that goes on: see crash_replay.py."""

import json

import pytest
from crash_replay import replay

import tokenmill
import tokenmill.counting.options as count_options
import tokenmill.counting.threads as threads
from tokenmill import WordCounts
from tokenmill.corpus import CleanOptions, clean
from tokenmill.counting import CountOptions
from tokenmill.counting.to_folder import count_to_folder
from tokenmill.jobs.outputs import atomic_file
from tokenmill.jobs.work import JobOptions
from tokenmill.sources import blocks
from tokenmill.token_files import encoded_folder

WORDS = r" [^ ]*|[^ ]+"
FORCED = JobOptions(num_threads=1, checkpoint_every=0, overwrite=True)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.txt"
    path.write_text(" ".join(str(number**3) for number in range(2500)))
    return path


@pytest.fixture
def root_folder(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.mark.parametrize("is_old", [False, True])
def test_count(root_folder, source, monkeypatch, is_old):
    for module, name, value in (
        (count_options, "LEAST_MEMORY", 1),
        (threads, "PER_THREAD", 1),
        (blocks, "BLOCK", 9000),
    ):
        monkeypatch.setattr(module, name, value)
    if is_old:
        WordCounts.from_mapping({b"old": 1}).save(root_folder / "counts")

    def job():
        count_to_folder(source, root_folder / "counts", split=WORDS, options=CountOptions(memory_limit=1), job=FORCED)

    for when, old, now, new in replay(root_folder, job, ["counts"]):
        assert now in (old, new, [None]), when


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("format", ["bin", "npy", "parquet"])
def test_token_file(root_folder, source, monkeypatch, format, is_old):
    monkeypatch.setattr(blocks, "BLOCK", 3000)
    monkeypatch.setattr(encoded_folder, "JOB_BYTES", 6000)
    tok = tokenmill.train_from_iterator(["1 2 3"], vocab_size=258, special_tokens=["<|endoftext|>"])
    path = root_folder / f"t.{format}"
    names = [path.name, f"{path.name}.json"] + [f"{path.name}.offsets.npy"] * (format != "parquet")
    if is_old:
        (root_folder.parent / "old.txt").write_text("1 2")
        tokenmill.encode_files(tok, root_folder.parent / "old.txt", path, format=format)

    def job():
        tokenmill.encode_files(tok, source, path, format=format, job=FORCED)

    for when, old, now, new in replay(root_folder, job, names, every=3):
        if now not in (
            old,
            new,
        ):  # the metadata come last: what has none is not taken for a token file of this tokenizer
            assert now[1] is None, when


@pytest.mark.parametrize("is_old", [False, True])
def test_saved_word_counts_and_tokenizer(root_folder, is_old):
    """Without a job to go on, they are the old ones or the new ones."""
    tok = tokenmill.train_from_iterator(["low lower lowest"], vocab_size=260)
    counts = WordCounts.from_mapping({b"new": 1})
    if is_old:
        tokenmill.train_from_iterator(["new newer"], vocab_size=258).save(root_folder / "tok")
        WordCounts.from_mapping({b"old": 1}).save(root_folder / "counts")

    def job():
        tok.save(root_folder / "tok", overwrite=True)
        counts.save(root_folder / "counts", overwrite=True)

    for when, old, now, new in replay(root_folder, job, ["tok", "counts"]):
        assert all(each in (before, after) for before, each, after in zip(old, now, new, strict=True)), when


def test_one_file(root_folder):
    (root_folder / "a").write_bytes(b"old")

    def job():
        with atomic_file(root_folder / "a") as file:
            file.write(b"new")

    for when, old, now, new in replay(root_folder, job, ["a"]):
        assert now in (old, new), when


def test_clean(root_folder, tmp_path, monkeypatch):
    source = tmp_path / "source.jsonl"
    source.write_text("".join(json.dumps({"text": f"document {n} " * 20}) + "\n" for n in range(60)))
    monkeypatch.setattr(blocks, "BLOCK", 2000)
    options = CleanOptions("text", filters=(), shard_bytes=6000)

    def job():
        clean("text", source, root_folder / "out", options=options, job=JobOptions(num_threads=1))

    for when, _, (folder, report), (shards, new_report) in replay(
        root_folder, job, ["out", "out.report.json"], every=4
    ):
        assert report in (None, new_report), when
        assert (folder or {}).items() <= shards.items(), when
        assert report is None or folder == shards, when
