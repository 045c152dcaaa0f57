"""The slow twin shares no code with the kernels, and no production code calls it."""

import ast
from pathlib import Path

import tokenmill

SRC = Path(tokenmill.__file__).parent


def imported(path: Path) -> set[str]:
    """The modules that a file imports, as absolute names, also inside functions."""
    package = ["tokenmill", *path.relative_to(SRC).parent.parts]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


def test_only_tests_call_the_slow_encoder():
    callers = [path for path in SRC.rglob("*.py") if "tokenmill.tokenizer.naive" in imported(path)]
    assert callers == []


def test_the_slow_encoder_imports_no_kernel():
    ours = {name for name in imported(SRC / "tokenizer" / "naive.py") if name.startswith("tokenmill.")}
    assert not any(part.endswith("_cy") for name in ours for part in name.split("."))
    assert {name.split(".")[1] for name in ours} <= {"errors", "events", "vocabulary"}


def test_no_ring_of_imports_in_the_room():
    """At run time; imports for type checkers only are inside `if TYPE_CHECKING` and name their module in quotes."""
    room = SRC / "tokenizer"
    edges = {}
    for path in room.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                node.body = [ast.Pass()]
        package = ["tokenmill", *path.relative_to(SRC).parent.parts]
        name = ".".join([*package, path.stem])
        edges[name] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                module = ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])
                edges[name] |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    edges = {name: targets & set(edges) for name, targets in edges.items()}
    while leaves := {name for name, targets in edges.items() if not targets & set(edges)}:
        edges = {name: targets for name, targets in edges.items() if name not in leaves}
    assert edges == {}
