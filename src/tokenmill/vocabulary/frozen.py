"""`dataclass`: dataclasses.dataclass for a class that each load needs.

The module dataclasses imports `inspect`, and both take a tenth of the time of loading a file. Here they are imported when
dataclasses.replace or dataclasses.fields is called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NoReturn, TypeVar

Class = TypeVar("Class", bound=type)


def dataclass(*, frozen: Literal[True], eq: Literal[False], repr: Literal[False]) -> Callable[[Class], Class]:
    """Return a class decorator that adds a constructor, which takes the annotated fields and calls `__post_init__`."""
    return _with_constructor


def _with_constructor(cls: Class) -> Class:
    names = tuple(cls.__annotations__)
    required = {name for name in names if name not in vars(cls)}

    def __init__(self: Any, *values: Any, **fields: Any) -> None:
        given = dict(zip(names, values, strict=False)) | fields
        missing, unknown = required - given.keys(), given.keys() - {*names}
        if missing or unknown or len(given) < len(values) + len(fields):
            raise TypeError(
                f"{cls.__name__}() takes each of {', '.join(names)} once; missing {sorted(missing)}, unknown {sorted(unknown)}"
            )
        self.__dict__.update(given)  # the defaults are attributes of the class
        self.__post_init__()

    def __setattr__(self: Any, name: str, value: object) -> NoReturn:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    added: dict[str, object] = {"__init__": __init__, "__setattr__": __setattr__, "__match_args__": names}
    for name, value in (added | {"__dataclass_fields__": _Fields(cls, names)}).items():
        setattr(cls, name, value)
    return cls


class _Fields:
    """The attribute of a class in which dataclasses looks for its fields. They are made on first use."""

    def __init__(self, cls: type, names: tuple[str, ...]):
        self._class, self._names = cls, names

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        from dataclasses import field, make_dataclass

        kinds, defaults = self._class.__annotations__, vars(self._class)
        rows = [
            (
                name,
                kinds[name],
                *([field(default_factory=partial(defaults.get, name))] if name in defaults else []),
            )
            for name in self._names
        ]
        made: dict[str, Any] = make_dataclass(self._class.__name__, rows).__dataclass_fields__  # type: ignore[attr-defined]
        self._class.__dataclass_fields__ = made  # type: ignore[attr-defined]
        return made
