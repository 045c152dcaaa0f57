"""Ctrl-C, SIGTERM and SIGHUP end a command whenever they come, and nothing half-written is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tokenmill

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(tokenmill.__file__).parents[1])}
COMMANDS = ("count - -o out", "encode - --tokenizer tok --no-end-of-text -o out.bin", "train - --vocab-size 300 -o out")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer") / "tok"
    tokenmill.train_from_iterator(["low lower"], 258).save(folder)
    return folder


def stopped(folder, arguments, number, lines, delay):
    """Start a command whose input never ends, and send it a signal; its exit code and messages.

    A pipe holds 64 kB: more is written only while the command reads.
    """
    command = [sys.executable, "-m", "tokenmill", *arguments.split()]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, **pipes, text=True, restore_signals=True)
    process.stdin.write("some text to be read\n" * lines)
    process.stdin.flush()
    time.sleep(delay)
    process.send_signal(number)
    lost = False
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        lost = True
    messages = process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    if lost:
        pytest.fail(f"signal {number} after {delay} s was lost: {messages}")
    return process.returncode, messages


# Every signal has the same handler; what a command leaves is its own.
@pytest.mark.parametrize(
    ("arguments", "number"),
    [*((arguments, signal.SIGINT) for arguments in COMMANDS), *((COMMANDS[0], n) for n in (signal.SIGTERM, signal.SIGHUP))],
)  # fmt: skip
def test_a_signal_ends_a_command_that_is_at_work(tmp_path, tokenizer, arguments, number):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the tests run under nohup, which commands respect")
    (tmp_path / "tok").symlink_to(tokenizer)
    code, messages = stopped(tmp_path, arguments, number, 9000, 0.2)
    assert code == 128 + number and "stopped; nothing was left half-written" in messages
    assert os.listdir(tmp_path) == ["tok"]


@pytest.mark.parametrize("command", range(3))
def test_no_signal_is_lost_while_a_command_starts(tmp_path, tokenizer, command):
    (tmp_path / "tok").symlink_to(tokenizer)
    for step in range(command, 12 * SWEEP, 3):  # all commands together: every 50 ms
        code, messages = stopped(tmp_path, COMMANDS[command], signal.SIGINT, 1000, 0.6 * step / (12 * SWEEP))
        assert code != 0, messages  # before the program has begun, Python itself ends in another way
        assert code != 130 or "Traceback" not in messages
        assert os.listdir(tmp_path) == ["tok"]


LOST = """
import gc, os, signal, sys, time, weakref
sys.path.insert(0, sys.argv[2])
from tokenmill.cli import _clean_up_at_signals
_clean_up_at_signals()

def kill(*_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)

class Thing:
    if sys.argv[1] == "finalizer":
        __del__ = kill

try:
    if sys.argv[1] == "import":
        import catches_all
    else:
        thing = Thing()
        reference = weakref.ref(thing, kill if sys.argv[1] == "callback" else None)
        del thing
    time.sleep(20)
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_a_thread_pool_that_is_interrupted_logs_nothing():
    """Python's pools log what ends a thread outside of its work."""
    code = (
        "import concurrent.futures.thread as pools, os, signal, tokenmill.cli; tokenmill.cli._clean_up_at_signals()\n"
        "try: os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)\n"
        "except KeyboardInterrupt: pools._worker(lambda: None, None, None, ())"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=30)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("where", ["import", "callback", "finalizer"])
def test_a_signal_comes_again_where_python_drops_its_exception(tmp_path, where):
    (tmp_path / "catches_all.py").write_text(
        "import os, signal, time\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(0.01)\nexcept:\n    pass\n"
    )
    command = [sys.executable, "-c", LOST, where, str(tmp_path)]
    process = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=30)
    assert process.returncode == 130, process.stderr
    assert not process.stderr
