"""tokenmill makes, uses and judges byte-level BPE tokenizers.

>>> import tokenmill
>>> tok = tokenmill.train_from_iterator(["low low low low low", "lower newest"], vocab_size=260)
>>> tok.decode(tok.encode("lowest"))
'lowest'

The public names are listed once, in __init__.pyi. Each is loaded on first use, so `import tokenmill` stays light.
"""

from importlib import import_module

__version__ = "0.1.0"

with open(f"{__file__}i", encoding="utf-8") as _stub:  # pathlib would take longer to import than this module
    _MODULES = {words[3]: words[1] for words in map(str.split, _stub) if words[:1] == ["from"]}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'tokenmill' has no attribute {name!r}")
    module = _MODULES[name]
    value = import_module(f".{name}", __name__) if module == "." else getattr(import_module(module, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
