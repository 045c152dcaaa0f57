"""The command line: options and messages, no logic. `--help` and `--version` are answered here, without any library."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import NoReturn

own_process = False  # whether this process runs one command, and nothing else


def entry() -> None:
    """The program `tokenmill`."""
    global own_process
    own_process = True
    try:
        _run()
    except KeyboardInterrupt:  # while modules are loaded
        print("error: stopped; nothing was left half-written", file=sys.stderr)
        _leave(SystemExit(130))
    except SystemExit as end:
        _leave(end)


def _run() -> None:
    # A closed stream is None. Results that cannot be written are an error, messages are not.
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    # Files and pipes get UTF-8 on Windows too. A terminal gets what it can show.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    arguments = sys.argv[1:]
    if arguments in ([], ["-h"], ["--help"], ["help"]) and "_TOKENMILL_COMPLETE" not in os.environ:
        from ._verbs import help_text

        print(help_text())
        sys.exit(0 if arguments else 2)
    if arguments in (["--version"], ["-V"]):
        from .. import __version__

        print(f"tokenmill {__version__}")
        sys.exit(0)
    _tune()
    from .main import app

    app(prog_name="tokenmill", complete_var="_TOKENMILL_COMPLETE")


def _tune() -> None:
    """Settings for a process that runs one command. A program that imports tokenmill keeps its own."""
    # NumPy starts one thread per core for linear algebra, which tokenmill does not use; they spin for 0.1 s at exit.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own allocator clears more fresh memory: 0.17 s of 1.4 s of CPU time (docs/experiments/counting.md).
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # Imports make many objects that stay: to look for garbage among them is 8 % of the CPU time of encoding one line.
    gc.set_threshold(50_000)


def _leave(end: SystemExit) -> NoReturn:
    """End the process at once. Every file is closed, and to take the interpreter apart takes 8 to 14 % of the CPU time of encoding
    one line (385 ms with this, 447 without; Intel Xeon, 2026-11-23)."""
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
