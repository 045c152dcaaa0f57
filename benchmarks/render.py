"""Render the tables of the documentation and the README from benchmarks/results: python -m benchmarks.render

docs/benchmarks.md gets one section for each topic that has results. The README gets its picture, its bullets and a short table,
the page on large data its estimate, and the pages on Picky BPE and on repair their tables.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable

from tokenmill.quality.metrics import gini

from . import charts, picky_page, repair
from .encode_tables import leads_of, means_of, with_start
from .harness import ROOT, median, rates, ratio, ratios, saved, spread
from .pages import replace_section, table
from .stages import STAGES
from .tables import FILE_ROWS, TOPICS, TRAINERS


def taken_on(place: dict) -> str:
    about = [place["cpu"]]
    if "flags" in place:
        about += [*place["flags"], f"governor {place['governor']}"]
    return f"{place['date']} on {place['cores']} cores ({', '.join(about)}), Python {place['python']}"


def sections() -> str:
    """The body of docs/benchmarks.md."""
    found = {topic: results for topic in TOPICS if (results := saved(topic))}
    measured = found["trainers"]["environment"]["versions"] | found["encode"]["environment"]["versions"]
    versions = ", ".join(
        "tokenizers_next" if peer == "tokenizers_next" else f"{peer} {version}"  # `rendered` writes its version
        for peer, version in sorted(measured.items())
        if version
    )
    parts, places = [], {}
    for topic, kept in found.items():
        heading, *lines = TOPICS[topic](kept["results"])
        places.setdefault(taken_on(kept["environment"]), []).append(heading.removeprefix("## "))
        parts.append("\n".join([heading, *lines]))
    about = [
        "The corpora are *en*, 150 MB of English; *multi*, 189 MB in more than twenty languages; and *code*, 100 MB of source code. "
        f"Versions: {versions}.",
        "",
        "Compare figures only within a section: the sections were measured on different days, and some on another processor.",
        "",
        *(f"- Measured on {place}: {'; '.join(headings)}." for place, headings in places.items()),
    ]
    return "\n\n".join(["\n".join(about), *parts])


def compared(theirs: list[dict] | None, ours: list[dict], key: str = "wall") -> str:
    """The time of a peer relative to tokenmill's: "6.5x slower (6.1 to 6.9)", "1.4x faster (1.3 to 1.5)", "tie (0.9 to 1.1)"."""
    if not theirs:
        return ""
    each = ratios(theirs, ours, key)
    if len(each) > 1 and each[0] <= 1 <= each[-1]:
        return spread(each, middle="tie")
    return spread(each, "x slower") if each[0] > 1 else spread((1 / value for value in each), "x faster")


def measured() -> str:
    """The README's picture and its bullets, whose figures are those of the results."""
    train, matrix_, files, tools, keys, parity = (
        saved(topic)["results"] for topic in ("train", "matrix", "token_files", "trainers", "playground", "parity")
    )
    english = train["en"]
    seconds = {name: median(english[name]) for name in charts.PEERS}
    leads = [ratio(english[peer], english[ours]) for peer, ours in TRAINERS.items() if peer in english]
    means, (gains, behind, ties, _) = means_of(matrix_), leads_of(matrix_)
    *first, last = (
        f"{mean:.1f}x faster than {peer}" for peer, (mean, _) in sorted(means.items(), key=lambda each: -each[1][0])
    )
    cells = sorted({cells for _, cells in means.values()})
    over = " to ".join(map(str, dict.fromkeys((cells[0], cells[-1]))))
    jsonl = files["jsonl"]
    megatron = [
        ratio(kept["whole"]["commands"]["megatron"], kept["whole"]["commands"]["tokenmill"])
        for kept in tools.values()
        if kept["whole"]["identical"]
    ]
    tokens = {way: list(used.values()) for way, used in parity["tokens"].items()}
    press = [
        statistics.median(keys["keys"][f"{corpus} {size} at once"]["repaint"])
        for size in (10_000, 1_000_000)
        for corpus in ("en", "multi", "code")
    ]
    alt = ", ".join(f"{name} {value:.2g}" for name, value in seconds.items())
    return f"""<picture>
  <source media="(prefers-color-scheme: dark)" srcset="docs/images/training-dark.svg">
  <img alt="Seconds to train 32,768 tokens on 150 MB of English: {alt}" src="docs/images/training-light.svg" width="640">
</picture>

- **Train**: 32,768 tokens from 150 MB of English in {seconds["tokenmill"]:.2f} s and {median(english["tokenmill"], "peak_mib"):.0f} MiB on two cores, {min(leads):.1f}x to {max(leads):.0f}x faster than {len(leads)} other libraries.
- **Use [any family](docs/reference/families.md)**: the ids of tiktoken, Hugging Face, SentencePiece and llama.cpp from their own files. On new text in pieces of 10 kB, tokenmill is {", ".join(first)} and {last} (geometric means over {over} combinations of vocabulary and text). Another library is faster in {behind or "none"} of {len(gains)} combinations, and level in {ties or "none"}.
- **Write [token files](docs/how-to/encode.md)**: JSON lines at {jsonl["bytes"] / 1e6 / median(jsonl["commands"]["tokenmill"]):.0f} MB/s on two cores, {ratio(jsonl["commands"]["gigatoken"], jsonl["commands"]["tokenmill"]):.1f}x faster than gigatoken, and files for Megatron-LM {" to ".join(dict.fromkeys(f"{gain:.0f}x" for gain in (min(megatron), max(megatron))))} faster than its own fast tool, with the same bytes.
- **[Evaluate](docs/how-to/judge.md)** a vocabulary on one page: of the 8,192 tokens in [the tour](docs/tour.md#evaluate), {judged()}.
- **Go beyond plain BPE**: [Picky BPE](docs/explanation/picky.md), [SuperBPE and BoundlessBPE](docs/how-to/superwords.md), and [parity-aware BPE](docs/how-to/parity.md), which cuts the Gini coefficient of {len(tokens["plain"])} languages from {gini(tokens["plain"]):.3f} to {gini(tokens["hybrid"]):.3f}.
- **See** tokens and training in a [playground](docs/how-to/playground.md): {min(press[:3]):.0f} ms from a key press to new tokens in 10 kB of text, {max(press[3:]):.0f} ms in 1 MB."""


def judged() -> str:
    """What the report of the tour says of IoS, from its page: the figures are those that a test prints again."""
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    found = re.search(r"^0\.9 +(\S+) +(\S+)% ", tour, re.MULTILINE)
    assert found, "the tour lists no tokens with an IoS of 0.9"
    return f"{found[1]} ({found[2]}%) occur almost only inside longer tokens"


def figures() -> str:
    """The README's table: speeds on English text, and the peers' times relative to tokenmill's."""
    trained, encoded, files = (saved(topic) for topic in ("train", "encode", "token_files"))
    peers = ("gigatoken", "tiktoken", "tokenizers", "tokenizers_next")

    def speed(values: Iterable[float]) -> str:
        return spread(values, " MB/s")

    def row(name: str, own: str, kept: dict, key: str = "wall") -> list[str]:
        return [name, own, *(compared(kept.get(peer), kept["tokenmill"], key) for peer in peers)]

    train = trained["results"]["en"]
    pattern = {**train, "tokenmill": train["tokenmill_gpt2"]}
    trains = row("train 32,768 tokens", speed(150 / each["wall"] for each in train["tokenmill"]), train)
    trains[2] = compared(train["gigatoken"], pattern["tokenmill"])
    rows = [trains]
    for kind, what in (("array", "an array"), ("list", "a list")):
        for key, call in (("start", f"import, load, encode to {what}"), ("warm", f"encode to {what}, later calls")):
            kept = with_start(encoded["results"][kind]["en"])
            cells = row(call, speed(rates(kept["tokenmill"], key)), kept, key)
            if kind == "list":  # of tokenizers, a shorter text
                slow = with_start(encoded["results"]["slow"]["en"])
                cells[4] = compared(slow["tokenizers"], slow["tokenmill"], key)
            rows.append(cells)
    kept = encoded["results"]["decode"]["en"]
    rows.append(row("decode a list", speed(rates(kept["tokenmill"], "seconds")), kept, "seconds"))
    for name, what in FILE_ROWS.items():
        if name in ("jsonl", "parquet"):
            kept = files["results"][name]
            commands, size = kept["commands"], kept["bytes"] / 1e6
            cells = row(
                f"{what} to a token file", speed(size / each["wall"] for each in commands["tokenmill"]), commands
            )
            cells[4] = compared(commands["short tokenizers"], commands["short tokenmill"])
            rows.append(cells)
    versions = encoded["environment"]["versions"]
    named = ", ".join(f"{peer} {versions[peer]}" for peer in peers[:-1])
    places: dict[str, list[str]] = {}
    for what, kept in (("training", trained), ("encoding", encoded), ("token files", files)):
        about = kept["environment"]
        places.setdefault(f"{about['cores']} cores ({about['cpu']})", []).append(f"{what} {about['date']}")
    measured = "; ".join(f"{place}: {', '.join(taken)}" for place, taken in places.items())
    return "\n".join(
        [
            *table(["", "tokenmill", *peers], rows),
            "",
            "150 MB of English. Training and token files: two cores, wall time. Encoding and decoding: cl100k_base, one core, CPU time; calls "
            "of 25 MB to an array and 10 MB to a list; later calls have new text. Each figure is the median of five paired rounds with its range, unless it names another number of "
            "rounds. gigatoken trains with the GPT-2 pattern, and its ratio is to tokenmill with that pattern. tokenizers encodes "
            f"shorter texts, and writes token files through `datasets.map`. Measured on {measured}. {named}.",
        ]
    )


def estimate() -> str:
    """The time for 5 TB of text in Parquet, from the stages: the table of docs/how-to/large-data.md."""
    verbs = {}
    for verb in ("count", "encode"):
        rounds = saved("stages")["results"][verb]["parquet"]
        speed = statistics.median(each["bytes"] / 1e6 / sum(each.get(stage, 0) for stage in STAGES) for each in rounds)
        hours = 5e6 / speed / 3600
        verbs[verb] = [f"`{verb}`", f"{speed:.0f} MB/s of text", f"{hours:.1f}", f"{hours / 64 * 60:.0f} minutes"]
    between = ["`train` on the counts", "", "", "one machine, minutes"]
    disk = ["reading 2 TB at 2 GB/s, for `count` and again for `encode`", "", "", f"{2e12 / 2e9 / 60:.0f} minutes"]
    head = ["step", "rate for one core", "core hours for 5 TB", "64 cores"]
    return "\n".join(table(head, [verbs["count"], between, verbs["encode"], disk]))


PAGES: dict[str, dict[str, Callable[[], str | list[str]]]] = {
    "docs/benchmarks.md": {"speeds": sections},
    "docs/how-to/large-data.md": {"rates": estimate},
    "README.md": {"measured": measured, "figures": figures},
    "docs/explanation/picky-results.md": {
        **picky_page.TABLES,
        "exports": repair.exports,
        "frequency": repair.frequency,
    },
    "docs/how-to/repair.md": {"cleaned": repair.cleaned, "replaced": repair.replaced},
}


def rendered(body: Callable[[], str | list[str]]) -> str | list[str]:
    """A body, with the version of the pre-release of tokenizers for its name in the results."""
    found = body()
    shown = f"tokenizers {saved('encode')['environment']['versions']['tokenizers_next']}"
    if isinstance(found, str):
        return found.replace("tokenizers_next", shown)
    return [line.replace("tokenizers_next", shown) for line in found]


def main() -> None:
    for path, bodies in PAGES.items():
        for name, body in bodies.items():
            replace_section(ROOT / path, name, rendered(body))
    for theme in charts.THEMES:
        (ROOT / "docs" / "images" / f"training-{theme}.svg").write_text(charts.training_chart(theme), encoding="utf-8")


if __name__ == "__main__":
    main()
