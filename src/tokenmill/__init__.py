"""tokenmill makes, uses and judges byte-level BPE tokenizers.

>>> import tokenmill
>>> tok = tokenmill.train_from_iterator(["low low low low low", "lower newest"], vocab_size=260)
>>> tok.decode(tok.encode("lowest"))
'lowest'

The public names are listed once, in __init__.pyi. Each is loaded on first use, so `import tokenmill` stays light.
"""

__version__ = "0.1.0"
_sources: dict[str, tuple[str, str]] = {}  # by public name: a module, and the name in it


def __getattr__(name: str) -> object:
    from importlib import import_module

    if not _sources:
        with open(f"{__file__}i", encoding="utf-8") as stub:
            _sources.update((words[5], (words[1], words[3])) for words in map(str.split, stub) if words[:1] == ["from"])
    if name == "__all__":
        return sorted(_sources)
    if name not in _sources:
        raise AttributeError(f"module 'tokenmill' has no attribute {name!r}")
    module, own_name = _sources[name]
    value = import_module(f".{name}", __name__) if module == "." else getattr(import_module(module, __name__), own_name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __getattr__("__all__")  # type: ignore[return-value]
