"""The command line: called inside of a test, with what it printed, and as a process."""

import contextlib
import io
import sys
from dataclasses import dataclass
from unittest.mock import patch


def program(words: str, *paths) -> list[str]:
    """The command of a process: `tokenmill WORDS PATHS`."""
    return [sys.executable, "-m", "tokenmill", *words.split(), *map(str, paths)]


class Output(io.TextIOWrapper):
    """A text stream that also records, in order, what is written to it and to others of the same record."""

    def __init__(self, record):
        super().__init__(Bytes(record), "utf-8", errors="backslashreplace", write_through=True)

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode("utf-8", "replace")


class Bytes(io.BytesIO):
    def __init__(self, record):
        super().__init__()
        self.record = record

    def write(self, data):
        self.record.append(bytes(data))
        return super().write(data)


@dataclass
class Result:
    """exit_code: of the command. output: stdout and stderr as a terminal shows them."""

    exit_code: int
    output: str
    stdout: str
    stderr: str


class CliRunner:
    """Calls `tokenmill.cli.main.app`, with variables of the environment and text for stdin."""

    def __init__(self, env=None):
        self.env = env or {}

    def invoke(self, app, words, input="", env=None):
        record = []
        out, err = Output(record), Output(record)
        stdin = io.TextIOWrapper(io.BytesIO(input.encode() if isinstance(input, str) else input), "utf-8")
        with contextlib.ExitStack() as stack:
            stack.enter_context(patch.dict("os.environ", {**self.env, **(env or {})}))
            for name, stream in (("stdin", stdin), ("stdout", out), ("stderr", err)):
                stack.enter_context(patch.object(sys, name, stream))
            code = app(words)
        return Result(code, b"".join(record).decode("utf-8", "replace"), out.text(), err.text())


def call(*words, cwd=".", input="", env=None):
    """Run `tokenmill WORDS` in this process, in the folder `cwd`. Much faster than a process of its own."""
    from tokenmill.cli.main import app

    with contextlib.chdir(cwd):
        return CliRunner(env).invoke(app, [str(word) for word in words], input)
