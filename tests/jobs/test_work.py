"""Jobs in parts: each part is done once, however often the job is interrupted; and nobody else's job is resumed."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tokenmill
from tokenmill.errors import InputError, OutputError, UsageError
from tokenmill.jobs.work import JobOptions, do_tasks, group_by_size
from tokenmill.jobs.working_folder import alone, fingerprint, path_beside, working_folder
from tokenmill.kernels import machine
from tokenmill.sources.find import Skip

LOCAL = JobOptions()


class Letters:
    """Each part writes a letter ten times, one in each step, and fails where it is told to."""

    stage = "letters"
    sizes = (10, 10, 10)

    def __init__(self, fail=None):
        self.fail = fail
        self.steps = []

    def do(self, task):
        part = task.number
        first = (task.load() or {"done": 0})["done"]
        with open(task.folder / str(part), "ab") as file:
            file.truncate(first)
            for step in range(first, 10):
                if self.fail == (part, step):
                    raise InputError("told to fail")
                self.steps.append((part, step))
                file.write(b"abc"[part : part + 1])
                file.flush()
                task.save({"done": step + 1})
                task.show(step + 1)
        return part * 100


def run(output, work, key=None, **options):
    with working_folder(path_beside(output), output, key or {"sources": "s", "options": 1}, **options) as folder:
        results = do_tasks(work.stage, work.sizes, work.do, folder, LOCAL)
        whole = folder.path / "whole"
        whole.write_bytes(b"".join((folder.path / str(part)).read_bytes() for part in range(3)))
        folder.publish([("whole", output)])
    return results


def test_all_parts_are_done_in_order_and_the_folder_goes(tmp_path):
    work, seen = Letters(), []
    with working_folder(path_beside(tmp_path / "out"), tmp_path / "out", {}) as folder:
        results = do_tasks(work.stage, work.sizes, work.do, folder, LOCAL, progress=lambda *now: seen.append(now))
    assert results == [(0, False), (100, False), (200, False)]
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1] == ("letters", 30, 30)
    assert os.listdir(tmp_path) == []


def test_after_a_failure_only_the_rest_is_done(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InputError):
        run(out, Letters(fail=(1, 4)))
    assert os.listdir(tmp_path) == [".out.unfinished"]
    work = Letters()
    assert run(out, work) == [(0, True), (100, False), (200, False)]
    assert work.steps == [(1, step) for step in range(4, 10)] + [(2, step) for step in range(10)]
    assert out.read_bytes() == b"a" * 10 + b"b" * 10 + b"c" * 10
    assert os.listdir(tmp_path) == ["out"]


def test_a_failure_before_the_first_state_leaves_nothing(tmp_path):
    with pytest.raises(InputError):
        run(tmp_path / "out", Letters(fail=(0, 0)))
    assert os.listdir(tmp_path) == []


def test_another_job_is_not_resumed(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InputError):
        run(out, Letters(fail=(1, 4)))
    with pytest.raises(UsageError, match=r"unfinished job with different sources.*delete .*\.out\.unfinished"):
        run(out, Letters(), {"sources": "t", "options": 1})
    with pytest.raises(UsageError, match="unfinished job with different options"):
        run(out, Letters(), {"sources": "s", "options": 2})
    (path_beside(out) / "manifest.json").write_text("{")
    with pytest.raises(UsageError, match=r"manifest\.json cannot be read"):
        run(out, Letters())
    work = Letters()
    run(out, work, {"sources": "t", "options": 1}, resume=False)
    assert len(work.steps) == 30


def test_a_job_that_another_process_does_is_left_alone(tmp_path):
    folder = path_beside(tmp_path / "out")
    folder.mkdir()
    with open(folder / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is writing"):
            run(tmp_path / "out", Letters())
    run(tmp_path / "out", Letters())


def test_a_file_system_without_locks_locks_nothing(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    run(tmp_path / "out", Letters())
    with alone(tmp_path / "out"):
        pass
    assert os.listdir(tmp_path) == ["out"]


def test_temporary_files_of_a_killed_process_are_deleted(tmp_path):
    """But not those of other outputs, and nothing while another process writes this one."""
    killed = f".ou[t].{'0a' * 8}.part"
    others = [f".ou[t].txt.{'0a' * 8}.part", f".out.{'0a' * 8}.part", ".ou[t].old.part"]
    for name in (killed, *others):
        (tmp_path / name).touch()
    folder = path_beside(tmp_path / "ou[t]")
    (folder / f".tokenmill.{'0a' * 8}.part").mkdir(parents=True)
    with open(folder / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is writing"), alone(tmp_path / "ou[t]"):
            pytest.fail("began")
    assert sorted(os.listdir(tmp_path)) == sorted([killed, *others, folder.name])
    with alone(tmp_path / "ou[t]"):
        assert os.listdir(folder) == ["lock"]
    assert sorted(os.listdir(tmp_path)) == sorted(others)


def test_the_rest_of_a_job_that_was_killed_at_its_end_is_deleted(tmp_path):
    out, folder = tmp_path / "out", path_beside(tmp_path / "out")
    out.mkdir()
    (out / "a").touch()
    for left in ((), ("lock",), ("lock", "ids")):
        folder.mkdir()
        for name in left:
            (folder / name).touch()
        with pytest.raises(OutputError, match="exists"):
            LOCAL.check_output(out, Path.is_file, [])
        assert os.listdir(tmp_path) == ["out"]
    folder.mkdir()
    with open(folder / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match="exists"):
            LOCAL.check_output(out, Path.is_file, [])
        assert folder.exists()


def test_publishing_that_was_cut_off_goes_on(tmp_path):
    for name in ("data", "about"):
        (tmp_path / name).write_text("old")
    with working_folder(tmp_path / "w", tmp_path / "data", {}) as folder:
        for name in ("a", "b"):
            (folder.path / name).write_text("new")
        with pytest.raises(OutputError):
            folder.publish([("a", tmp_path / "data"), ("b", tmp_path / "missing" / "about")])
        assert (tmp_path / "data").read_text() == "new"
        folder.publish([("a", tmp_path / "data"), ("b", tmp_path / "about")])
    assert (tmp_path / "about").read_text() == "new"


def test_an_error_of_a_source_is_not_one_of_the_output(tmp_path):
    with (
        pytest.raises(OSError, match="Input/output error") as caught,
        working_folder(path_beside(tmp_path / "out"), tmp_path / "out", {}),
    ):
        raise OSError(5, "Input/output error")
    assert not isinstance(caught.value, OutputError)
    assert os.listdir(tmp_path) == []


def test_a_lock_on_a_deleted_file_is_not_held(tmp_path, monkeypatch):
    """A process opens the lock, and before it locks it, the last holder ends and deletes it, and a third one begins."""
    path, entered = path_beside(tmp_path / "out"), []

    def lock_late(file):
        if not entered:
            entered.append(file)
            (path / "lock").unlink()
            path.rmdir()
            entered.append(working_folder(path, tmp_path / "out", {}))
            entered[1].__enter__()
        machine.lock_file(file)

    monkeypatch.setattr("tokenmill.jobs.working_folder.lock_file", lock_late)
    with pytest.raises(UsageError, match="another process"), working_folder(path, tmp_path / "out", {}):
        pytest.fail("two hold the folder")
    entered[1].__exit__(None, None, None)
    assert os.listdir(tmp_path) == []


def test_sources_are_told_apart_by_name_size_and_date(tmp_path):
    path = tmp_path / "a"
    path.write_text("one")
    first = fingerprint([path])
    assert fingerprint([path]) == first
    os.utime(path, ns=(1, 1))
    assert fingerprint([path]) != first
    assert fingerprint([path, path]) != fingerprint([path])


def test_groups_hold_about_as_much():
    sources = [(str(number), size) for number, size in enumerate([5, 5, 1, 30, 2, 9])]
    groups = [[size for _, size in group] for group in group_by_size(sources, 10)]
    assert groups == [[5, 5], [1], [30], [2], [9]]
    assert group_by_size([], 10) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "spark"}, "known are local, ray"),
        ({"ray_address": "auto"}, "only for engine='ray'"),
        ({"num_threads": 0}, "must be at least 1"),
    ],
)
def test_options_that_cannot_be_right(options, message):
    with pytest.raises(UsageError, match=message):
        JobOptions(**options)


def test_a_pipe_is_not_resumed_and_not_read_by_tasks(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    assert JobOptions().resumes([tmp_path / "file"])
    assert not JobOptions().resumes([tmp_path / "file", tmp_path / "pipe"])
    assert not JobOptions().resumes(["-"])
    with pytest.raises(UsageError, match="standard input or a pipe"):
        JobOptions("ray").resumes(["-"])


def test_what_is_left_of_another_pipe_is_not_taken_up(tmp_path, monkeypatch):
    """Standard input has the same name each time, and is never the same."""
    tok = tokenmill.train_from_iterator(["a text"], vocab_size=258, special_tokens=["<|endoftext|>"])
    output = tmp_path / "t.bin"

    def encode(text, progress=None):
        (tmp_path / "input").write_text(text)
        with open(tmp_path / "input") as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            tokenmill.encode_files(tok, "-", output, job=JobOptions(checkpoint_every=0), progress=progress)

    def stop_at_the_second_call(*now):
        calls.append(now)
        if len(calls) == 2:
            raise KeyboardInterrupt

    calls = []
    with pytest.raises(KeyboardInterrupt):
        encode("first " * 2_000_000, stop_at_the_second_call)
    assert list(path_beside(output).glob("encode-*.json")), "there is something to take up"
    encode("second")
    assert [tok.decode(ids) for ids in tokenmill.load_tokens(output, tok=tok)] == ["second"]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_work import Letters, run
class Dying(Letters):
    def do(self, task):
        self.save, task.save = task.save, self.save_and_die
        return super().do(task)
    def save_and_die(self, state):
        self.save(state)
        if len(self.steps) == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
run(Path(sys.argv[2]), Dying())
"""


def test_killed_after_any_step_each_step_is_done_once(tmp_path):
    source = str(Path(tokenmill.__file__).parents[1])
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(tmp_path / "out"), "7"]
    killed = 0
    while not (tmp_path / "out").exists():
        code = subprocess.run(command, env={**os.environ, "PYTHONPATH": source}).returncode
        assert code in (0, -signal.SIGKILL)
        killed += code != 0
    assert killed == 4  # 30 steps, 7 in each run
    assert (tmp_path / "out").read_bytes() == b"a" * 10 + b"b" * 10 + b"c" * 10


def test_skips_are_passed_on(tmp_path):
    def do(task):
        task.on_skip(Skip("a", "line 1", "no text"))

    skips = []
    with working_folder(path_beside(tmp_path / "out"), tmp_path / "out", {}) as folder:
        do_tasks("skip", [None], do, folder, LOCAL, skips.append)
    assert [str(skip) for skip in skips] == ["a, line 1: no text"]


def test_ctrl_c_while_the_lock_is_taken_leaves_nothing(tmp_path, monkeypatch):
    """The folder is there before its lock is."""
    from tokenmill.jobs import working_folder as module

    def stop(file):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "lock_file", stop)
    with pytest.raises(KeyboardInterrupt), module.working_folder(tmp_path / "job", tmp_path / "out", {}):
        pass
    assert list(tmp_path.iterdir()) == []
