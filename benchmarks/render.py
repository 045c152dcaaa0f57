"""Render the tables in docs/benchmarks.md and the README from benchmarks/results: python -m benchmarks.render

docs/benchmarks.md gets one section for each topic that has results. The README gets one table of the figures.
"""

from __future__ import annotations

from . import charts, history
from .harness import ROOT, median, rate, ratio, saved
from .pages import replace_section, table
from .tables import FILE_ROWS, TOPICS, TRAINERS, speed


def taken_on(place: dict) -> str:
    about = [place["cpu"]]
    if "flags" in place:
        about += [*place["flags"], f"governor {place['governor']}"]
    return f"{place['date']} on {place['cores']} cores ({', '.join(about)}), Python {place['python']}"


def sections() -> str:
    """The body of docs/benchmarks.md."""
    found = {topic: results for topic in TOPICS if (results := saved(topic))}
    first = found["encode"]["environment"]
    versions = ", ".join(f"{peer} {version}" for peer, version in first["versions"].items() if version)
    parts = [
        f"Measured on {taken_on(first)}, where nothing else is said. Versions: {versions}. The corpora are *en*, 150 MB of English; *multi*, 189 MB in more than twenty languages; "
        "and *code*, 100 MB of source code."
    ]
    for topic, kept in found.items():
        heading, *lines = TOPICS[topic](kept["results"])
        if taken_on(kept["environment"]) != taken_on(first):
            lines = ["", f"Measured on {taken_on(kept['environment'])}.", *lines]
        parts.append("\n".join([heading, *lines]))
    return "\n\n".join(parts)


def figures() -> str:
    """The README's table: the figures on English text, tokenmill against its peers."""
    trained, counted, encoded = (saved(topic) for topic in ("train", "count", "encode"))
    peers = ("tokenmill", "gigatoken", "tiktoken", "tokenizers", "tokenizers_next")

    def row(name: str, cells: dict[str, str]) -> list[str]:
        return [name, *(cells.get(peer, "") for peer in peers)]

    def rates(kind: str, key: str) -> dict[str, str]:
        return {name: f"{rate(rounds, key)} MB/s" for name, rounds in encoded["results"][kind]["en"].items()}

    train = trained["results"]["en"]
    seconds = {name: f"{ratio(train[name], train[TRAINERS[name]]):.1f}x the time" for name in TRAINERS if name in train}
    seconds["tokenmill"] = f"{median(train['tokenmill']):.2f} s"
    lists = {kind: rates("list", kind) | {"tokenizers": rates("slow", kind)["tokenizers"]} for kind in ("cold", "warm")}
    latency = {
        name: f"{median(rounds, 'microseconds'):.2f} µs" for name, rounds in encoded["results"]["latency"].items()
    }
    letters = {
        name: f"{1000 * median(rounds, 'a'):.0f} ms" for name, rounds in encoded["results"]["long_pretokens"].items()
    }
    rows = [
        row("train 32,768 tokens on 150 MB", seconds),
        row("peak memory of training", {name: f"{median(train[name], 'peak_mib'):.0f} MiB" for name in train}),
        row("count pretokens, 2 threads", {"tokenmill": f"{speed(counted['results']['en']['2 threads'])} MB/s"}),
        row("encode to an array, first call", rates("array", "cold")),
        row("encode to an array, later calls", rates("array", "warm")),
        row("encode to a list, first call", lists["cold"]),
        row("encode to a list, later calls", lists["warm"]),
        row("decode a list", rates("decode", "seconds")),
        row("encode 100 characters", latency),
        row("encode a megabyte of the letter a", letters),
    ]
    files = saved("token_files")
    for name, what in FILE_ROWS.items() if files else ():
        commands, size = files["results"][name]["commands"], files["results"][name]["bytes"] / 1e6
        cells = {peer: f"{size / median(commands[peer]):,.0f} MB/s" for peer in peers[:2]}
        slower = ratio(commands["short tokenizers"], commands["short tokenmill"])
        rows.append(row(f"{what} to a token file, whole command", cells | {"tokenizers": f"{slower:.0f}x the time"}))
    next_version = encoded["environment"]["versions"].get("tokenizers_next") or "1.0"
    heads = [*peers[:-1], f"tokenizers {next_version}"]
    return "\n".join(
        [
            *table(["", *heads], rows),
            "",
            f"Measured on {taken_on(encoded['environment'])}; medians. English text. Encoding uses cl100k_base and one core, and later "
            "calls have new text; training and token files use both cores. gigatoken trains with the GPT-2 pattern and is compared with "
            "tokenmill using the same pattern. tokenizers writes token files through `datasets.map`.",
        ]
    )


def main() -> None:
    replace_section(ROOT / "docs" / "benchmarks.md", "speeds", [sections()])
    replace_section(ROOT / "docs" / "history.md", "history", [history.page(history.read(history.PATH))])
    replace_section(ROOT / "README.md", "figures", [figures()])
    for theme in charts.THEMES:
        (ROOT / "docs" / "images" / f"training-{theme}.svg").write_text(charts.training_chart(theme), encoding="utf-8")


if __name__ == "__main__":
    main()
