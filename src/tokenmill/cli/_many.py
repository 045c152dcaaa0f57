"""An option that takes all that follows it: `--on SRC SRC ...`, so that the shell may expand a glob there."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

__all__ = ["taking_many"]


def taking_many(option: str) -> type[TyperCommand]:
    """A command in which every argument between `option` and the next option is a value of `option`."""

    class Command(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            repeated: list[str] = []
            after = False
            for arg in args:
                if arg == option:
                    after = True
                elif arg.startswith("-"):
                    after = False
                    repeated.append(arg)
                else:
                    repeated += [option, arg] if after else [arg]
            return super().parse_args(ctx, repeated)

    return Command
