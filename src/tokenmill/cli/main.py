"""The command line. Exits with 2 for a usage error, 1 for a failure, 130 for Ctrl-C.

A verb is a function in a module of this folder, which is imported when the verb is called.
"""

from __future__ import annotations

import errno
import itertools
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click
from click.shell_completion import get_completion_class

from .. import __version__
from ..errors import TokenmillError, UsageError
from ..jobs import outputs
from . import _options as opt
from ._commands import Verb, all_fields, command_of, nearest, spelled
from ._console import SHOWN_SKIPS, fail, say, verbosity
from ._verbs import PANELS, help_text

VERBS = {name: summary for verbs in PANELS.values() for name, summary in verbs.items()}
MODULES = {"decode": "encode", "extend": "prune"}  # verbs in modules of another name


def run(command: Callable[[], Any], verb: Callable[[], Verb | None] = lambda: None) -> Any:
    """Call `command`; a user's mistake becomes one message and an exit code, never a traceback without --verbose.

    verb: returns the command that failed, whose options the message names.
    """
    try:
        return command()
    except TokenmillError as error:
        if verbosity.verbose:
            import traceback

            traceback.print_exc()
        failed = verb()
        fail(spelled(error, failed.fields if failed else {}))
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except click.ClickException as error:
        fail(error.format_message())
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort) as stop:
        done = ", ".join(map(str, outputs.written[:3])) + ", ..." * (len(outputs.written) > 3)
        fail("stopped; nothing was left half-written" + f", and this was finished before: {done}" * bool(done))
        signal = (stop.__cause__ or stop).args  # click raises Abort from a KeyboardInterrupt
        sys.exit(128 + signal[0] if signal else 130)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EBADF):
            raise
        advice = " Free some space, and run the command again." if error.errno == errno.ENOSPC else ""
        fail(f"cannot write {error.filename or 'the output'}: {error.strerror}.{advice}")
        sys.exit(1)


def _note(message: str, number: int) -> None:
    """Print the first notes, or with --verbose all."""
    if verbosity.verbose or number <= SHOWN_SKIPS:
        say(f"note: {message}")
    elif number == SHOWN_SKIPS + 1:
        say("note: and more; --verbose lists all")


class _Verbs(click.Group):
    verb: Verb | None = None  # the one that runs

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> Verb | None:
        if name not in VERBS:
            return None
        module = import_module(f".{MODULES.get(name, name)}", __package__)
        shared = {field.name: field for field in all_fields(opt.messages)}
        return command_of(getattr(module, name), opt.messages, **shared)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] == "help":
            args = [*args[1:2], "--help"]
        if args[0] == "--help":
            print(help_text())
            ctx.exit()
        if args[0] not in VERBS:
            raise UsageError(f"{args[0]!r} is not a verb.{nearest(args[0], list(VERBS))} tokenmill --help lists all.")
        self.verb = self.get_command(ctx, args[0])
        return args[0], self.verb, args[1:]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(help_text())

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        verbosity.quiet = verbosity.verbose = False
        outputs.written.clear()
        self.verb = None
        with warnings.catch_warnings():
            warnings.simplefilter("always", UnicodeWarning)  # text that was changed while it was read
            shown = itertools.count(1)
            warnings.showwarning = lambda message, *_: _note(str(message), next(shown))
            code = run(lambda: super(_Verbs, self).main(*args, standalone_mode=False, **extra), lambda: self.verb)
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code


def _print_completion(ctx: click.Context, param: click.Parameter, shell: str | None) -> None:
    """Print the script that completes verbs and options: eval "$(tokenmill --completion bash)"."""
    if shell:
        completion = get_completion_class(shell)
        assert completion is not None  # a choice of those that click has
        print(completion(ctx.command, {}, "tokenmill", "_TOKENMILL_COMPLETE").source())
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
app = click.version_option(__version__, "--version", "-V", message="tokenmill %(version)s")(app)
