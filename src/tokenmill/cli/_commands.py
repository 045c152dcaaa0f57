"""Commands of click, made from functions whose parameters are classes of options (tokenmill/options.py) and options.

def count(job: Count, json: Annotated[bool, Option("Print the summary as JSON.", "--json")] = False): ...
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..errors import OptionName, TokenmillError, UsageError
from ..options import Argument, Field, Options, checked, fields_of, whole_number

SPELT = {"on_skip": "skip_damaged"}  # arguments of Python whose option has another name


def all_fields(definition: Any) -> Iterator[Field]:
    """The options of a function or a class, and of the classes inside it."""
    for field in fields_of(definition).values():
        if isinstance(field, Field):
            yield field
        else:
            yield from all_fields(field)


def names_of(field: Field) -> tuple[str, ...]:
    """The names on the command line; in the plural "Argument", upper case."""
    if isinstance(field.option, Argument):
        return (field.name.upper(),)
    return field.option.names or ("--" + field.name.replace("_", "-"),)


def is_flag(field: Field) -> bool:
    return field.kinds == (bool,)


def is_required(field: Field) -> bool:
    return field.default is MISSING or field.option.needed


def _convert(field: Field) -> Callable[[str], Any]:
    """What makes a value of text."""
    if field.option.parse:
        return field.option.parse
    if int in field.kinds and str not in field.kinds:
        return whole_number
    return float if float in field.kinds else str


def _completions(field: Field) -> Callable[[Any, Any, str], list[CompletionItem]]:
    def complete(ctx: Any, param: Any, begun: str) -> list[CompletionItem]:
        if field.choices:
            return [CompletionItem(value) for value in field.choices if value.startswith(begun)]
        several = (field.option.metavar or "").endswith("...")
        files = Path in field.kinds or isinstance(field.option, Argument) or several or "tokenizer" in field.name
        return [CompletionItem(begun, type="file")] if files else []

    return complete


def parameters(field: Field) -> Iterator[click.Parameter]:
    """The parameters of click for an option. Their value is None, or (), where it is not given."""
    name, option = field.name, field.option
    shared: dict[str, Any] = {"type": str, "shell_complete": _completions(field)}
    if isinstance(option, Argument):
        yield click.Argument([name], nargs=-1 if field.many else 1, required=False, **shared)
        return
    if is_flag(field):
        dashed = names_of(field)
        if not option.names:
            dashed = (f"{dashed[0]}/--no-{dashed[0][2:]}",)
        yield click.Option([*dashed, name], is_flag=True, default=None)
        return
    metavar = option.metavar or ("N" if int in field.kinds and str not in field.kinds else None)
    yield click.Option([*names_of(field), name], multiple=field.many, metavar=metavar, **shared)
    if option.off:
        yield click.Option([option.off, f"no_{name}"], is_flag=True, default=None)


def help_of(field: Field) -> str:
    """The help text with the default."""
    default, text = field.default, field.option.help
    if default in (None, "", ()) or default in (MISSING, False) or field.many or field.option.off:
        return text
    if isinstance(default, int) and not isinstance(default, bool) and default >= 1 << 20:
        default = f"{default >> 30}GiB" if default % (1 << 30) == 0 else f"{default >> 20}MiB"
    return f"{text} [default: {'yes' if default is True else default}]"


def spelled(error: TokenmillError, fields: dict[str, Field]) -> str:
    """The message of an error, with the options of the command line in place of Python's."""

    def spell(part: Any) -> str:
        field = fields.get(SPELT.get(part.name, part.name)) if isinstance(part, OptionName) else None
        if field is None:
            return str(part)
        name = next((each for each in names_of(field) if each.startswith("--")), names_of(field)[0])
        if part.value in (None, ..., True):
            return name
        if part.value is False:
            return field.option.off or f"--no-{name[2:]}"
        return f"{name} {part.value}"

    return "".join(map(spell, error.args))


class Verb(click.Command):
    """A command whose options with a metavar that ends with ... take every value up to the next option, with its help in sections.

    So the shell may expand a glob there: `--on SRC SRC ...`.
    """

    fields: dict[str, Field]

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
        rest = super().parse_args(ctx, repeated)
        if not ctx.resilient_parsing:
            self._refuse_missing(ctx.params)
        return rest

    def _refuse_missing(self, given: dict[str, Any]) -> None:
        missing = [field for field in self.fields.values() if is_required(field) and given[field.name] in (None, ())]
        if not missing:
            return
        for field in self.fields.values():  # a value in the place of an argument that was left out
            if isinstance(field.option, Argument) and field.choices and given[field.name] not in (None, *field.choices):
                missing = [field, *(each for each in missing if not isinstance(each.option, Argument))]
        names = [
            "/".join(names_of(field)) + (f" ({', '.join(field.choices)})" if field.choices else "") for field in missing
        ]
        raise UsageError(f"Missing {', '.join(names)}. See tokenmill {self.name} --help.")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Required": [], "Options": []}
        ended = {name: [] for name in ("Training", "Superwords", "Parity", "Input", "Execution", "Output")}
        sections |= ended
        for param in self.get_params(ctx):
            field = self.fields.get(param.name or "")
            if isinstance(param, click.Argument):
                assert field is not None
                sections["Arguments"].append((param.make_metavar(ctx), help_of(field)))
                continue
            record = param.get_help_record(ctx)
            if record is None or (field is not None and not field.option.help):
                continue
            if field is None:
                negated = self.fields.get((param.name or "").removeprefix("no_"))
                section, text = ("Output", record[1]) if negated is None else (negated.option.section, "None of that.")
            else:
                section, text = "Required" if is_required(field) else field.option.section, help_of(field)
            sections[section].append((record[0], text))
        for section, rows in filter(operator.itemgetter(1), sections.items()):
            with formatter.section(section):
                formatter.write_dl(rows, col_max=24)


def command_of(function: Callable[..., Any], before: Callable[..., None], **shared: Field) -> Verb:
    """The command that calls before(options of `shared`), and then the function.

    Its help is that of the function, or of the class of its first parameter.
    """
    fields = {field.name: field for field in reversed([*all_fields(function), *shared.values()])}
    fields = dict(reversed(fields.items()))  # of two with a name the first

    def call(**given: Any) -> Any:
        values = {name: value for name, value in given.items() if value not in (None, ())}
        for name, field in fields.items():
            if values.pop(f"no_{name}", False):
                if name in values:
                    off = field.option.off
                    raise UsageError(OptionName(name), f" and {off} exclude each other: leave one of them out")
                values[name] = False
            elif name in values and not is_flag(field):
                values[name] = _value(field, values[name])
        before(**{name: values.pop(name, False) for name in shared})
        return function(**_arguments(function, values))

    definition = next((each for each in fields_of(function).values() if isinstance(each, type)), None)
    doc = inspect.cleandoc(function.__doc__ or (definition and definition.__doc__) or "")
    doc = doc.replace("\n\ntokenmill ", "\n\n\b\ntokenmill ")  # not wrapped
    params = [param for field in fields.values() for param in parameters(field)]
    verb = Verb(function.__name__.rstrip("_"), params=params, callback=call, help=doc)
    verb.fields = fields
    return verb


def _value(field: Field, given: Any) -> Any:
    """What the text given for an option means."""
    convert = _convert(field)
    try:
        return [convert(each) for each in given] if field.many else checked(field, convert(given))
    except UsageError as error:
        if isinstance(error.args[0], OptionName):
            raise
        raise UsageError(OptionName(field.name), ": ", *error.args) from error
    except ValueError as error:
        raise UsageError(OptionName(field.name), f" is {given!r}; it must be a number") from error


def _arguments(definition: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a function or a class of options, with the objects of the classes inside it."""
    arguments: dict[str, Any] = {}
    for name, field in fields_of(definition).items():
        if isinstance(field, Field):
            if name in values:
                arguments[name] = values[name]
        elif issubclass(field, Options):
            arguments[name] = field(**_arguments(field, values))
    return arguments


def nearest(name: str, known: list[str]) -> str:
    """A hint at the nearest of the known names."""
    import difflib

    close = difflib.get_close_matches(name, known, 1)
    return f" Did you mean {close[0]!r}?" if close else ""
