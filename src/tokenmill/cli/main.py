"""The command line. Exits with 2 for a usage error, 1 for a failure, 130 for Ctrl-C.

A verb is a function in a module of this folder, which is imported when the verb is called.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import click
from click.shell_completion import get_completion_class

from .. import __version__
from ..errors import TokenmillError, UsageError
from ..jobs import outputs
from . import _options as opt
from ._commands import Verb, command_of
from ._console import fail, say, verbosity
from ._messages import name_options
from ._verbs import PANELS, help_text

# NumPy starts one thread per core for linear algebra, which tokenmill does not use; they spin for 0.1 s at exit.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Arrow's own allocator clears more fresh memory: 0.17 s of 1.4 s of CPU time (docs/experiments/counting.md).
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

# Imports make many objects that stay. To look for garbage among them takes 8 % of the CPU time of encoding one line (Intel Xeon,
# 2026-11-22).
gc.set_threshold(50_000)

VERBS = {name: summary for verbs in PANELS.values() for name, summary in verbs.items()}
MODULES = {"decode": "encode", "shrink": "prune"}  # verbs in modules of another name


def run(command: Callable[[], Any], verb: Callable[[], Any] = lambda: None) -> Any:
    """Call `command`; a user's mistake becomes one message and an exit code, never a traceback without --verbose.

    verb: gives the click command that failed, whose options the message names.
    """
    try:
        return command()
    except TokenmillError as error:
        if verbosity.verbose:
            import traceback

            traceback.print_exc()
        fail(name_options(str(error), verb()))
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except KeyboardInterrupt as stop:
        done = ", ".join(map(str, outputs.written[:3])) + ", ..." * (len(outputs.written) > 3)
        fail("stopped; nothing was left half-written" + f", and this was finished before: {done}" * bool(done))
        sys.exit(128 + stop.args[0] if stop.args else 130)  # the number of the signal
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        fail(
            f"cannot write {error.filename or 'the output'}: {error.strerror}. Free some space, and run the command again."
        )
        sys.exit(1)


def _with_messages(call: Callable[[], Any], quiet: bool, verbose: bool) -> Any:
    """Do what a verb does, with the options --quiet and --verbose, which every verb has."""
    verbosity.quiet, verbosity.verbose = quiet, verbose
    return call()


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> Verb | None:
        if name not in VERBS:
            return None
        module = import_module(f".{MODULES.get(name, name)}", __package__)
        return command_of(getattr(module, name), _with_messages, quiet=opt.Quiet, verbose=opt.Verbose)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(help_text())

    def invoke(self, ctx: click.Context) -> Any:
        verbosity.quiet = verbosity.verbose = False
        outputs.written.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("always", UnicodeWarning)  # text that was changed while it was read
            warnings.showwarning = lambda message, *_: say(f"note: {message}")
            # The verb is known once it is invoked.
            return run(partial(super().invoke, ctx), lambda: self.get_command(ctx, ctx.invoked_subcommand or ""))


def _print_completion(ctx: click.Context, param: click.Parameter, shell: str | None) -> None:
    """Print the script that completes verbs and options: eval "$(tokenmill --completion bash)"."""
    if shell:
        made = get_completion_class(shell)
        assert made is not None  # a choice of those that click has
        print(made(ctx.command, {}, "tokenmill", "_TOKENMILL_COMPLETE").source())
        ctx.exit()


app = _Verbs(
    "tokenmill",
    params=[
        click.Option(
            ["--completion"],
            type=click.Choice(["bash", "zsh", "fish"]),
            is_eager=True,
            expose_value=False,
            callback=_print_completion,
        )
    ],
    callback=lambda: None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app = click.version_option(__version__, message="tokenmill %(version)s")(app)
