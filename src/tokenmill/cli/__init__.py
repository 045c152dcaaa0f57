"""The command line: options and messages, no logic. `--help` and `--version` need no library."""

from __future__ import annotations

import gc
import io
import os
import sys

TYPE_CHECKING = False  # typing would be imported before Ctrl-C is caught
if TYPE_CHECKING:
    from typing import Any


def entry() -> None:
    """The program `tokenmill`."""
    try:
        try:
            code = _run()
        except SystemExit as end:
            code = end.code
        except BrokenPipeError:  # the reader of the output has seen enough
            code = 1
        except OSError as error:  # of help and completions; commands have messages of their own
            print(f"error: cannot write the output: {error.strerror}.", file=sys.stderr, flush=True)
            code = 1
        _leave(code)
    except KeyboardInterrupt as stop:  # while modules are loaded, or at the end
        print("error: stopped; nothing was left half-written", file=sys.stderr, flush=True)
        os._exit(128 + stop.args[0] if stop.args else 130)


def _run() -> Any:
    """Run the command and return its exit code."""
    # A closed stream is None. Reading input and writing results are errors then, writing messages is not.
    if sys.stdin is None:
        sys.stdin = open(os.open(os.devnull, os.O_WRONLY), "w")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    # Files and pipes get UTF-8 on Windows too, a terminal its own encoding.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    words = sys.argv[1:]
    if "_TOKENMILL_COMPLETE" in os.environ:
        from ._completion import completions

        print(*completions(words), sep="\n")
    elif words in ([], ["-h"], ["--help"], ["help"]):
        from ._verbs import help_text

        print(help_text())
        return 0 if words else 2
    elif words in (["--version"], ["-V"]):
        from .. import __version__

        print(f"tokenmill {__version__}")
    elif words[0] == "--completion":
        from ..errors import UsageError
        from ._completion import script

        try:
            print(script(words[1] if len(words) > 1 else ""))
        except UsageError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    else:
        _clean_up_at_signals()
        _tune()
        from .main import app

        return app(words)
    return 0


def _clean_up_at_signals() -> None:
    """Make SIGTERM, and SIGHUP from a closed terminal, end the command as Ctrl-C does, so that no output is left half-written.

    An exception is lost in an import that catches all (Cython's modules do), in a callback of a weak reference (imports and
    thread pools have them), and in a finalizer. There the signal is sent again a moment later.
    """
    import _thread
    import signal
    import time

    main = _thread.get_ident()

    def again(number: int) -> None:
        time.sleep(0.005)
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(main, number)  # wakes the thread up
        else:
            _thread.interrupt_main(signal.Signals(number))

    def stop(number: int, frame: Any) -> None:
        while frame is not None:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                _thread.start_new_thread(again, (number,))
                return
            frame = frame.f_back
        if "logging" in sys.modules:  # a thread whose pool is interrupted may log a traceback
            sys.modules["logging"].disable()
        raise KeyboardInterrupt(number)

    def unraisable(lost: Any) -> None:
        if isinstance(lost.exc_value, KeyboardInterrupt) and lost.exc_value.args:
            _thread.start_new_thread(again, lost.exc_value.args)
        else:
            sys.__unraisablehook__(lost)

    sys.unraisablehook = unraisable
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, stop)


def _tune() -> None:
    """Apply settings for a process that runs one command. A program that imports tokenmill keeps its own."""
    # NumPy starts one thread per core for linear algebra, which tokenmill does not use. They spin for 0.1 s at exit.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own allocator clears more fresh memory: 0.17 s of 1.4 s of CPU time (docs/experiments/counting.md).
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # Imports create many lasting objects. Searching these for garbage takes 8 % of the CPU time of encoding one line.
    gc.set_threshold(50_000)


def _leave(code: Any) -> None:
    """End the process without finalizing the interpreter, which takes 8 to 14 % of the CPU time of encoding one line (385 ms
    with this, 447 without; Intel Xeon, 2026-11-23). All files are closed by now."""
    if "ray" in sys.modules or not isinstance(code, int | None):  # Ray ends its own processes at exit
        sys.exit(code)
    code = code or 0
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if code == 0 and stream is sys.stdout and not isinstance(error, BrokenPipeError):
                print(f"error: cannot write the output: {error.strerror}.", file=sys.stderr, flush=True)
            code = code or 1
    os._exit(code)
