"""The exceptions of tokenmill, one class per kind of failure.

    TokenmillError
    ├── UsageError (ValueError)                 an invalid argument
    │   ├── PatternError                        a split pattern that is invalid, or too costly to run
    │   ├── SpecialTokenError                   text that contains a special token the caller did not allow
    │   ├── UnknownModelError (KeyError)        a model whose encoding is not known
    │   ├── UnknownOptionError (TypeError)      an argument that the function does not have
    │   ├── UnknownTokenError (KeyError)        an id or a token that the vocabulary does not have
    │   └── WrongTypeError (TypeError)          an argument of another type, such as a number in place of a text
    ├── InputError                              a source that cannot be read: missing, damaged, binary
    │   └── FormatError                         a vocabulary, counts or token file that is damaged or unknown
    ├── OutputError                             a file that cannot be written: disk full, no permission
    ├── ConversionError                         a tokenizer that the target format cannot represent
    └── MissingExtraError (ImportError)         an optional dependency that is not installed

Every message says what was found, where, and what to do. The command line prints it without a traceback and exits with
code 2 for a UsageError, 1 for the others.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import os
import reprlib
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from types import FunctionType, ModuleType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

if TYPE_CHECKING:
    from typing import ParamSpec

    P = ParamSpec("P")
R = TypeVar("R")
FAILURES = (
    TypeError,
    AttributeError,
    LookupError,
    ValueError,
    OverflowError,
)  # what a wrong type of argument can cause
_SCALARS = {"bool": bool, "int": int, "int | None": int | None, "float": float, "float | None": float | None}
UNIONS = (Union, UnionType)  # the two origins of a union type
VAR_POSITIONAL, VAR_KEYWORDS = 0x04, 0x08  # the flags of a function with *arguments, and with **keywords


class OptionName(NamedTuple):
    """An option in an error message. Python and the command line each print their own spelling of it.

    >>> str(OptionName("resume", False)), str(OptionName("field"))
    ('resume=False', 'field')
    """

    name: str
    value: Any = None  # None: only the name; ...: any value

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        return f"{self.name}=..." if self.value is ... else f"{self.name}={self.value!r}"


class TokenmillError(Exception):
    """The base class of all errors that tokenmill raises deliberately. Its arguments together are the message: text and options."""

    def __str__(self) -> str:
        return "".join(map(str, self.args))


class UsageError(TokenmillError, ValueError):
    """An invalid argument, such as a vocabulary smaller than its alphabet."""


class PatternError(UsageError):
    """A split pattern that is not a valid regular expression, or takes too much memory or time."""


class SpecialTokenError(UsageError):
    """Text that contains a special token which the caller did not allow."""


class UnknownModelError(UsageError, KeyError):
    """A model whose encoding is not known."""


class UnknownOptionError(UsageError, TypeError):
    """An argument that the function does not have; the message names the nearest that it has."""


class UnknownTokenError(UsageError, KeyError):
    """An id or a token that the vocabulary does not have."""


class WrongTypeError(UsageError, TypeError):
    """An argument of another type, such as a number in place of a text."""


class InputError(TokenmillError):
    """A source that cannot be read: missing, not permitted, damaged, or not text."""


class FormatError(InputError):
    """A vocabulary, counts or token file that is damaged or of an unknown kind."""


class OutputError(TokenmillError):
    """A file that cannot be written: a full disk, a missing permission."""


class ConversionError(TokenmillError):
    """A tokenizer that the target format cannot represent."""


class MissingExtraError(TokenmillError, ImportError):
    """An optional dependency that is not installed."""


def reason_of(error: BaseException) -> str:
    """Return the message of a library's exception, in words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def require(module: str, extra: str, purpose: str, oldest: tuple[int, ...] = ()) -> ModuleType:
    """Import `module`, or raise a MissingExtraError that names the extra to install. oldest: the oldest version that works.

    >>> require("json", "corpus", "reading JSON").__name__
    'json'
    """
    try:
        found = importlib.import_module(module)
        if oldest and tuple(map(int, found.__version__.split(".")[: len(oldest)])) < oldest:
            raise RuntimeError(f"{found.__version__} is older than {'.'.join(map(str, oldest))}")
        return found
    except Exception as error:  # protobuf has an error of its own for a release that is too old
        own = isinstance(error, ImportError) and (error.name or module).split(".")[0] == module.split(".")[0]
        problem = "is not installed" if own else f"cannot be used ({error})"
        raise MissingExtraError(
            f"{purpose} needs the module {module!r}, which {problem}. Install tokenmill with the extra {extra!r}; "
            f"in its repository: pip install '.[{extra}]'"
        ) from error


def lazy_names(package: str, **modules: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports each name on first use. modules: the names in each module."""

    def get(name: str) -> Any:
        module = next((module for module, names in modules.items() if name in names.split()), None)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{module}"), name)

    return get


def plural(number: int, word: str) -> str:
    """Return a number with its noun.

    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {word}" + "s" * (number != 1)


def printable(path: str | os.PathLike[str]) -> str:
    """Return a path as text that can be printed and written as UTF-8: other bytes of a file name become U+FFFD."""
    return escaped(os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def escaped(text: str) -> str:
    r"""Escape control characters, so that no name changes a terminal. Line ends and tabs stay.

    >>> print(escaped("a\x1b[31m.txt"))
    a\x1b[31m.txt
    """
    return text.translate({code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))})


def refuse_unknown(function: str, options: Iterable[str], known: Collection[str]) -> None:
    """Raise UnknownOptionError with the nearest known name for a keyword argument that is not known."""
    if unknown := next((name for name in options if name not in known), None):
        hint = nearest(unknown, sorted(known)) or f" Its options are {', '.join(sorted(known))}."
        raise UnknownOptionError(f"{function}() has no option {unknown!r}.{hint}")


def checked_texts(texts: Any) -> Any:
    """Return `texts` if it is an iterable of texts. Raises WrongTypeError for one text, and for an iterable of keys.

    A mapping iterates over its keys, a pandas DataFrame over the names of its columns.
    """
    kind = type(texts).__name__
    if isinstance(texts, str | bytes | bytearray | memoryview):
        raise WrongTypeError(f"texts is one {kind}; give a list of texts, such as [text]")
    if isinstance(texts, Mapping) or getattr(texts, "ndim", 1) != 1:
        raise WrongTypeError(f"texts is a {kind}; give a list of texts, such as one column or the values")
    return texts


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean ...?" for an error message, or "" if no known name is similar. Leading hyphens are ignored."""
    import difflib

    names = {candidate.lstrip("-"): candidate for candidate in known}
    matches = difflib.get_close_matches(name.lstrip("-"), list(names), 1)
    return f" Did you mean {names[matches[0]]!r}?" if matches else ""


def checks_methods(cls: type[R]) -> type[R]:
    """Decorate a class: apply `suggests_options` to its constructor and to its public methods without **keywords."""
    for name, method in [*vars(cls).items()]:
        wrapper = type(method) if isinstance(method, classmethod | staticmethod) else None
        function = method.__func__ if wrapper else method
        is_public = name[0] != "_" or name == "__init__"
        if is_public and isinstance(function, FunctionType) and not function.__code__.co_flags & VAR_KEYWORDS:
            checked = suggests_options(function)
            setattr(cls, name, wrapper(checked) if wrapper else checked)
    return cls


def suggests_options(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function: an unknown argument raises UnknownOptionError with the names of those it has.

    If the function fails because an argument has the wrong type, a WrongTypeError names that argument. Numbers and flags that
    are passed by name are checked before the call, because a flag of any type would work.

    >>> @suggests_options
    ... def load(path, *, split=None): ...
    >>> load("tok", spilt="gpt2")
    Traceback (most recent call last):
    tokenmill.errors.UnknownOptionError: load() has no option 'spilt'. Did you mean 'split'?
    """
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    scalars = {name: _SCALARS[text] for name, text in function.__annotations__.items() if text in _SCALARS}

    @functools.wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        for name in options:
            if name in scalars:
                refuse_wrong_types({name: options[name]}, scalars, {})
        try:
            if options:
                return function(*args, **options)
            return function(*args)  # type: ignore[call-arg]  # most calls, and this is twice as fast
        except TokenmillError:
            raise
        except FAILURES:
            name = function.__qualname__.split(".")[0] if function.__name__ == "__init__" else function.__name__
            others = ", ".join(f"{option}=..." for option in known[code.co_argcount :])
            if others and len(args) > code.co_argcount and not code.co_flags & VAR_POSITIONAL:
                problem = f"{name}() has too many arguments without a name. Name the options: "
                raise UnknownOptionError(problem, others) from None
            if not code.co_flags & VAR_KEYWORDS:  # it checks its **keywords itself
                refuse_unknown(name, options, [name for name in known if name not in ("self", "cls")])
            arguments = dict(zip(known[: code.co_argcount], args, strict=False)) | options
            refuse_wrong_types(arguments, function.__annotations__, function.__globals__)
            raise

    return call


class _Names(dict):
    """The names in an annotation. A name that only type checkers import is a public one, or else stands for any type."""

    def __missing__(self, name: str) -> Any:
        if name == "np":
            return importlib.import_module("numpy")
        return getattr(builtins, name, None) or getattr(sys.modules[__package__], name, Any)


def refuse_wrong_types(arguments: Mapping[str, Any], annotations: Mapping[str, Any], names: Mapping[str, Any]) -> None:
    """Raise WrongTypeError for the first argument that does not have its type.

    names: the globals of annotations that are text.
    """
    for name, value in arguments.items():
        annotation = annotations.get(name, "Any")
        try:
            hint = eval(annotation, {}, _Names(names)) if isinstance(annotation, str) else annotation
        except Exception:  # a name that only type checkers import; the error of the function is the one to show
            continue
        if not fits(value, hint):
            actual = f" is {reprlib.repr(value)}, of the type {type(value).__name__}"
            wanted = in_words(hint)
            advice = "; tokenmill.load opens files and names" if "Tokenizer" in wanted else ""
            raise WrongTypeError(OptionName(name), f"{actual}; it must be {wanted}{advice}")


def checked_argument(function: str, unknown: Iterable[str], hint: Any, **argument: Any) -> Any:
    """Check the only argument of a function that is so short that `suggests_options` would slow it down, and return its value.

    Raises WrongTypeError if it does not have the type `hint`, and UnknownOptionError for the arguments `unknown`.
    """
    refuse_unknown(function, unknown, list(argument))
    refuse_wrong_types(argument, dict.fromkeys(argument, hint), {})
    return next(iter(argument.values()))


_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "True or False", NoneType: "None", bytes: "bytes",
          Path: "a path", os.PathLike: "a path", Callable: "a function", Mapping: "a mapping", dict: "a mapping"}  # fmt: skip
_PLURALS = {str: "texts", int: "whole numbers", float: "numbers", os.PathLike: "paths", tuple: "tuples"}


def in_words(hint: Any, several: bool = False) -> str:
    """Describe a type in words. several: in the plural.

    >>> in_words(str | os.PathLike[str] | Iterable[int] | None)
    'text, a path, a list of whole numbers or None'
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in UNIONS:
        *first, last = dict.fromkeys(in_words(each, several).replace("True or False", "True, False") for each in inner)
        return f"{', '.join(first)} or {last}" if first else last
    if origin is Annotated:
        return in_words(inner[0], several)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    plain = origin or hint
    name = getattr(plain, "__name__", str(plain))
    if several and inner and plain not in _PLURALS:
        return f"lists of {in_words(inner[0], True)}"
    if several:
        return _PLURALS.get(plain) or _WORDS.get(plain) or f"{name}s"
    if plain in _WORDS:
        return _WORDS[plain]
    if inner and isinstance(plain, type) and issubclass(plain, Iterable):
        return f"a list of {in_words(inner[0], True)}"
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value, with the elements of a list or mapping, has a type. True for types that cannot be checked."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in UNIONS:
        if isinstance(value, Mapping):  # a mapping is not meant as the iterable of its keys
            inner = tuple(each for each in inner if get_origin(each) is Mapping) or inner
        return any(fits(value, each) for each in inner)
    if origin is Annotated:
        return fits(value, inner[0])
    if origin is Literal:
        return value in inner
    if hint is None or hint is Any or not isinstance(origin or hint, type):
        return hint is not None or value is None
    if hint is Path:
        return isinstance(value, str | os.PathLike)
    if hint in (int, float) and not isinstance(value, bool):
        return isinstance(value, Integral if hint is int else Real)
    if not isinstance(value, origin or hint) or (isinstance(value, bool) and hint is int):
        return False
    if isinstance(value, Mapping) and len(inner) == 2:
        return all(fits(key, inner[0]) and fits(element, inner[1]) for key, element in value.items())
    has_element_type = isinstance(value, Collection) and len(inner) == 1 and inner[0] is not Any
    return not has_element_type or all(fits(element, inner[0]) for element in value)
