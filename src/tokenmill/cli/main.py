"""The command line. Exits with 2 for a usage error, 1 for a failure, 130 for Ctrl-C.

A verb is a function in a module of this folder, which is imported when the verb is called.
"""

from __future__ import annotations

import errno
import warnings
from collections.abc import Sequence
from importlib import import_module

from ..errors import TokenmillError, UsageError, nearest
from ..jobs import outputs
from ._commands import Verb, spelled
from ._console import SHOWN_SKIPS, fail, say, verbosity
from ._verbs import VERBS

# Verbs in modules of another name.
MODULES = {"compare": "inspect", "decode": "encode", "verify": "join"}
MODULES |= dict.fromkeys(("convert", "extend", "prune"), "check")


def verb_of(name: str) -> Verb:
    if name not in VERBS:
        raise UsageError(f"{name!r} is not a verb.{nearest(name, [*VERBS, 'help'])} tokenmill --help lists all.")
    module = import_module(f".{MODULES.get(name, name)}", __package__)
    return Verb(getattr(module, name))


def app(words: Sequence[str]) -> int:
    """Run the command and return its exit code. A user's mistake becomes one message, a traceback only with --verbose."""
    verbosity.quiet = verbosity.verbose = False
    outputs.written.clear()
    if words[0] in ("help", "-h", "--help"):
        words = [*words[1:2], "--help"]
    verb = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UnicodeWarning)  # text that was changed while it was read
            seen: set[str] = set()  # so that a source that is read twice has one note
            warnings.showwarning = lambda message, *_: _note(str(message), seen)
            verb = verb_of(words[0])
            return verb(words[1:]) or 0
    except TokenmillError as error:
        if verbosity.verbose:
            import traceback

            traceback.print_exc()
        fail(spelled(error, verb.fields if verb else {}))
        return 2 if isinstance(error, UsageError) or words[0] == "check" else 1  # 1 is for a difference, as in diff
    except KeyboardInterrupt as stop:
        finished = ", ".join(map(str, outputs.written[:3])) + ", ..." * (len(outputs.written) > 3)
        before = f", and this was finished before: {finished}" if finished else ""
        fail(f"stopped; nothing was left half-written{before}")
        return 128 + stop.args[0] if stop.args else 130
    except BrokenPipeError:
        return 1
    except MemoryError:
        fail("there is not enough memory. Fewer --num-threads need less, and counting obeys --memory-limit.")
        return 1
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EBADF):
            raise
        advice = " Free some space, and run the command again." if error.errno == errno.ENOSPC else ""
        fail(f"cannot write {error.filename or 'the output'}: {error.strerror}.{advice}")
        return 1


def _note(message: str, seen: set[str]) -> None:
    """Print a new note, if it is one of the first or with --verbose."""
    if message in seen:
        return
    seen.add(message)
    if verbosity.verbose or len(seen) <= SHOWN_SKIPS:
        say(f"note: {message}")
    elif len(seen) == SHOWN_SKIPS + 1:
        say("note: and more; --verbose lists all")
