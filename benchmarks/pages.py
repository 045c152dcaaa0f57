"""Markdown tables, and the marked sections of pages that they replace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [f"| {' | '.join(map(str, cells))} |" for cells in (head, ["---"] * len(head), *rows)]


def section(*parts: str | list[str]) -> list[str]:
    """Return the lines of a section: its heading, paragraphs and tables, with an empty line between two."""
    lines: list[str] = []
    for part in parts:
        lines += ["", *([part] if isinstance(part, str) else part)]
    return lines[1:]


def replace_section(path: Path, name: str, body: str | list[str]) -> None:
    """Replace the lines between the markers `name:begin` and `name:end` of a page. A missing marker raises ValueError."""
    pattern = rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)"
    lines = body if isinstance(body, str) else "\n".join(body)
    old = path.read_text(encoding="utf-8")
    text, n_sections = re.subn(pattern, lambda found: f"{found[1]}{lines}\n{found[2]}", old, flags=re.DOTALL)
    if n_sections != 1:
        raise ValueError(f"{path} has {n_sections} sections {name!r}; expected one")
    path.write_text(text, encoding="utf-8")
