"""The demonstration ends by offering the playground: it asks on a terminal, and never waits anywhere else."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

# The demonstration on one small module in place of the whole library.
SMALL = """
import json, sys
from pathlib import Path
sys.path.insert(0, {!r})
import demo
demo.standard_library = lambda: [Path(json.__file__)]
demo.VOCAB_SIZE = 300
sys.argv = ["demo", sys.argv[1]]
sys.exit(demo.main())
""".format(str(Path(__file__).resolve().parents[2] / "scripts"))


def test_it_does_not_wait_where_nobody_can_answer(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SMALL, tmp_path / "demo"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"play {tmp_path / 'demo'}" in done.stdout and "Open the playground" not in done.stdout


class Terminal:
    """The demonstration on a terminal of its own."""

    def __init__(self, folder):
        environment = {name: value for name, value in os.environ.items() if name not in ("CI", "DISPLAY", "BROWSER")}
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", SMALL, folder], stdin=slave, stdout=slave, stderr=slave,
            env={**environment, "TERM": "dumb"}, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.seen = ""

    def read_until(self, words, seconds=120):
        end = time.monotonic() + seconds
        while words not in self.seen and time.monotonic() < end:
            if select.select([self.master], [], [], 1)[0]:
                try:
                    self.seen += os.read(self.master, 4096).decode()
                except OSError:  # the other end was closed
                    break
        assert words in self.seen, self.seen

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(tmp_path):
    terminal = Terminal(tmp_path / "demo")
    yield terminal
    terminal.close()


def test_it_asks_on_a_terminal_and_no_is_an_answer(terminal):
    terminal.read_until("[y/N]")
    os.write(terminal.master, b"\n")
    assert terminal.process.wait(60) == 0


def test_yes_opens_the_playground(terminal):
    terminal.read_until("[y/N]")
    os.write(terminal.master, b"y\n")
    terminal.read_until("(Ctrl-C ends it)")
    address = terminal.seen.rpartition("playground is at ")[2].split()[0]
    assert b"tokenmill" in urllib.request.urlopen(address, timeout=30).read()
    os.kill(terminal.process.pid, signal.SIGINT)
    assert terminal.process.wait(60) == 0
