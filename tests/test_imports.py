"""No two modules import each other, not even inside functions or for type checkers alone."""

import ast
from pathlib import Path

import tokenmill

SRC = Path(tokenmill.__file__).parent
NAMES = {".".join(("tokenmill", *path.relative_to(SRC).with_suffix("").parts)): path for path in SRC.rglob("*.py")}
MODULES = {name.removesuffix(".__init__"): path for name, path in NAMES.items()}


def imports(name: str, path: Path) -> set[str]:
    """The modules of tokenmill that a module imports, wherever in it."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("cython.cimports.") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(
                [*package[: len(package) - node.level + 1], *filter(None, [node.module])]
                if node.level
                else [node.module]
            )
            base = base.removeprefix("cython.cimports.")
            for alias in node.names:
                found.add(f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base)
    # A package is left out where it merely holds the module: importing tokenmill.split.syntax also runs tokenmill.split.
    return {other for other in found & set(MODULES) if other != name and other != "tokenmill"}


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == index[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1:
                found.append(sorted(component))

    for name in graph:
        if name not in index:
            visit(name)
    return found


def test_circles_are_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": set()}) == [["a", "b", "c"]]
    assert "tokenmill.split.alphabet" in imports("tokenmill.split.syntax", MODULES["tokenmill.split.syntax"])


def test_no_import_circles():
    assert cycles({name: imports(name, path) for name, path in MODULES.items()}) == []
