"""A token file whose making was killed is made to the same bytes; Ctrl-C and a full disk leave nothing half-written."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from token_file_examples import corpus, text, tokenizer

import tokenmill
from tokenmill.errors import OutputError, UsageError
from tokenmill.jobs.work import JobOptions
from tokenmill.token_files import encoded_folder, output
from tokenmill.token_files.settings import FORMATS, EncodeOptions

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(tokenmill.__file__).parents[1])}

# Small jobs, a checkpoint after each of them, and slowly enough to be killed in the middle.
SLOW = """
import sys, time
import tokenmill
from tokenmill.jobs.work import JobOptions
from tokenmill.sources import blocks
from tokenmill.token_files import encoded_folder

blocks.BLOCK, encoded_folder.JOB_BYTES = 1000, 2000
original = encoded_folder.EncodedFolderWriter.append
def append(self, encoded):
    original(self, encoded)
    time.sleep(float(sys.argv[4]))
encoded_folder.EncodedFolderWriter.append = append
tok = tokenmill.load(sys.argv[1])
import pyarrow.parquet
print("begin", flush=True)
tokenmill.encode_files(tok, sys.argv[2] + "/*", sys.argv[3], format=sys.argv[5], job=JobOptions(num_threads=2, checkpoint_every=0.01))
"""

# Dies without a word at the n-th of the calls that change the disk, for every n or every fourth; and each time goes on to the end.
CRASHES = """
import os, shutil, sys
from pathlib import Path
import tokenmill
from tokenmill.jobs.work import JobOptions
from tokenmill.sources import blocks
from tokenmill.token_files import encoded_folder

blocks.BLOCK, encoded_folder.JOB_BYTES = 60_000, 60_000
folder, format = Path(sys.argv[3]), sys.argv[4]
tok = tokenmill.load(sys.argv[1])
shard_tokens, part = int(sys.argv[6]) or None, sys.argv[7] or None
options = tokenmill.EncodeOptions(shard_tokens=None if part == "join" else shard_tokens, part=None if part == "join" else part)

def encode():
    if part == "join":
        return tokenmill.Join(files=[f"{sys.argv[2]}-{format}-*"], output=folder / "out", shard_tokens=shard_tokens, overwrite=force).run()
    tokenmill.encode_files(tok, sys.argv[2] + "/*", folder / "out", format=format, options=options, job=JobOptions(num_threads=2, checkpoint_every=0, overwrite=force))

def files():
    return {path.name: path.read_bytes() for path in folder.iterdir()}

def in_child(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def dying(n):
    left = [n]
    for name in ("fsync", "replace", "unlink"):
        def call(*args, original=getattr(os, name), **options):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return original(*args, **options)
        setattr(os, name, call)
    encode()

import pyarrow, pyarrow.parquet
pyarrow.set_cpu_count(1)
force = True
assert in_child(encode) == 0
expected, step = files(), int(sys.argv[5])
n = os.getpid() % step
while True:
    if n % 2:  # with the older output there, and without
        shutil.rmtree(folder)
        folder.mkdir()
    force = not n % 2
    code = in_child(lambda: dying(n))
    if code == 0:
        break
    assert code == 9, code
    for path in folder.glob("*.json"):  # metadata never stands beside files of another size
        tokenmill.load_tokens(path.with_suffix(""))
    force = force or all((folder / name).exists() for name in expected)
    assert in_child(encode) == 0
    assert files() == expected, n
    n += step
print(n)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A tokenizer saved, a folder of sources, and what encoding them gives in each format."""
    folder = tmp_path_factory.mktemp("made")
    tok = tokenizer()
    tok.save(folder / "tok")
    corpus(folder / "sources")
    expected = {}
    for format in FORMATS:
        tokenmill.encode_files(tok, str(folder / "sources" / "*"), folder / format / "out", format=format)
        expected[format] = files_in(folder / format)
    return tok, folder, expected


def files_in(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def start(folder, output, pause, format):
    command = [sys.executable, "-c", SLOW, *map(str, (folder / "tok", folder / "sources", output, pause, format))]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("format", FORMATS if SWEEP > 1 else ("bin", "parquet"))
def test_killed_at_random_moments_and_still_the_same(made, tmp_path, format):
    _, folder, expected = made
    chosen = random.Random(os.getpid())
    for killed in range(3 * SWEEP):
        process = start(folder, tmp_path / "out", 0.01, format)
        assert process.stdout.readline() == "begin\n", process.stderr.read()
        while killed == 1 and not list(tmp_path.glob(".out*.unfinished/encode-*.json")):
            time.sleep(0.01)  # the next one begins from a checkpoint
        time.sleep(chosen.uniform(0.02, 0.4))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = start(folder, tmp_path / "out", 0, format)
    assert process.communicate(timeout=60) and process.returncode == 0
    assert files_in(tmp_path) == expected[format]


@pytest.mark.parametrize(
    ("format", "shard_tokens", "part"),
    [
        *((format, 0, "") for format in (FORMATS if SWEEP > 1 else ("megatron",))),
        ("llmc", 9000, ""),
        *([("parquet", 9000, "")] if SWEEP > 1 else []),
        ("megatron", 0, "2/3"),
        ("megatron", 0, "join"),
        ("llmc", 9000, "join"),
    ],
)
def test_killed_at_every_step_of_the_end(made, tmp_path, format, shard_tokens, part):
    tok, folder, _ = made
    (tmp_path / "out").mkdir()
    for n in (1, 2, 3) if part == "join" else ():
        options = EncodeOptions(part=f"{n}/3")
        tokenmill.encode_files(
            tok, str(folder / "sources" / "*"), tmp_path / f"parts-{format}", format=format, options=options
        )
    source = tmp_path / "parts" if part == "join" else folder / "sources"
    arguments = [folder / "tok", source, tmp_path / "out", format, 1 if SWEEP > 1 else 11, shard_tokens, part]
    result = subprocess.run(
        [sys.executable, "-c", CRASHES, *map(str, arguments)], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert int(result.stdout) > (7 if part == "join" else 15)


@pytest.fixture
def interrupted(made, tmp_path):
    """Encoding that Ctrl-C stopped after five jobs."""
    tok, folder, _ = made
    original, left = encoded_folder.EncodedFolderWriter.append, [5]

    def append(self, encoded):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        original(self, encoded)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoded_folder, "JOB_BYTES", 2000)
        patch.setattr(encoded_folder.EncodedFolderWriter, "append", append)
        with pytest.raises(KeyboardInterrupt):
            tokenmill.encode_files(tok, str(folder / "sources" / "*"), tmp_path / "out")


def test_what_was_encoded_before_ctrl_c_is_kept(made, interrupted, tmp_path):
    tok, folder, expected = made
    sources = str(folder / "sources" / "*")
    assert [path.name for path in tmp_path.iterdir()] == [".out.unfinished"]
    with pytest.raises(UsageError, match=r"unfinished job with different options.*delete .*\.out\.unfinished"):
        tokenmill.encode_files(tok, sources, tmp_path / "out", options=EncodeOptions(False))
    with pytest.raises(UsageError, match="unfinished job with different sources"):
        tokenmill.encode_files(tok, folder / "sources" / "a.txt", tmp_path / "out")
    with pytest.raises(UsageError, match="unfinished job with different tokenizer"):
        other = tokenmill.train_from_iterator([text(9, 4000)], 320, special_tokens=["<|endoftext|>"])
        tokenmill.encode_files(other, sources, tmp_path / "out")
    assert tokenmill.encode_files(tok, sources, tmp_path / "out").resumed_bytes > 0
    assert files_in(tmp_path) == expected["bin"]


def test_a_file_that_came_meanwhile_is_not_replaced(made, interrupted, tmp_path):
    tok, folder, expected = made
    sources = str(folder / "sources" / "*")
    (tmp_path / "out").write_text("precious")
    with pytest.raises(OutputError, match=r"out exists: a file of 8 bytes"):
        tokenmill.encode_files(tok, sources, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "precious"
    tokenmill.encode_files(tok, sources, tmp_path / "out", job=JobOptions(overwrite=True))
    assert files_in(tmp_path) == expected["bin"]


def test_a_file_that_appears_while_the_job_runs_is_not_replaced(made, tmp_path, monkeypatch):
    tok, folder, expected = made
    original = output._build_files

    def build(*arguments):
        (tmp_path / "out").write_text("precious")
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(output, "_build_files", build)
        with pytest.raises(OutputError, match=r"out exists: a file of 8 bytes"):
            tokenmill.encode_files(tok, str(folder / "sources" / "*"), tmp_path / "out")
    assert (tmp_path / "out").read_text() == "precious"
    (tmp_path / "out").unlink()
    tokenmill.encode_files(tok, str(folder / "sources" / "*"), tmp_path / "out")
    assert files_in(tmp_path) == expected["bin"]


def test_a_checkpoint_whose_files_are_gone_is_told(made, interrupted, tmp_path):
    tok, folder, _ = made
    ids = tmp_path / ".out.unfinished" / "part-00000" / "ids"
    os.truncate(ids, ids.stat().st_size - 1)
    with pytest.raises(UsageError, match=r"ids is missing or damaged. To start again, delete .*\.out\.unfinished"):
        tokenmill.encode_files(tok, str(folder / "sources" / "*"), tmp_path / "out")


def test_resume_can_be_refused(made, interrupted, tmp_path):
    tok, folder, expected = made
    summary = tokenmill.encode_files(tok, str(folder / "sources" / "*"), tmp_path / "out", job=JobOptions(resume=False))
    assert summary.resumed_bytes == 0
    assert files_in(tmp_path) == expected["bin"]


def test_ctrl_c_ends_with_130_and_leaves_nothing_half_written(made, tmp_path):
    _, folder, _ = made
    with open(tmp_path / "big.txt", "wb") as file:
        for _ in range(600):
            file.write((folder / "sources" / "a.txt").read_bytes() * 16)
    command = [sys.executable, "-m", "tokenmill", "encode", "big.txt", "--tokenizer", folder / "tok", "-o", "out/t.bin"]
    process = subprocess.Popen(command, env=ENVIRONMENT, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    ids = tmp_path / "out" / ".t.bin.unfinished" / "part-00000" / "ids"
    while process.poll() is None and not (ids.exists() and ids.stat().st_size > 0):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert process.returncode == 130, message
    assert "stopped" in message and "Traceback" not in message
    # Without a checkpoint, the working folder and the new folder of the output are deleted.
    assert {path.name for path in (tmp_path / "out").glob("*")} <= {".t.bin.unfinished"}


def test_files_are_closed_where_the_disk_is_full_at_the_end(tmp_path, full_disk):
    """An open file would say so once more when it is collected, with a traceback."""
    with contextlib.suppress(OSError):
        (full_disk / "filler").write_bytes(bytes(1 << 20))
    writer = encoded_folder.EncodedFolderWriter(full_disk)
    with pytest.raises(OutputError, match="No space left"), writer:
        writer.write("ids", bytes(100))
    assert all(file.closed for file in writer._files.values())


def test_a_full_disk_is_one_error_and_there_is_a_way_on(made, tmp_path, full_disk):
    tok, folder, _ = made
    text = (folder / "sources" / "a.txt").read_bytes() * 12
    (tmp_path / "big.txt").write_bytes(text)
    (full_disk / "filler").write_bytes(bytes(200_000))
    command = [sys.executable, "-m", "tokenmill", "encode", str(tmp_path / "big.txt")]
    options = ["--tokenizer", str(folder / "tok"), "-o", str(full_disk / "t.bin")]
    result = subprocess.run([*command, *options], env=ENVIRONMENT, capture_output=True, text=True)
    assert result.returncode == 1
    assert f"cannot write {full_disk / 't.bin'}: No space left on device" in result.stderr
    assert "Traceback" not in result.stderr
    with pytest.raises(OutputError, match="No space left"):
        tokenmill.encode_files(tok, tmp_path / "big.txt", full_disk / "t.bin")
    assert not (full_disk / "t.bin").exists()
    (full_disk / "filler").unlink()
    tokenmill.encode_files(tok, tmp_path / "big.txt", full_disk / "t.bin")
    assert tok.decode_bytes(tokenmill.load_tokens(full_disk / "t.bin", tok=tok)[0]) == text
