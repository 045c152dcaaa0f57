"""Commands, derived from functions whose parameters are classes of options (tokenmill/options.py) and single options.

def count(job: Count, *, json: Annotated[bool, Option("Print the summary as JSON.", "--json")] = False): ...

The command line is parsed here, because importing a library for that takes as long as encoding a line. The options at the end
are shared by several commands and belong to no job.
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

SPELT = {"on_skip": "skip_damaged"}  # arguments in Python whose option has another name
SECTIONS = ("Arguments", "Required", "Options", "Training", "Superwords", "Parity", "Input", "Execution", "Output")
COLUMN = 24  # the widest name; the help of a longer one begins on the next line
HELP = ("-h", "--help")
NUMBERS: dict[Any, Callable[[str], Any]] = {(int,): whole_number, (float,): float}
METAVARS = {int: "N", float: "X", Path: "PATH"}


def all_fields(definition: Any) -> Iterator[Field]:
    """Yield the options of a function or a class, nested ones included."""
    for field in fields_of(definition).values():
        if isinstance(field, Field):
            yield field
        else:
            yield from all_fields(field)


def names_of(field: Field) -> tuple[str, ...]:
    """Return the names on the command line; for an argument its name in upper case."""
    if isinstance(field.option, Argument):
        return (field.name.upper(),)
    return field.option.names or ("--" + field.name.replace("_", "-"),)


def switches(field: Field) -> Iterator[tuple[str, Any]]:
    """Yield the words that set an option, each with its value; None if the next word is the value."""
    flag = True if field.types == (bool,) else None
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
    """Return the message of an error, with options as they are written on the command line."""

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
        self.fields = dict(reversed(fields.items()))  # the first of two with the same name
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
        """Return the value of each option among the words. Raises UsageError for unknown and for missing ones."""
        values: dict[str, Any] = {}
        texts: dict[str, list[str]] = {}
        arguments = target = list[str]()  # target: of words that are neither options nor their value
        queue = deque(words)
        while queue:
            word = queue.popleft()
            if word == "--":
                arguments += queue
                break
            if word == "-" or not word.startswith("-"):
                target.append(word)
                continue
            target = arguments
            name, sign, text = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
            if name not in self._switches:
                python = self.fields.get(name.strip("-").replace("-", "_"))  # such as overwrite, which is --force here
                hint = f" Did you mean {names_of(python)[-1]!r}?" if python else nearest(name, self._switches)
                raise UsageError(f"{name} is not an option.{hint} {self._advice}")
            field, value = self._switches[name]
            option_texts = texts.setdefault(field.name, [])
            if value is not None:
                if sign and word.startswith("--"):
                    raise UsageError(f"{name} takes no value")
                if sign:  # -qv is -q -v
                    queue.appendleft(f"-{text}")
                values[field.name] = value
            elif (field.option.metavar or "").endswith("...") and not sign:
                target = option_texts  # every word up to the next option: the shell may expand a glob there
            elif sign or (queue and queue[0] not in self._switches):
                option_texts.append(text if sign else queue.popleft())
            else:
                raise UsageError(OptionName(field.name), " needs a value")
        for field in self._arguments:
            end = len(arguments) if field.many else 1
            texts[field.name], arguments = arguments[:end], arguments[end:]
        if arguments:
            raise UsageError(f"{arguments[0]!r} is one argument too many. {self._advice}")
        self._refuse_missing({**texts, **values})
        for name, option_texts in texts.items():
            field = self.fields[name]
            if option_texts and name in values:
                raise UsageError(OptionName(name), f" and {field.option.off} exclude each other: leave one of them out")
            if option_texts:
                values[name] = _value(field, option_texts)
            elif name not in values and field not in self._arguments:
                raise UsageError(OptionName(name), " needs a value")
        return values

    def _refuse_missing(self, values: Mapping[str, Any]) -> None:
        missing = [field for field in self.fields.values() if is_required(field) and not values.get(field.name)]
        if not missing:
            return
        unless = [field for field in self._arguments if field.option.unless and not values.get(field.option.unless)]
        missing = [*(field for field in unless if not values.get(field.name)), *missing]
        for field in self._arguments:  # the value of another argument, if one before it was left out
            if field.choices and values[field.name] and values[field.name][0] not in field.choices:
                missing = [field, *(each for each in missing if each not in self._arguments)]
        names = [names_of(field)[-1] + (f" ({', '.join(field.choices)})" if field.choices else "") for field in missing]
        raise UsageError(f"Missing {', '.join(names)}. {self._advice}")

    @property
    def _advice(self) -> str:
        return f"See tokenmill {self.name} --help."

    def help(self, columns: int | None = None) -> str:
        """Return the description with examples, and the options in sections. columns: the width, by default of the terminal."""
        from shutil import get_terminal_size
        from textwrap import TextWrapper, wrap

        width = min(columns or get_terminal_size().columns, 100)
        wrapper = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        sections: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
        for field in self.fields.values():
            section = "Required" if is_required(field) else field.option.section
            if field in self._arguments:
                section, shape = "Arguments", field.name.upper() + "..." * field.many
                shape = shape if is_required(field) else f"[{shape}]"
            elif field.types == (bool,):
                shape = (" / " if field.default is not False else ", ").join(name for name, _ in switches(field))
            else:
                metavar = METAVARS.get(field.types[0], "TEXT") if len(field.types) == 1 else "TEXT"
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
            if example:  # so that it can be pasted as it is shown
                *continued, last = wrap(f"  {paragraph}", width - 2, subsequent_indent="      ", break_on_hyphens=False)
                lines += [*(f"{line} \\" for line in continued), last]
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

    def complete(self, words: Sequence[str], prefix: str) -> list[str]:
        """Return the words after `words` that begin with `prefix`; none where a file or any text may follow."""
        words, before = [*words], ""
        if prefix == "=":  # bash splits --unit=line into three words
            prefix = ""
        elif words[-1:] == ["="]:
            words.pop()
        elif prefix.startswith("--") and "=" in prefix:
            name, _, prefix = prefix.partition("=")
            words, before = [*words, name], f"{name}="
        elif prefix.startswith("-"):
            return [name for name in (*self._switches, *HELP) if name.startswith(prefix)]
        field, value = self._switches.get(words[-1] if words else "", (None, None))
        if (field is None or value is not None) and all(word.startswith("-") for word in words):
            field = next(iter(self._arguments), None)
        choices = (*field.choices, *field.option.known()) if field else ()
        return [before + choice for choice in choices if choice.startswith(prefix)]


def _value(field: Field, texts: Sequence[str]) -> Any:
    """Convert the texts of an option: all of them, or the last one if the option has one value."""
    convert = field.option.parse or NUMBERS.get(field.types, str)
    try:
        return [convert(text) for text in texts] if field.many else checked(field, convert(texts[-1]))
    except UsageError as error:
        if isinstance(error.args[0], OptionName):
            raise
        raise UsageError(OptionName(field.name), ": ", *error.args) from error
    except ValueError as error:
        raise UsageError(OptionName(field.name), f" is {texts[-1]!r}; it must be a number") from error


def _arguments_of(definition: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function or a class of options, with an object for each nested class."""
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
