"""Bar charts of benchmarks/results as inline SVG. The documentation site shows them over the tables of docs/benchmarks.md."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from html import escape

from tokenmill.quality.charts import Axis, Chart, Series, draw

from .harness import CORPORA, median, saved

Figure = Callable[[list[dict]], float]


def charts() -> dict[str, list[str]]:
    """The charts of each section of docs/benchmarks.md, by its heading; each is one HTML element."""
    train, split, count, encode, files = (
        saved(topic)["results"] for topic in ("train", "split", "count", "encode", "token_files")
    )

    def rate(key: str) -> Figure:
        return lambda rounds: statistics.median(each["bytes"] / each[key] for each in rounds) / 1e6

    def commands(kept: dict) -> dict[str, list[dict]]:
        return {way: [{**each, "bytes": kept["bytes"]} for each in kept["commands"][way]] for way in files_by}

    # gigatoken trains with the GPT-2 pattern, the others with cl100k's
    names = {"tokenmill_gpt2": "tokenmill, GPT-2", "gigatoken": "gigatoken, GPT-2"}
    train = {corpus: {names.get(way, way): rounds for way, rounds in kept.items()} for corpus, kept in train.items()}
    libraries = ["tokenmill", "rustbpe", "tokenizers", "bpeasy", "sentencepiece", *names.values()]
    files_by = ["tokenmill", "gigatoken"]
    lists = {corpus: {**encode["list"][corpus], **encode["slow"][corpus]} for corpus in CORPORA}
    for corpus in CORPORA:  # it is in both; the longer text counts
        lists[corpus]["tokenmill"] = encode["list"][corpus]["tokenmill"]
    longer = "MB/s, longer is better"
    return {
        "Train": [bars("Seconds to train 32,768 tokens", "seconds, shorter is better", train, libraries, median)],
        "Split": [bars("Split on one thread", longer, split, split["en"], speed)],
        "Count": [bars("Count pretokens", longer, count, count["en"], speed)],
        "Encode": [
            bars(f"Encode to {what}, {calls} calls", longer, kept, kept["en"], rate(key))
            for what, kept in (("an array", encode["array"]), ("a list", lists))
            for calls, key in (("first", "cold"), ("later", "warm"))
        ],
        "Decode": [bars("Decode a list", longer, encode["decode"], encode["decode"]["en"], rate("seconds"))],
        "Token files": [
            bars(
                "Whole commands, text to a file of ids",
                longer,
                {way: {name: commands(kept)[way] for name, kept in files.items()} for way in files_by},
                files,
                rate("wall"),
            )
        ],
    }


def speed(rounds: list[dict]) -> float:
    return median(rounds, "mb_per_s")


def bars(title: str, label: str, results: dict, groups: Iterable[str], figure: Figure) -> str:
    """One chart: for each group, such as a library, a bar for each key of `results`, such as a corpus."""
    groups = list(groups)
    shown = [
        Series(name, groups, [figure(kept[group]) if group in kept else None for group in groups])
        for name, kept in results.items()
    ]
    unit = "number" if label.startswith("seconds") else "count"
    svg = draw(Chart(title, title, label, "bars", Axis(""), Axis(label, unit), shown))
    names = " ".join(f'<span class="s{number}">{escape(of.name)}</span>' for number, of in enumerate(shown, 1))
    return f'<figure class="bars"><figcaption>{escape(title)} {names}</figcaption>{svg}</figure>'


THEMES = {
    "light": ("#1a1a1a", "#c9ccd1", "#2f6fde"),
    "dark": ("#e6e6e6", "#4a4f57", "#6ea0ff"),
}  # text, peers, tokenmill
# gigatoken trains with the GPT-2 pattern, the others with cl100k's.
PEERS = ("tokenmill", "gigatoken", "rustbpe", "tokenizers", "bpeasy")


def training_chart(theme: str) -> str:
    """The README's picture: seconds to train 32,768 tokens on the English corpus, as a standalone SVG."""
    train = saved("train")["results"]["en"]
    seconds = {name: median(train[name]) for name in PEERS}
    ink, bar, own = THEMES[theme]
    longest = max(seconds.values())
    rows = []
    for number, (name, value) in enumerate(seconds.items()):
        y, width = 44 + 26 * number, max(2, round(430 * value / longest))
        rows += [
            f'<text x="122" y="{y + 13}" text-anchor="end">{"gigatoken (gpt2)" if name == "gigatoken" else name}</text>',
            f'<rect x="132" y="{y}" width="{width}" height="17" rx="2" fill="{own if name == "tokenmill" else bar}"/>',
            f'<text x="{140 + width}" y="{y + 13}">{value:.2g} s</text>',
        ]
    title = "Train 32,768 tokens on 150 MB of English, two cores"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 182" font-family="system-ui, sans-serif" font-size="14" fill="{ink}" role="img">'
    text = f'<text x="10" y="24" font-weight="600">{title}</text>'
    return "\n".join([head, f"<title>{title}</title>", text, *rows, "</svg>", ""])
