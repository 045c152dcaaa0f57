"""tokenmill trains, runs and evaluates BPE tokenizers.

>>> import tokenmill
>>> tok = tokenmill.train_from_iterator(["low low low low low", "lower newest"], vocab_size=260)
>>> tok.decode(tok.encode("lowest"))
'lowest'

The public names are listed once, in __init__.pyi. Each is loaded on first use, so `import tokenmill` stays light.
"""

__version__ = "0.1.0"
_modules: dict[str, str] = {}  # by public name


def __getattr__(name: str) -> object:
    from importlib import import_module

    if not _modules:
        with open(f"{__file__}i", encoding="utf-8") as stub:
            _modules.update((words[3], words[1]) for words in map(str.split, stub) if words[:1] == ["from"])
    if name == "__all__":
        return sorted(_modules)
    if name not in _modules:
        raise AttributeError(f"module 'tokenmill' has no attribute {name!r}")
    module = _modules[name]
    value = import_module(f".{name}", __name__) if module == "." else getattr(import_module(module, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __getattr__("__all__")  # type: ignore[return-value]
