"""tokenmill encode on a terminal, without sources: type text, see its tokens and their ids."""

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


@pytest.mark.parametrize("special", [False, True])
def test_typed_text_is_shown_as_tokens(special, tmp_path):
    tok = tokenmill.train_from_iterator(["the lowest low"] * 9, 265, special_tokens=["<x>"])
    tok.save(tmp_path / "tok")
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(tokenmill.__file__)), "TERM": "xterm"}
    pid, terminal = pty.fork()
    if pid == 0:
        command = [
            sys.executable,
            "-m",
            "tokenmill",
            "encode",
            "--tokenizer",
            str(tmp_path / "tok"),
            *["--special"][:special],
        ]
        os.execvpe(sys.executable, command, environment)
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
        assert f"3 characters, 3 bytes, {number} tokens".encode() in read_until(terminal, b"\n> ")
        os.write(terminal, b"\x04")
        read_until(terminal, b"never shown", seconds=10)
    finally:
        os.close(terminal)
        status = os.waitpid(pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0
