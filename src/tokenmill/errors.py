"""What can go wrong, one class for each thing a caller may want to do about it.

    TokenmillError
    ├── UsageError (ValueError)                 an argument that cannot be right
    │   ├── PatternError                        a split pattern that is no regular expression
    │   ├── SpecialTokenError                   text that spells a special token nobody allowed
    │   └── UnknownTokenError (KeyError)        an id or a token that the vocabulary does not have
    ├── InputError                              a source that cannot be read: missing, damaged, binary
    │   └── FormatError                         a vocabulary, counts or token file that is damaged or foreign
    ├── OutputError                             a file that cannot be written: disk full, no permission
    ├── ConversionError                         what the target format cannot hold
    └── MissingExtraError (ImportError)         an optional dependency that is not installed

Every message says what was found, where, and what to do. The command line prints it without a traceback:
exit code 2 for a UsageError, 1 for the others.
"""

import importlib
from types import ModuleType

__all__ = [
    "ConversionError",
    "FormatError",
    "InputError",
    "MissingExtraError",
    "OutputError",
    "PatternError",
    "SpecialTokenError",
    "TokenmillError",
    "UnknownTokenError",
    "UsageError",
    "require",
]


class TokenmillError(Exception):
    """The root of all errors that tokenmill raises on purpose."""


class UsageError(TokenmillError, ValueError):
    """An argument that cannot be right, such as a vocabulary smaller than its alphabet."""


class PatternError(UsageError):
    """A split pattern that is no valid regular expression."""


class SpecialTokenError(UsageError):
    """Text that spells a special token which the caller did not allow."""


class UnknownTokenError(UsageError, KeyError):
    """An id or a token that the vocabulary does not have."""

    __str__ = Exception.__str__  # KeyError's shows the repr of the message


class InputError(TokenmillError):
    """A source that cannot be read: missing, not permitted, damaged, or not text."""


class FormatError(InputError):
    """A vocabulary, counts or token file that is damaged or of a kind tokenmill does not know."""


class OutputError(TokenmillError):
    """A file that cannot be written: a full disk, a missing permission."""


class ConversionError(TokenmillError):
    """A tokenizer holds something that the target format cannot."""


class MissingExtraError(TokenmillError, ImportError):
    """An optional dependency that is not installed."""


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or raise a MissingExtraError that names the extra which brings it.

    >>> require("json", "corpus", "reading JSON").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtraError(
            f"{purpose} needs the module {module!r}, which is not installed. "
            f"Install the extra that brings it: pip install 'tokenmill[{extra}]'"
        ) from error
