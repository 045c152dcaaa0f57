"""Options: one definition of each, with its type, limits and help text, for Python and for the command line.

    @dataclass(frozen=True, kw_only=True)
    class Loaves(Options):
        number: Annotated[int, Option("How many loaves.", min=1)] = 1
        grain: Annotated[Literal["rye", "wheat"], Option("What they are made of.")] = "rye"

`Loaves(number=0)` raises a UsageError. The command line makes --number N and --grain TEXT of it.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    NamedTuple,
    ParamSpec,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from .errors import (
    FAILURES,
    UNIONS,
    OptionName,
    TokenmillError,
    UsageError,
    WrongTypeError,
    fits,
    in_words,
    refuse_unknown,
    refuse_wrong_types,
)

UNITS = "_KMGT"
CHECKED = {int, float, str, bool, Path}
_hints_of: Callable[[Any], dict[str, Any]] = functools.cache(functools.partial(get_type_hints, include_extras=True))
A = TypeVar("A")
G = TypeVar("G")
P = ParamSpec("P")
R = TypeVar("R")


class Option:
    """The help text, names and limits of an option. names: on the command line, by default "--" and the field's name."""

    section: str = "Options"  # the heading in the help
    metavar: str | None = None  # SRC... accepts every value up to the next option
    min: float | None = None  # limits of a number
    max: float | None = None
    share: bool = False  # whether the value is a number above 0 and at most 1
    only: tuple[str, Any] | None = None  # another option and the value that it must have, such as ("unit", "separator")
    parse: Callable[[str], Any] | None = None  # converts text of the command line
    many: bool = False  # whether the option may be repeated, if its type does not say so
    off: str | None = None  # a flag that means False, for an option that accepts text
    needed: bool = False  # whether the command line requires it, though Python does not
    unless: str | None = None  # the name of an option without which the argument is required
    known: Callable[[], Iterable[str]] = tuple  # returns the values that shells offer; others are allowed

    def __init__(self, help: str, *names: str, **settings: Any) -> None:
        refuse_unknown(type(self).__name__, settings, Option.__annotations__)
        self.help, self.names = help, names
        vars(self).update(settings)


class Argument(Option):
    """A positional argument of the command line."""


class Field(NamedTuple):
    """An option with its name and type.

    types: the types of its value, or of each value if there are many. default: MISSING if it is required.
    optional: whether None is a value.
    """

    name: str
    option: Option
    types: tuple[Any, ...]
    choices: tuple[Any, ...]
    many: bool
    default: Any
    optional: bool


@functools.cache
def fields_of(definition: Any) -> Mapping[str, Field | type[Options]]:
    """Return the options that a class or a function defines, and the classes of options among its parameters, by name."""
    fields: dict[str, Field | type[Options]] = {}
    for name, hint in _hints_of(definition).items():
        if isinstance(hint, type) and issubclass(hint, Options):
            fields[name] = hint
            continue
        metadata = reversed(getattr(hint, "__metadata__", ()))
        option = next((item for item in metadata if isinstance(item, Option)), None)
        if option is None:
            continue
        if isinstance(definition, type):
            default = getattr(definition, name, MISSING)
        else:
            default = (definition.__kwdefaults__ or {}).get(name, MISSING)
        fields[name] = _field(name, option, get_args(hint)[0], default)
    return fields


def _field(name: str, option: Option, hint: Any, default: Any) -> Field:
    members = get_args(hint) if get_origin(hint) in UNIONS else (hint,)
    types = tuple(member for member in members if member is not type(None))
    many, choices = option.many, ()
    if len(types) == 1 and get_origin(types[0]) is Literal:
        choices, types = get_args(types[0]), (str,)
    elif len(types) == 1 and get_origin(types[0]) in (list, Iterable, Sequence):
        many, types = True, get_args(types[0])
    return Field(name, option, types, choices, many, default, len(members) > len(types))


class _Signature:
    """The signature of a class of options, with plain types in place of the annotations for the command line."""

    def __get__(self, instance: object, owner: Any) -> inspect.Signature:
        owner.__init__.__annotations__.update(get_type_hints(owner))
        signature = inspect.signature(owner.__init__)
        return signature.replace(parameters=[*signature.parameters.values()][1:])  # without self


class Options:
    """Base of the classes that define options. Raises UsageError for a value that is not allowed."""

    __signature__ = _Signature()

    if not TYPE_CHECKING:  # type checkers know the options from the fields

        def __new__(cls, *args: Any, **options: Any) -> Self:
            refuse_unknown(cls.__name__, options, cls.__dataclass_fields__)
            return super().__new__(cls)

    def __init_subclass__(cls) -> None:
        if check := vars(cls).get("__post_init__"):

            @functools.wraps(check)
            def call(self: Options) -> None:
                try:
                    check(self)
                except FAILURES as error:
                    if not isinstance(error, TokenmillError):
                        refuse_wrong_types(vars(self), _hints_of(cls), {})
                    raise

            cls.__post_init__ = call  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        fields = fields_of(type(self))  # type: ignore[arg-type]
        for field in fields.values():
            if isinstance(field, Field):
                object.__setattr__(self, field.name, checked(field, getattr(self, field.name)))
        others = {name: value for name, value in vars(self).items() if not isinstance(fields.get(name), Field)}
        refuse_wrong_types(others, _hints_of(type(self)), {})
        for field in fields.values():
            if not isinstance(field, Field) or not field.option.only or getattr(self, field.name) == field.default:
                continue
            other, value = field.option.only
            if getattr(self, other) != value:
                needed = OptionName(other, value)
                raise UsageError(OptionName(field.name), " is only for ", needed, ": give that too, or leave it out")

    def _unused(self) -> Iterator[tuple[Sequence[Any], Collection[str]]]:
        """Yield the name of each mode that these options choose, and the options that this mode does not use."""
        return iter(())

    def _refuse_unused(self, used: Collection[str] = ()) -> None:
        """Raise UsageError for an option that was set and that the chosen mode does not use. used: options that the caller uses."""
        for mode, names in self._unused():
            refuse_given(self, *mode, names={*names}.difference(used))


def refuse_given(options: Options | None, *mode: Any, names: Collection[str] | None = None, **others: Any) -> None:
    """Raise UsageError for an option that was set and that a mode does not use.

    mode: its name, in words. names: the options that it does not use; None for all.
    others: single options, set if they are neither None nor False.
    """
    unused = {name: value for name, value in others.items() if value is not None and value is not False}
    for field, value in values_of(options) if options is not None else ():
        if (names is None or field.name in names) and value != field.default and (value or not field.many):
            unused[field.name] = value
    for name, value in unused.items():
        option = OptionName(name, False if value is False else None)
        raise UsageError(option, " is not used by ", *mode, ": leave it out")


def takes_options(options: Callable[P, G]) -> Callable[[Callable[[A, G], R]], Callable[Concatenate[A, P], R]]:
    """Decorate function(first, options): callers pass the first argument, and each option as a keyword argument.

    So type checkers, help() and errors name the options of the class, which is their only definition.

    >>> @takes_options(Loaves)
    ... def bake(oven: str, loaves: Loaves) -> None: ...
    >>> bake("hot", number=3, grain="rye")
    """

    def decorate(function: Callable[[A, G], R]) -> Callable[Concatenate[A, P], R]:
        name = function.__name__
        signature = inspect.signature(function)
        first = next(iter(signature.parameters.values()))
        others = (each for each in inspect.signature(options).parameters.values() if each.name != first.name)
        signature = signature.replace(parameters=[first, *others])

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> R:
            refuse_unknown(name, keywords, signature.parameters)
            try:
                arguments = signature.bind(*args, **keywords).arguments
            except TypeError as error:
                raise TypeError(f"{name}(): {error}") from None
            subject = arguments.pop(first.name)
            try:
                return function(subject, options(**arguments))  # type: ignore[call-arg]
            except FAILURES as error:
                if isinstance(error, WrongTypeError) or not isinstance(error, TokenmillError):
                    refuse_wrong_types({first.name: subject}, function.__annotations__, function.__globals__)
                    refuse_wrong_types(arguments, _hints_of(options), {})
                raise

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return decorate


def values_of(options: Options) -> Iterator[tuple[Field, Any]]:
    """Yield the options with their values, nested ones included."""
    for name, field in fields_of(type(options)).items():  # type: ignore[arg-type]
        value = getattr(options, name)
        if isinstance(field, Field):
            yield field, value
        elif value is not None:
            yield from values_of(value)


def checked(field: Field, value: Any) -> Any:
    """Return `value` with the type of its option: an int for a number of NumPy, a Path for text. Raises UsageError."""
    is_default = value is field.default or (value is None and field.optional)
    if is_default or field.many or not CHECKED.issuperset(field.types):
        return value
    name, option = OptionName(field.name), field.option
    if field.choices:
        if value not in field.choices:
            raise UsageError(name, f" is {value!r}; known are {', '.join(map(str, field.choices))}")
        return value
    if not any(fits(value, each) for each in field.types):
        wanted = "a share, above 0 and at most 1" if option.share else " or ".join(map(in_words, field.types))
        raise UsageError(name, f" is {value!r}; it must be {wanted}")
    if field.types == (Path,):
        if not os.fspath(value):
            raise UsageError(name, " is empty: name a path")
        return Path(value)
    if isinstance(value, str | bool | os.PathLike):
        return value
    if int in field.types:
        value = operator.index(value)
        if abs(value) >= 1 << 63:
            raise UsageError(name, " must be below 2**63")
    if option.share and not 0 < value <= 1:
        raise UsageError(name, f" is {value!r}; it is a share, above 0 and at most 1")
    if value != value:
        raise UsageError(name, " is not a number")
    if option.min is not None and value < option.min:
        raise UsageError(name, f" is {value}; it must be at least {option.min}")
    if option.max is not None and value > option.max:
        raise UsageError(name, f" is {value}; it must be at most {option.max}")
    return value


def listed_names(text: str) -> tuple[str, ...]:
    """Split a list of names, such as "nfkc,lowercase"."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def whole_number(text: str | int) -> int:
    """Parse a whole number: 32768, 32_768, 32k (32,000), 4GB (powers of 1000) or 512MiB (powers of 1024).

    >>> whole_number("1.5GB"), whole_number("2 MiB"), whole_number(10)
    (1500000000, 2097152, 10)
    """
    try:
        return int(text)
    except (ValueError, OverflowError):
        pass
    match = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([KMGT]?)(I?)(B?)\s*", str(text).upper())
    if match and (match[2] or not match[3]):
        from fractions import Fraction

        size = Fraction(match[1]) * (1024 if match[3] else 1000) ** UNITS.index(match[2] or UNITS[0])
        if size.denominator == 1:
            return int(size)
    raise UsageError(f"{text!r:.60} is not a whole number; write it like 32768, 32k, 1.5GB or 512MiB")
