"""Commands of click made from functions: a parameter is an option or an argument as its annotation says.

def count(sources: Annotated[list[str], Argument(help="...")], min_count: Annotated[int, Option(help="...")] = 1): ...

Options that belong together are a Group, which a function takes as one parameter.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, dataclass_transform, get_args, get_origin, get_type_hints

import click


def path(text: Any) -> Path:
    """A path. An empty one would be the current folder."""
    if not str(text):
        raise click.BadParameter("the name is empty; name a file or a folder")
    return Path(text)


class Argument:
    """A parameter that is told by its position. A list takes all values that are left."""

    def __init__(self, help: str) -> None:
        self.help = help

    def make(self, name: str, kind: Any, default: Any) -> click.Parameter:
        several = get_origin(kind) is list
        made = click.Argument(
            [name],
            type=get_args(kind)[0] if several else kind,
            nargs=-1 if several else 1,
            **_required_or(default),
        )
        made.about = self.help  # type: ignore[attr-defined]
        return made


def _required_or(default: Any) -> dict[str, Any]:
    """What tells click whether a parameter is required. To newer releases a default of None is a value."""
    return {"required": True} if default is inspect.Parameter.empty else {"required": False, "default": default}


class Option:
    """A parameter that is told by its name.

    names: by default "--" and the name of the parameter; for a bool also "--no-" and its name.
    panel: the heading in the help. metavar: SRC... takes every value up to the next option.
    parser: makes the value of the text, also of the default. min, max: of a number.
    """

    def __init__(
        self,
        *names: str,
        help: str,
        panel: str = "Options",
        metavar: str | None = None,
        parser: Callable[[Any], Any] | None = None,
        min: float | None = None,
        max: float | None = None,
    ) -> None:
        self.names, self.help, self.panel, self.metavar = names, help, panel, metavar
        self.parser, self.min, self.max = parser, min, max

    def make(self, name: str, kind: Any, default: Any) -> click.Parameter:
        several = get_origin(kind) is list
        dashed = "--" + name.replace("_", "-")
        both = f"{dashed}/--no-{dashed[2:]}"
        type_: Any = self.parser or (get_args(kind)[0] if several else kind)
        if self.min is not None or self.max is not None:
            type_ = (click.IntRange if kind is int else click.FloatRange)(self.min, self.max)
        made = click.Option(
            [*(self.names or (both if kind is bool else dashed,)), name],
            type=None if kind is bool else type_,
            is_flag=True if kind is bool else None,  # False lets click take a value like -1 for an option
            multiple=several,
            **_required_or(default),
            help=self.help,
            metavar=self.metavar,
            show_default=default not in (None, "") and default is not False,
        )
        made.panel = self.panel  # type: ignore[attr-defined]
        return made


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Group:
    """Options that belong together: the annotated names of a subclass, with their defaults.

    Not a dataclass: those compile their methods whenever the program starts.
    """

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)


class Verb(click.Command):
    """A command whose options with a metavar that ends with ... take every value up to the next option, with its help in panels.

    So the shell may expand a glob there: `--on SRC SRC ...`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        several = {name for param in self.params if (param.metavar or "").endswith("...") for name in param.opts}
        repeated: list[str] = []
        after = ""
        for arg in args:
            if arg in several:
                after = arg
            elif arg.startswith("-"):
                after = ""
                repeated.append(arg)
            else:
                repeated += [after, arg] if after else [arg]
        return super().parse_args(ctx, repeated)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            if isinstance(param, click.Argument):
                panels["Arguments"].append((param.make_metavar(ctx), param.about))  # type: ignore[attr-defined]
            elif record := param.get_help_record(ctx):
                panels.setdefault(getattr(param, "panel", "Options"), []).append(record)
        for panel, rows in filter(operator.itemgetter(1), panels.items()):
            with formatter.section(panel):
                formatter.write_dl(rows)


def command_of(function: Callable[..., Any], run: Callable[..., Any], **shared: Any) -> Verb:
    """The command that calls run(function, options of `shared`, arguments of the function).

    shared: annotations of options that are not the function's own, by name.
    """
    parameters = inspect.signature(function).parameters
    hints: dict[str, Any] = {}
    groups: dict[str, type[Group]] = {}
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    for name, annotation in get_type_hints(function, include_extras=True).items():
        if isinstance(annotation, type) and issubclass(annotation, Group):
            groups[name] = annotation
            of_group = get_type_hints(annotation, include_extras=True)
            hints |= of_group
            defaults |= {each: getattr(annotation, each, inspect.Parameter.empty) for each in of_group}
        elif name in parameters:
            hints[name] = annotation
    params = []
    for name, annotation in {**hints, **shared}.items():
        kind, info = get_args(annotation)
        kinds = [each for each in get_args(kind) if each is not type(None)]
        if type(None) in get_args(kind):
            kind = kinds[0]
        params.append(info.make(name, path if kind is Path else kind, defaults.get(name, False)))

    def call(**given: Any) -> Any:
        for name, value in given.items():
            if isinstance(value, tuple):
                given[name] = list(value) or defaults.get(name)
        own = {name: value for name, value in given.items() if name in parameters}
        for name, group in groups.items():
            own[name] = group(**{each: given[each] for each in get_type_hints(group)})
        return run(partial(function, **own), **{name: given[name] for name in shared})

    doc = inspect.cleandoc(function.__doc__ or "").replace("\n\ntokenmill ", "\n\n\b\ntokenmill ")  # not wrapped
    return Verb(function.__name__, params=params, callback=call, help=doc)
