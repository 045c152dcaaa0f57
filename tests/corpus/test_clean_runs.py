"""clean(): the same bytes for any number of processes and after any kill; reports; options that cannot be right."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

import tokenmill
from command_line import CliRunner, program
from tokenmill.cli.main import app
from tokenmill.corpus import CleaningReport, CleanOptions, cleaning, read_documents
from tokenmill.corpus.cleaning import report_path
from tokenmill.errors import InputError, OutputError, UsageError
from tokenmill.jobs.work import JobOptions
from tokenmill.sources import blocks


def clean(kind, sources, output, options=None, **run):
    """`clean` that leaves out what is damaged."""
    options = options or CleanOptions()
    options = replace(options, read=replace(options.read, skip_damaged=True))
    return tokenmill.clean(kind, sources, output, options=options, **run)


SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "while",
    "nobody",
    "in",
    "particular",
    "looks",
    "at",
    "what",
    "it",
    "does",
]


def write_corpus(folder: Path, files: int = 4, documents: int = 300, seed: int = 0) -> list[Path]:
    """JSON lines of made-up sentences, some too short, some damaged, some with things to remove."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(files):
        path = folder / f"{number}.jsonl"
        lines = []
        for i in range(documents):
            text = " ".join(rng.choices(WORDS, k=rng.randint(5, 120))) + f" https://site{i % 7}.org/x"
            lines.append("{no json" if i % 97 == 13 else json.dumps({"id": f"{number}-{i}", "text": text}))
        path.write_text("\n".join(lines) + "\n")
        paths.append(path)
    return paths


def digest(folder: Path) -> dict[str, str]:
    """Every file of an output, hidden ones too, and the report."""
    files = [p for p in [*folder.rglob("*"), report_path(folder)] if p.is_file()]
    name = {report_path(folder): "report"}
    return {name.get(p) or str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def texts_of(folder: Path) -> list[str]:
    return [d.text for d in read_documents(folder.glob("shard-*"))]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


OPTIONS = CleanOptions(shard_bytes=50_000)


@pytest.fixture(scope="module")
def expected(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleaning, "TASK_BYTES", 200_000)
        patch.setattr(blocks, "BLOCK", 8_000)
        clean("text", corpus, folder, OPTIONS, job=JobOptions(num_threads=1))
    return digest(folder)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(cleaning, "TASK_BYTES", 200_000)
    monkeypatch.setattr(blocks, "BLOCK", 8_000)


def test_the_report_adds_up(corpus, tmp_path):
    seen = []
    options = CleanOptions(filters=("careful",), min_chars=100)
    report = clean("text", corpus, tmp_path, options, progress=lambda *step: seen.append(step))
    assert report.documents_in == 1200
    assert report.skipped_count == len(report.skipped) == 12
    assert report.documents_in == report.documents_kept + sum(report.dropped.values()) + report.skipped_count
    assert str(report.skipped[0]).startswith(f"{corpus[0]}, line 14: not JSON")
    assert report.removed_by_kind == {"urls": report.documents_kept}
    assert sorted(what for what, _ in report.most_removed) == [f"urls: site{i}.org" for i in range(7)]
    texts = texts_of(tmp_path)
    assert len(texts) == report.documents_kept
    assert report.bytes_out == sum(len(text.encode()) for text in texts)
    assert all(len(text) >= 100 and "http" not in text for text in texts)
    assert CleaningReport.from_json(json.loads(report_path(tmp_path).read_text())) == report
    total = sum(path.stat().st_size for path in corpus)
    assert seen[-1] == ("clean", total, total)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_the_same_bytes_for_any_number_of_workers(corpus, expected, tmp_path, small_parts):
    clean("text", corpus, tmp_path, OPTIONS, job=JobOptions(num_threads=3))  # expected is of one
    assert digest(tmp_path) == expected
    assert len(expected) > 6


# Kills itself a little after the batch of this number.
RUN = """
import os, signal, sys, threading
from tokenmill.corpus import CleanOptions, clean, cleaning
from tokenmill.sources import blocks
from tokenmill.jobs.work import JobOptions
cleaning.TASK_BYTES, blocks.BLOCK = 200_000, 8_000
READ = blocks.ReadOptions(max_document_bytes=blocks.MAX_DOCUMENT_BYTES, skip_damaged=True)
OPTIONS = CleanOptions(shard_bytes=50_000, read=READ)
left, seconds, count = int(sys.argv[1]), float(sys.argv[2]), cleaning._count

def counting(*arguments):
    global left
    left -= 1
    if left == 0:
        if not seconds:
            os.kill(os.getpid(), signal.SIGKILL)
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return count(*arguments)

cleaning._count = counting
clean("text", sys.argv[4:], sys.argv[3], options=OPTIONS, job=JobOptions(num_threads=2))
"""


def test_killed_at_random_moments_it_goes_on_to_the_same_bytes(corpus, expected, tmp_path):
    rng = random.Random(1)
    folder = tmp_path / "out"

    def run(left, seconds=0.0):
        command = [sys.executable, "-c", RUN, str(left), str(seconds), str(folder), *map(str, corpus)]
        return subprocess.run(command, stdout=subprocess.DEVNULL, start_new_session=True).returncode

    for _ in range(SWEEP):
        resumed = 0
        # A shard has some seven of the sixty batches, so each run that is killed leaves at least one more shard.
        while not report_path(folder).exists():
            before = len(list(folder.glob("shard-*")))
            code = run(rng.randrange(10, 25), rng.choice([0.0, rng.uniform(0.0, 0.02)]))
            assert code in (0, -signal.SIGKILL)
            resumed += before > 0
        assert run(0) == 0
        assert digest(folder) == expected
        assert resumed > 1
        shutil.rmtree(folder)
        report_path(folder).unlink()


def test_it_goes_on_after_each_finished_shard_without_doing_it_again(
    corpus, expected, tmp_path, small_parts, monkeypatch
):
    """Stopped after every single shard, the run makes each once."""
    made = []
    whole = cleaning._write_shard

    def one_then_stop(options, path, *others):
        if made and made[-1] == "stop":
            made.pop()
            raise KeyboardInterrupt
        tally = whole(options, path, *others)
        made.extend([path.name, "stop"])
        return tally

    monkeypatch.setattr(cleaning, "_write_shard", one_then_stop)
    for _ in range(50):
        try:
            clean("text", corpus, tmp_path, OPTIONS, job=JobOptions(num_threads=1))
            break
        except KeyboardInterrupt:
            assert not report_path(tmp_path).exists()
    assert digest(tmp_path) == expected
    made = [name for name in made if name != "stop"]
    assert len(made) == len(set(made)) > 6


def test_a_finished_run_is_not_done_again_and_a_foreign_one_is_left_alone(corpus, tmp_path):
    report = clean("text", corpus[:1], tmp_path)
    before = digest(tmp_path)
    assert clean("text", corpus[:1], tmp_path) == report
    with pytest.raises(OutputError, match="contains the output of a finished run"):
        clean("text", corpus[:1], tmp_path, CleanOptions(min_chars=50))
    with pytest.raises(OutputError, match="contains the output"):
        clean("text", corpus[:2], tmp_path)
    assert digest(tmp_path) == before
    assert clean(
        "text", corpus[:1], tmp_path, CleanOptions(min_chars=50), job=JobOptions(overwrite=True)
    ).documents_kept < (report.documents_kept)
    report_path(tmp_path).unlink()
    with pytest.raises(OutputError, match="an earlier run"):
        clean("text", corpus[:1], tmp_path)


def test_two_runs_cannot_write_to_one_folder(corpus, tmp_path):
    (tmp_path / ".unfinished").mkdir()
    import fcntl

    with open(tmp_path / ".unfinished" / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is writing"):
            clean("text", corpus, tmp_path)


def test_ctrl_c_stops_within_a_second_and_leaves_nothing_half_written(corpus, tmp_path):
    command = program("clean text --skip-damaged -o", tmp_path / "out", *corpus * 30)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.glob("out/.shard-*.part")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        assert process.returncode == 130
        assert "stopped" in process.stderr.read()
    assert not list((tmp_path / "out").glob("*shard*"))


def test_a_full_disk_is_one_error_and_the_run_goes_on_when_there_is_room(
    corpus, expected, tmp_path, small_parts, monkeypatch
):
    folder = tmp_path / "out"
    folder.mkdir()
    if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=120k", "tmpfs", str(folder)]).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        with pytest.raises(OutputError, match="No space left"):
            clean("text", corpus, folder, OPTIONS)
        whole = {p.name for p in folder.glob("shard-*")}
        assert whole
        for path in folder.glob("shard-*"):
            assert digest(folder)[path.name] == expected[path.name]
        subprocess.run(["mount", "-o", "remount,size=10m", str(folder)], check=True)
        clean("text", corpus, folder, OPTIONS)
        assert digest(folder) == expected
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_limit_on_files_is_one_error_and_the_run_goes_on_without_it(corpus, tmp_path):
    """It stands for a full disk where none can be mounted."""
    command = program("clean text --skip-damaged --format text", *corpus, "-o")
    limited = ["bash", "-c", 'ulimit -f 50; exec "$@"', "bash", *command, str(tmp_path / "out")]
    result = subprocess.run(limited, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "File too large. Nothing was left half-written there." in " ".join(result.stderr.split())
    assert not list((tmp_path / "out").glob("*shard*"))
    for name in ("out", "whole"):
        subprocess.run([*command, str(tmp_path / name)], check=True, capture_output=True, timeout=60)
    assert digest(tmp_path / "out") == digest(tmp_path / "whole")


def test_text_shards_read_back_by_their_blank_lines(corpus, tmp_path):
    report = clean("text", corpus, tmp_path / "text", CleanOptions("text", filters=()))
    clean("text", corpus, tmp_path / "jsonl", CleanOptions(filters=()))
    shards = sorted((tmp_path / "text").glob("*.txt"))
    assert [d.text for d in read_documents(shards, unit="blank")] == texts_of(tmp_path / "jsonl")
    assert report.shards[0]["name"] == "shard-00000-0000.txt"


def test_shards_are_one_frame_that_any_program_reads(corpus, tmp_path):
    clean("text", corpus[:1], tmp_path)
    data = (tmp_path / "shard-00000-0000.jsonl.zst").read_bytes()
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    assert [json.loads(line)["text"] for line in plain.splitlines()] == texts_of(tmp_path)


def test_parquet_shards_are_read_by_row_groups(corpus, tmp_path, monkeypatch):
    """As nanochat's loader reads them: the files by their names, the row groups dealt out to the ranks, `text` as a list."""
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(cleaning, "ROW_GROUP_DOCUMENTS", 100)
    monkeypatch.setattr(cleaning, "TASK_BYTES", 200_000)
    report = clean("text", corpus, tmp_path / "rows", CleanOptions("parquet"))
    clean("text", corpus, tmp_path / "jsonl", CleanOptions())
    texts = []
    for path in sorted(str(path) for path in (tmp_path / "rows").iterdir() if path.name.endswith(".parquet")):
        file = pq.ParquetFile(path)
        groups = {}
        for rank in range(3):
            for number in range(rank, file.num_row_groups, 3):
                groups[number] = file.read_row_group(number).column("text").to_pylist()
        assert all(len(groups[number]) == 100 for number in range(file.num_row_groups - 1))
        texts += [text for number in sorted(groups) for text in groups[number]]
    assert texts == [d.text for d in read_documents(tmp_path / "jsonl")]
    assert [(d.id, d.source, d.text) for d in read_documents(tmp_path / "rows")][:1] == [
        ("0-0", str(tmp_path / "rows" / "shard-00000-0000.parquet"), texts[0])
    ]
    assert sum(shard["documents"] for shard in report.shards) == report.documents_kept == len(texts)
    again = clean("text", corpus, tmp_path / "again", CleanOptions("parquet"), job=JobOptions(num_threads=1))
    assert again.shards == report.shards
    names = [shard["name"] for shard in report.shards]
    assert len(names) > 1
    assert all((tmp_path / "rows" / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in names)


def test_row_groups_of_long_documents_are_small(tmp_path, monkeypatch):
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(cleaning, "ROW_GROUP_BYTES", 100_000)
    lines = [{"text": f"{number} " + "word " * 10_000, "title": "T" if number else ""} for number in range(9)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr(blocks, "BLOCK", 60_000)
    clean("text", tmp_path / "a.jsonl", tmp_path / "rows", CleanOptions("parquet"))
    file = pq.ParquetFile(tmp_path / "rows" / "shard-00000-0000.parquet")
    assert file.num_row_groups > 2
    table = file.read()
    assert table.column("text").to_pylist() == [line["text"] for line in lines]
    assert table.column("title").to_pylist() == [None] + ["T"] * 8
    assert table.column("id").to_pylist() == [str(number) for number in range(1, 10)]


def test_filters_and_lengths_are_obeyed(corpus, tmp_path):
    chosen = clean("text", corpus[:1], tmp_path / "a", CleanOptions(filters=("spaces",), min_chars=0))
    assert chosen.documents_kept == 297
    assert all("https://" in text for text in texts_of(tmp_path / "a"))
    assert chosen.removed_by_kind == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda clean: clean("books"),
            "the kind 'books' is not known; known are wikipedia, stackexchange, fineweb, text",
        ),
        (lambda clean: CleanOptions("csv"), "format is 'csv'; known are"),
        (lambda clean: clean("text", CleanOptions(filters=("x",))), "there is no filter 'x'"),
        (lambda clean: CleanOptions(min_chars=-1), "must be at least 0"),
        (lambda clean: CleanOptions(time_limit=0), "time_limit is 0; it must be above 0"),
    ],
)
def test_wrong_options(corpus, tmp_path, call, message):
    with pytest.raises(UsageError, match=message):
        call(lambda kind, options=None: clean(kind, corpus, tmp_path / "out", options))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("head", "kind"), [("<mediawiki>", "wikipedia"), ("<posts>", "stackexchange")])
def test_a_dump_is_not_cleaned_as_text(tmp_path, head, kind):
    path = tmp_path / "dump.xml"
    path.write_text(f"<?xml version='1.0'?>\n{head}\n")
    with pytest.raises(UsageError, match=f"dump.xml is a .*: clean it as {kind}"):
        clean("text", path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unfinished_run_of_other_options_is_left_alone(corpus, tmp_path, monkeypatch):
    folder = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(cleaning, "_report", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            clean("text", corpus[:1], folder)
    made = sorted(folder.glob("shard-*"))
    with pytest.raises(UsageError, match="unfinished job with different options"):
        clean("text", corpus[:1], folder, CleanOptions(min_chars=50))
    assert sorted(folder.glob("shard-*")) == made
    clean("text", corpus[:1], folder, CleanOptions("text"), job=JobOptions(resume=False))
    assert [path.name for path in folder.iterdir()] == ["shard-00000-0000.txt"]


def test_the_command(corpus, tmp_path):
    runner = CliRunner()
    arguments = ["clean", "text", str(corpus[0]), "--skip-damaged", "-o", str(tmp_path / "out")]
    ran = runner.invoke(
        app, [*arguments, "--json", "--no-filter", "urls", "--no-filter", "long-runs", "--min-chars", "50"]
    )
    assert ran.exit_code == 0
    answer = json.loads(ran.stdout)
    assert answer["documents_in"] == 300
    assert "urls" not in answer["settings"]["options"]["filters"]
    assert answer["settings"]["options"]["min_chars"] == 50
    ran = runner.invoke(app, [*arguments, "--force", "--filters", "careful"])
    assert ran.exit_code == 0
    assert not ran.stdout
    for shown in (
        "documents in",
        "removed most often",
        "urls: site0.org",
        "skipped: could not be read",
        "line 14: not JSON",
    ):
        assert shown in ran.stderr
    assert runner.invoke(app, [*arguments, "--min-chars", "7"]).exit_code == 1
    arguments.remove("--skip-damaged")
    assert runner.invoke(app, [*arguments, "--force"]).exit_code == 1
    assert runner.invoke(app, ["clean", "books", "x", "-o", "y"]).exit_code == 2


def test_the_first_damage_ends_the_run(corpus, tmp_path):
    with pytest.raises(InputError, match=r"line 14: not JSON"):
        tokenmill.clean("text", corpus, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*shard*"))
