"""What needs a terminal: the interactive `tokenmill encode`, and the live view of a training."""

import os
import re
import select
import sys
import time

import pytest

import tokenmill

pty = pytest.importorskip("pty")


def read_until(terminal, wanted, seconds=60):
    """What the terminal shows, once `wanted` is in it; all of it where the other side hangs up."""
    seen, end = b"", time.monotonic() + seconds
    while wanted not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                seen += os.read(terminal, 4096)
            except OSError:
                break
    return seen


def on_terminal(*arguments):
    """Start tokenmill on a terminal of its own, 100 columns wide; its process and the terminal."""
    source = os.path.dirname(os.path.dirname(tokenmill.__file__))
    environment = {**os.environ, "PYTHONPATH": source, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(sys.executable, [sys.executable, "-m", "tokenmill", *arguments], environment)
    return pid, terminal


@pytest.mark.parametrize("special", [False, True])
def test_typed_text_is_shown_as_tokens(special, tmp_path):
    tok = tokenmill.train_from_iterator(["the lowest low"] * 9, 265, special_tokens=["<x>"])
    tok.save(tmp_path / "tok")
    pid, terminal = on_terminal("encode", "--tokenizer", str(tmp_path / "tok"), *["--special"][:special])
    try:
        assert b"265 ids" in read_until(terminal, b"> ")
        os.write(terminal, "the lowest é\n".encode())
        shown = read_until(terminal, b"\n> ").decode()
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert "the" in plain and "·lowest" in plain and r"\xc3" in plain
        ids = [str(id) for id in tok.encode("the lowest é")]
        assert ids in [re.findall(r"\d+", line) for line in plain.splitlines()]
        assert "12 characters, 13 bytes, 5 tokens" in plain
        os.write(terminal, b"<x>\n")  # a special token only where --special says so, as in a pipe
        number = 1 if special else len(tok.encode("<x>", disallowed_special=()))
        assert f"3 characters, 3 bytes, {number} token{'s' * (not special)}".encode() in read_until(terminal, b"\n> ")
        os.write(terminal, b"\x04")
        read_until(terminal, b"never shown", seconds=10)
    finally:
        os.close(terminal)
        status = os.waitpid(pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0


def test_verbose_shows_the_latest_merges_below_the_bar(tmp_path):
    (tmp_path / "a.txt").write_text("cab " * 5 + "dab " * 3 + "cad " * 7 + "lower lowest newer newest " * 40)
    job = "train", str(tmp_path / "a.txt"), "--vocab-size", "275", "--refine", "0.6", "-o", str(tmp_path / "tok")
    pid, terminal = on_terminal(*job, "-v")
    try:
        shown = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", read_until(terminal, b"peak memory")).decode()
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    events = tokenmill.load(tmp_path / "tok").vocabulary.events
    removals = sum(right < 0 for _, right, _ in events.tolist())
    assert f"{len(events) - removals} merges and {removals} removals; the best pair occurs" in shown
    rows = re.findall(r"^ *(\d+)  (.+? -> \S+|removed \S+)  ", shown, re.MULTILINE)
    assert [int(rank) for rank, _ in rows[-10:]] == list(range(len(events) - 10, len(events)))
    assert any(row.startswith("removed ") for _, row in rows)
