"""The command line in typer. Exits with 2 for a usage error, 1 for a failure, 130 for Ctrl-C.

A verb is a function in a module of this folder, which is imported when the verb is called.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup
from typer.main import get_command

from ..errors import TokenmillError, UsageError
from . import _options as opt
from ._console import fail, say, verbosity
from ._messages import name_options
from ._verbs import VERBS, help_text

# NumPy starts one thread per core for linear algebra, which tokenmill does not use; they spin for 0.1 s at exit.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

SUMMARIES = {name: summary for verbs in VERBS.values() for name, summary in verbs.items()}
MODULES = {"decode": "encode"}  # a verb in a module of another name


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
    except KeyboardInterrupt:
        fail("stopped; nothing was left half-written")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)


def with_message_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the options --quiet and --verbose, which every verb has."""

    @functools.wraps(function)
    def verb(quiet: bool, verbose: bool, **given: Any) -> Any:
        verbosity.quiet, verbosity.verbose = quiet, verbose
        return function(**given)

    hints = get_type_hints(function, include_extras=True)
    own = [p.replace(annotation=hints[p.name]) for p in inspect.signature(function).parameters.values()]
    for name, annotation in (("quiet", opt.Quiet), ("verbose", opt.Verbose)):
        own.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation))
    verb.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    verb.__annotations__ = {p.name: p.annotation for p in own}
    return verb


class _Verbs(TyperGroup):
    def list_commands(self, ctx):
        return list(SUMMARIES)

    def get_command(self, ctx, name):
        if name not in SUMMARIES:
            return None
        one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        module = import_module(f".{MODULES.get(name, name)}", __package__)
        one.command(name, cls=opt.VerbCommand)(with_message_options(getattr(module, name)))
        return get_command(one)

    def format_help(self, ctx, formatter):
        formatter.write(help_text())

    def invoke(self, ctx):
        verbosity.quiet = verbosity.verbose = False
        with warnings.catch_warnings():
            warnings.simplefilter("always", UnicodeWarning)  # text that was changed while it was read
            warnings.showwarning = lambda message, *_: say(f"note: {message}")
            return run(
                lambda: super(_Verbs, self).invoke(ctx), lambda: self.get_command(ctx, ctx.invoked_subcommand or "")
            )


app = typer.Typer(
    name="tokenmill",
    cls=_Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)


def _print_version(wanted: bool) -> None:
    from .. import __version__

    if wanted:
        print(f"tokenmill {__version__}")
        raise typer.Exit


@app.callback()
def _root(version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True)] = False) -> None:
    pass
