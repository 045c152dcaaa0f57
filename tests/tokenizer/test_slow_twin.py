"""The slow twin shares no code with the kernels, and the room has no ring of imports."""

import ast
from pathlib import Path

import naive_encoder
import tokenmill

SRC = Path(tokenmill.__file__).parent


def test_the_slow_encoder_imports_no_kernel():
    tree = ast.parse(Path(naive_encoder.__file__).read_text())
    ours = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and "tokenmill" in node.module}
    assert ours == {"tokenmill.errors", "tokenmill.vocabulary"}


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
