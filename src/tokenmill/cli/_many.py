"""An option that takes all that follows it: `--on SRC SRC ...`, so that the shell may expand a glob there."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

__all__ = ["taking_many"]


def taking_many(*options: str) -> type[TyperCommand]:
    """A command in which every argument between one of `options` and the next option is a value of that one."""

    class Command(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            repeated: list[str] = []
            after = ""
            for arg in args:
                if arg in options:
                    after = arg
                elif arg.startswith("-"):
                    after = ""
                    repeated.append(arg)
                else:
                    repeated += [after, arg] if after else [arg]
            return super().parse_args(ctx, repeated)

    return Command
