"""The history of the figures of `python -m benchmarks --quick`: one JSON line for each commit and machine, and its plots.

A line has the keys date, commit, machine (processor, cores, flags, governor, load at the start) and figures: by figure, by
library. A later run of the same commit on the same kind of machine replaces the line.
"""

from __future__ import annotations

import json
from pathlib import Path

from .harness import ROOT
from .pages import table

PATH = ROOT / "benchmarks" / "history.jsonl"
MACHINE = ("cpu", "cores", "flags", "governor", "load", "python", "system")


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def name_of(machine: dict) -> str:
    """A kind of machine: machines of one name are compared."""
    return f"{machine['cpu']}, {machine['cores']} cores, {', '.join(machine['flags']) or 'no vector flags'}"


def add(path: Path, place: dict, figures: dict[str, dict[str, float]]) -> None:
    """Add a line, or replace that of the same commit and kind of machine. place: what `environment` tells."""
    line = {
        "date": place["date"],
        "commit": place["commit"],
        "machine": {key: place[key] for key in MACHINE},
        "versions": {library: place["versions"].get(library) for row in figures.values() for library in row},
        "figures": figures,
    }
    key = line["commit"], name_of(line["machine"])
    kept = [old for old in read(path) if (old["commit"], name_of(old["machine"])) != key]
    beside = path.with_suffix(".part")
    beside.write_text("".join(json.dumps(each) + "\n" for each in [*kept, line]))
    beside.rename(path)


def page(lines: list[dict]) -> str:
    """The body of docs/history.md: for each kind of machine a table of the last runs, and a plot for each figure."""
    parts = []
    for name in dict.fromkeys(name_of(line["machine"]) for line in lines):
        runs = [line for line in lines if name_of(line["machine"]) == name]
        figures = list(dict.fromkeys(figure for run in runs for figure in run["figures"]))
        rows = [
            [run["date"], run["commit"], run["machine"]["governor"], f"{run['machine']['load']:.1f}"]
            + [f"{run['figures'].get(figure, {}).get('tokenmill', 0):.3g}" for figure in figures]
            for run in runs[-10:]
        ]
        parts += [f"## {name}", "\n".join(table(["date", "commit", "governor", "load", *figures], rows))]
        if len(runs) > 1:
            parts.append("\n".join(plot(figure, runs) for figure in figures))
    return "\n\n".join(parts)


def plot(figure: str, runs: list[dict], width: int = 320, height: int = 90) -> str:
    """The figure of tokenmill over the runs, in their order, as one line of SVG."""
    values = [run["figures"].get(figure, {}).get("tokenmill", 0.0) for run in runs]
    top = max(values) * 1.1 or 1.0
    step = (width - 20) / (len(values) - 1)
    points = [(10 + i * step, height - 20 - value / top * (height - 40)) for i, value in enumerate(values)]
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
    dots = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3"><title>{run["commit"]} {value:g}</title></circle>'
        for (x, y), run, value in zip(points, runs, values, strict=True)
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{figure} over time" fill="currentColor">'
        f'<text x="10" y="14" font-size="12">{figure}: {values[-1]:g}</text>'
        f'<polyline points="{line}" fill="none" stroke="currentColor"/>{dots}</svg>'
    )
