"""The command line: one verb, one module. Ends with 2 for a wrong call, 1 for a failure, 130 for Ctrl-C."""

from __future__ import annotations

import sys

import click
import typer

from ..errors import TokenmillError, UsageError
from ._console import fail

__all__ = ["app", "main"]

app = typer.Typer(
    name="tokenmill",
    help="Make, use and judge byte-level BPE tokenizers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _root() -> None:
    pass


def main() -> None:
    """Run the command line and exit with its code; a user's mistake is one message, never a traceback."""
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        fail(str(error))
        code = 2
    except TokenmillError as error:
        fail(str(error))
        code = 1
    except (click.exceptions.Abort, KeyboardInterrupt):
        fail("stopped; nothing was left half-written")
        code = 130
    except click.exceptions.ClickException as error:
        error.show()
        code = error.exit_code
    except BrokenPipeError:
        code = 1
    sys.exit(code or 0)
