"""The commands, made from functions whose parameters are classes of options (tokenmill/options.py) and single options.

def count(job: Count, *, json: Annotated[bool, Option("Print the summary as JSON.", "--json")] = False): ...

Words are parsed here, not by a library: the import of one takes as long as to encode a line. At the end are options that several
commands share and that belong to no job.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any

from ..errors import OptionName, TokenmillError, UsageError, nearest
from ..jobs.work import OUTPUT
from ..options import Argument, Field, Option, Options, checked, fields_of, whole_number
from ._console import verbosity

SPELT = {"on_skip": "skip_damaged"}  # arguments of Python whose option has another name
SECTIONS = ("Arguments", "Required", "Options", "Training", "Superwords", "Parity", "Input", "Execution", "Output")
COLUMN = 24  # the widest name beside which its help begins
HELP = ("-h", "--help")
NUMBERS: dict[Any, Callable[[str], Any]] = {(int,): whole_number, (float,): float}
METAVARS = {int: "N", float: "X", Path: "PATH"}


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


def switches(field: Field) -> Iterator[tuple[str, Any]]:
    """The words that give an option, each with the value that it stands for; None if the next word is the value."""
    flag = True if field.kinds == (bool,) else None
    for name in names_of(field):
        yield name, flag
    off = f"--no-{names_of(field)[0][2:]}" if flag and field.default is not False else field.option.off
    if off:
        yield off, False


def is_required(field: Field) -> bool:
    return field.default is MISSING or field.option.needed


def _help_of(field: Field) -> str:
    default, text = field.default, field.option.help
    if default in (None, "", ()) or default in (MISSING, False) or field.many or field.option.off or "default" in text:
        return text
    if isinstance(default, int) and not isinstance(default, bool) and default >= 1 << 20:
        default = f"{default >> 30}GiB" if default % (1 << 30) == 0 else f"{default >> 20}MiB"
    return f"{text} [default: {'yes' if default is True else default}]"


def spelled(error: TokenmillError, fields: Mapping[str, Field]) -> str:
    """The message of an error, with the options of the command line in place of Python's."""

    def spell(argument: Any) -> str:
        field = fields.get(SPELT.get(argument.name, argument.name)) if isinstance(argument, OptionName) else None
        if field is None:
            return str(argument)
        name = names_of(field)[-1]
        if argument.value in (None, ..., True):
            return name
        if argument.value is False:
            return field.option.off or f"--no-{name[2:]}"
        return f"{name} {argument.value}"

    return "".join(map(spell, error.args))


class Verb:
    """The command that calls a function. Its help is that of the function, or of the class of its first parameter."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        self._function = function
        fields = {field.name: field for field in reversed([*all_fields(function), *all_fields(messages)])}
        self.fields = dict(reversed(fields.items()))  # of two with a name the first
        self._arguments = [field for field in self.fields.values() if isinstance(field.option, Argument)]
        options = [field for field in self.fields.values() if field not in self._arguments]
        self._switches = {name: (field, value) for field in options for name, value in switches(field)}
        definition = next((each for each in fields_of(function).values() if isinstance(each, type)), None)
        self.doc = inspect.cleandoc(function.__doc__ or (definition and definition.__doc__) or "")

    def __call__(self, words: Sequence[str]) -> Any:
        """Run the command with the words after its name, or print its help."""
        if not set(HELP).isdisjoint(words[: words.index("--")] if "--" in words else words):
            print(self.help())
            return 0
        values = self.parse(words)
        messages(**{field.name: values.pop(field.name, False) for field in all_fields(messages)})
        return self._function(**_arguments_of(self._function, values))

    def parse(self, words: Sequence[str]) -> dict[str, Any]:
        """The values given, by the names of their fields. UsageError for a word that has no meaning, or one that is missing."""
        values: dict[str, Any] = {}
        texts: dict[str, list[str]] = {}
        arguments = several = list[str]()
        queue = deque(words)
        while queue:
            word = queue.popleft()
            if word == "--":
                arguments += queue
                break
            if word == "-" or not word.startswith("-"):
                several.append(word)
                continue
            several = arguments
            name, sign, text = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
            if name not in self._switches:
                python = self.fields.get(name.strip("-").replace("-", "_"))  # such as overwrite, which is --force here
                hint = f" Did you mean {names_of(python)[-1]!r}?" if python else nearest(name, self._switches)
                raise UsageError(f"{name} is not an option.{hint} {self._advice}")
            field, value = self._switches[name]
            given = texts.setdefault(field.name, [])
            if value is not None:
                if sign and word.startswith("--"):
                    raise UsageError(f"{name} takes no value")
                if sign:  # -qv is -q -v
                    queue.appendleft(f"-{text}")
                values[field.name] = value
            elif (field.option.metavar or "").endswith("...") and not sign:
                several = given  # every word up to the next option: the shell may expand a glob there
            elif sign or (queue and queue[0] not in self._switches):
                given.append(text if sign else queue.popleft())
            else:
                raise UsageError(OptionName(field.name), " needs a value")
        for field in self._arguments:
            end = len(arguments) if field.many else 1
            texts[field.name], arguments = arguments[:end], arguments[end:]
        if arguments:
            raise UsageError(f"{arguments[0]!r} is one argument too many. {self._advice}")
        self._refuse_missing({**texts, **values})
        for name, given in texts.items():
            field = self.fields[name]
            if given and name in values:
                off = field.option.off
                raise UsageError(OptionName(name), f" and {off} exclude each other: leave one of them out")
            if given:
                values[name] = _value(field, given)
            elif name not in values and field not in self._arguments:
                raise UsageError(OptionName(name), " needs a value")
        return values

    def _refuse_missing(self, given: Mapping[str, Any]) -> None:
        missing = [field for field in self.fields.values() if is_required(field) and not given.get(field.name)]
        if not missing:
            return
        unless = [field for field in self._arguments if field.option.unless and not given.get(field.option.unless)]
        missing = [*(field for field in unless if not given.get(field.name)), *missing]
        for field in self._arguments:  # a value in the place of an argument that was left out
            if field.choices and given[field.name] and given[field.name][0] not in field.choices:
                missing = [field, *(each for each in missing if each not in self._arguments)]
        names = [names_of(field)[-1] + (f" ({', '.join(field.choices)})" if field.choices else "") for field in missing]
        raise UsageError(f"Missing {', '.join(names)}. {self._advice}")

    @property
    def _advice(self) -> str:
        return f"See tokenmill {self.name} --help."

    def help(self, columns: int | None = None) -> str:
        """The description with examples, and the options in sections. columns: the width, by default that of the terminal."""
        from shutil import get_terminal_size
        from textwrap import TextWrapper, wrap

        wrapper = TextWrapper(
            min(columns or get_terminal_size().columns, 100), break_long_words=False, break_on_hyphens=False
        )
        sections: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
        for field in self.fields.values():
            section = "Required" if is_required(field) else field.option.section
            if field in self._arguments:
                section, shape = "Arguments", field.name.upper() + "..." * field.many
                shape = shape if is_required(field) else f"[{shape}]"
            elif field.kinds == (bool,):
                shape = (" / " if field.default is not False else ", ").join(name for name, _ in switches(field))
            else:
                metavar = METAVARS.get(field.kinds[0], "TEXT") if len(field.kinds) == 1 else "TEXT"
                shape = f"{', '.join(names_of(field))} {field.option.metavar or metavar}"
            sections[section].append((shape, _help_of(field)))
            if field.option.off:
                sections[section].append((field.option.off, "Add no such token."))
        sections["Output"].append((", ".join(HELP), "Show this message and exit."))
        lines = [" ".join(["Usage: tokenmill", self.name, *(shape for shape, _ in sections["Arguments"]), "[OPTIONS]"])]
        wrapper.initial_indent = wrapper.subsequent_indent = "  "
        examples = False
        for paragraph in self.doc.split("\n\n"):
            example = paragraph.startswith("tokenmill ")
            lines += [] if example and examples else [""]
            examples = example
            if example:  # which can be pasted as it is shown
                *begun, last = wrap(
                    f"  {paragraph}", wrapper.width - 2, subsequent_indent="      ", break_on_hyphens=False
                )
                lines += [*(f"{line} \\" for line in begun), last]
            else:
                lines += wrapper.wrap(paragraph)
        for section, rows in sections.items():
            lines += ["", f"{section}:"] if rows else []
            column = min(COLUMN, max((len(shape) for shape, _ in rows), default=0)) + 4
            wrapper.initial_indent = wrapper.subsequent_indent = " " * column
            for shape, text in rows:
                first, *more = wrapper.wrap(text)
                beside = len(shape) <= column - 4
                lines += [f"  {shape:<{column - 2}}{first.lstrip()}"] if beside else [f"  {shape}", first]
                lines += more
        return "\n".join(lines)

    def complete(self, words: Sequence[str], begun: str) -> list[str]:
        """The words that may stand where `begun` does; none where that is a file, or any text."""
        words, before = [*words], ""
        if begun == "=":  # bash makes three words of --unit=line
            begun = ""
        elif words[-1:] == ["="]:
            words.pop()
        elif begun.startswith("--") and "=" in begun:
            name, _, begun = begun.partition("=")
            words, before = [*words, name], f"{name}="
        elif begun.startswith("-"):
            return [name for name in (*self._switches, *HELP) if name.startswith(begun)]
        field, value = self._switches.get(words[-1] if words else "", (None, None))
        if (field is None or value is not None) and all(word.startswith("-") for word in words):
            field = next(iter(self._arguments), None)
        choices = (*field.choices, *field.option.known()) if field else ()
        return [before + choice for choice in choices if choice.startswith(begun)]


def _value(field: Field, given: Sequence[str]) -> Any:
    """The value of the words given for an option: of several the last, if it takes one."""
    convert = field.option.parse or NUMBERS.get(field.kinds, str)
    try:
        return [convert(each) for each in given] if field.many else checked(field, convert(given[-1]))
    except UsageError as error:
        if isinstance(error.args[0], OptionName):
            raise
        raise UsageError(OptionName(field.name), ": ", *error.args) from error
    except ValueError as error:
        raise UsageError(OptionName(field.name), f" is {given[-1]!r}; it must be a number") from error


def _arguments_of(definition: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function or a class of options, with the objects of the classes inside it."""
    arguments: dict[str, Any] = {}
    for name, field in fields_of(definition).items():
        if isinstance(field, Field):
            if name in values:
                arguments[name] = values[name]
        elif issubclass(field, Options):
            arguments[name] = field(**_arguments_of(field, values))
    return arguments


Tokenizer = Annotated[str, Argument("A tokenizer: a file or folder of any format, or a name.")]
# fmt: off
Html = Annotated[Path | None, Option("Write a report as one self-contained page.", section=OUTPUT)]
Json = Annotated[bool, Option("Print the summary as JSON on stdout.", section=OUTPUT)]
Quiet = Annotated[bool, Option("Print results and errors only, no notes and no progress.", "-q", "--quiet", section=OUTPUT)]
Verbose = Annotated[bool, Option("Print all notes, each merge, and where errors come from.", "-v", "--verbose", section=OUTPUT)]
# fmt: on


def messages(*, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Apply the options that every verb has."""
    verbosity.quiet, verbosity.verbose = quiet, verbose
