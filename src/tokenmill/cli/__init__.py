"""The command line: options and messages, no logic. `--help` and `--version` are answered here, without any library."""

from __future__ import annotations

import io
import os
import sys
from typing import NoReturn

own_process = False  # whether this process runs one command, and nothing else


def entry() -> None:
    """The program `tokenmill`."""
    global own_process
    own_process = True
    from ._verbs import help_text

    # Files and pipes get UTF-8 on Windows too. A terminal gets what it can show.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    arguments = sys.argv[1:]
    if arguments in ([], ["-h"], ["--help"], ["help"]) and "_TOKENMILL_COMPLETE" not in os.environ:
        print(help_text())
        sys.exit(0 if arguments else 2)
    if arguments in (["--version"], ["-V"]):
        from .. import __version__

        print(f"tokenmill {__version__}")
        return
    from .main import app

    try:
        app(prog_name="tokenmill", complete_var="_TOKENMILL_COMPLETE")
    except SystemExit as end:
        _leave(end)


def _leave(end: SystemExit) -> NoReturn:
    """End the process at once. Every file is closed, and to take the interpreter apart takes 15 ms, with PyArrow 30 ms."""
    if "ray" in sys.modules or not isinstance(end.code, int | None):  # Ray ends its own processes at exit
        raise end
    code = end.code or 0
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            code = code or 1
            if stream is sys.stdout and not isinstance(error, BrokenPipeError):
                print(f"error: cannot write the output: {error.strerror}.", file=sys.stderr)
    os._exit(code)
