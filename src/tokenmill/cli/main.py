"""The command line. Exits with 2 for a usage error, 1 for a failure, 130 for Ctrl-C.

A verb is a function in a module of this folder, which is imported when the verb is called.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from ..errors import TokenmillError, UsageError
from ._console import fail, say
from ._messages import name_options
from ._options import VerbCommand

# NumPy starts one thread per core for linear algebra, which tokenmill does not use; they spin for 0.1 s at exit.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

VERBS = (
    *("clean", "count", "train", "encode", "decode", "convert", "check"),
    *("inspect", "compare", "prune", "extend", "play"),
)
MODULES = {"decode": "encode"}  # a verb in a module of another name


def run(command: Callable[[], Any], verb: Callable[[], Any] = lambda: None) -> Any:
    """Call `command`; a user's mistake becomes one message and an exit code, never a traceback.

    verb: gives the click command that failed, whose options the message names.
    """
    try:
        return command()
    except TokenmillError as error:
        fail(name_options(str(error), verb()))
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except KeyboardInterrupt:
        fail("stopped; nothing was left half-written")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)


class _Verbs(TyperGroup):
    def list_commands(self, ctx):
        return list(VERBS)

    def get_command(self, ctx, name):
        if name not in VERBS:
            return None
        one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        module = import_module(f".{MODULES.get(name, name)}", __package__)
        one.command(name, cls=VerbCommand)(getattr(module, name))
        return get_command(one)

    def invoke(self, ctx):
        with warnings.catch_warnings():
            warnings.simplefilter("always", UnicodeWarning)  # text that was changed while it was read
            warnings.showwarning = lambda message, *_: say(f"note: {message}")
            return run(
                lambda: super(_Verbs, self).invoke(ctx), lambda: self.get_command(ctx, ctx.invoked_subcommand or "")
            )


app = typer.Typer(
    name="tokenmill",
    cls=_Verbs,
    help="Make, use and judge byte-level BPE tokenizers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _root() -> None:
    pass
