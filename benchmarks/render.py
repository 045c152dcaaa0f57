"""Render the README's tables of speeds from benchmarks/results: python -m benchmarks.render

Each topic with results gives one table; a topic that was never run gives none.
"""

from __future__ import annotations

import json
import re
import statistics

from .harness import RESULTS, ROOT, median, ratio

TRAINERS = {"rustbpe": "tokenmill", "gigatoken": "tokenmill_gpt2", "tokenizers": "tokenmill", "bpeasy": "tokenmill"}
CORPORA = ("en", "multi", "code")


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def best(rounds: list[dict], key: str = "mb_per_s") -> str:
    return f"{max(each[key] for each in rounds):,.0f}"


def training(results: dict) -> list[str]:
    """One row for each corpus: tokenmill's seconds and memory, and how many times as long each peer takes."""
    rows = []
    for corpus, kept in results.items():
        cells = [corpus, f"{median(kept['tokenmill']):.2f} s, {median(kept['tokenmill'], 'peak_mib'):.0f} MiB"]
        for peer, ours in TRAINERS.items():
            memory = f", {median(kept[peer], 'peak_mib'):.0f} MiB" if peer in kept else ""
            cells.append(f"{ratio(kept[peer], kept[ours]):.1f}x as long{memory}" if peer in kept else "")
        rows.append(cells)
    return [
        "**Train** 32,768 tokens with the cl100k pattern, file to tokenizer, the whole process (gigatoken trains with "
        "GPT-2's pattern and is compared with tokenmill doing so)",
        "",
        *table(["", "tokenmill", *TRAINERS], rows),
    ]


def merge_loop(results: dict) -> list[str]:
    rows = []
    for corpus, kept in results.items():
        small, large = (median(kept[size], "seconds") for size in ("32768", "100000"))
        cost = ratio(kept["100000"], kept["32768"], "seconds")
        whole = ratio(kept["train 100000"], kept["train 32768"])
        rows.append([corpus, f"{small:.2f} s", f"{large:.2f} s", f"{cost:.2f}x", f"{whole:.2f}x"])
    head = ["", "32,768 tokens", "100,000", "cost", "of the whole training"]
    return ["**Merge loop** alone, from word counts; what 100,000 tokens cost", "", *table(head, rows)]


def split(results: dict) -> list[str]:
    ways = list(results["en"])
    rows = [[way, *(best(results[corpus][way]) for corpus in CORPORA)] for way in ways]
    return ["**Split**, one thread, MB/s, best of the rounds", "", *table(["", *CORPORA], rows)]


def count(results: dict) -> list[str]:
    ways = list(results["en"])
    rows = [[way, *(best(results[corpus][way]) for corpus in CORPORA)] for way in ways]
    gains = [f"{ratio(results[c]['1 thread'], results[c]['2 threads'], 'seconds'):.2f}x" for c in CORPORA]
    return [
        "**Count** a file into one merged table with the cl100k pattern, MB/s, best of the rounds",
        "",
        *table(["", *CORPORA], [*rows, ["two threads beside one", *gains]]),
    ]


def rate(rounds: list[dict], key: str) -> str:
    """MB/s of the best round: what others on the machine take away, they take from every library."""
    return f"{max(each['bytes'] / each[key] for each in rounds) / 1e6:,.0f}"


def encode(results: dict) -> list[str]:
    """Encoding to an array and to a list, decoding, short texts and long ones."""
    arrays = [
        [
            library,
            *(
                f"{rate(results['array'][c][library], 'cold')} / {rate(results['array'][c][library], 'warm')}"
                for c in CORPORA
            ),
        ]
        for library in results["array"]["en"]
    ]
    lists = [
        [
            library,
            *(
                f"{rate(results[kind][c][library], 'cold')} / {rate(results[kind][c][library], 'warm')}"
                for c in CORPORA
            ),
        ]
        for kind, names in (("list", results["list"]["en"]), ("slow", results["slow"]["en"]))
        for library in names
        if not (kind == "slow" and library == "tokenmill")
    ]
    decoded = [
        [library, *(rate(results["decode"][c][library], "seconds") for c in CORPORA)]
        for library in results["decode"]["en"]
    ]
    shorts = [
        [library, f"{min(each['microseconds'] for each in rounds):.2f}"]
        for library, rounds in results["latency"].items()
    ]
    kinds = [
        kind
        for kind in results["monsters"]["tokenmill"][0]
        if isinstance(results["monsters"]["tokenmill"][0][kind], float)
    ]
    kinds = [kind for kind in kinds if kind not in ("load", "wall", "cpu", "peak_mib")]
    monsters = [
        [library, *(f"{rounds[0][kind]:.3f}" if kind in rounds[0] else "gave up" for kind in kinds)]
        for library, rounds in results["monsters"].items()
    ]
    both = {
        kind: ", ".join(
            f"{library} {ratio(rounds, found['2'][library], 'warm'):.2f}x" for library, rounds in found["1"].items()
        )
        for kind, found in results["threads"].items()
    }
    imports = ", ".join(
        f"{name} {1000 * min(each['seconds'] for each in rounds):.0f}" for name, rounds in results["import"].items()
    )
    return [
        "**Encode** with cl100k_base on one core, a text of 50 MB to an array of ids, MB per second of processor time, "
        "cold / warm, best of the rounds",
        "",
        *table(["", *CORPORA], arrays),
        "",
        "The same to a list of ids, a text of 20 MB (2 MB from rs_bpe on)",
        "",
        *table(["", *CORPORA], lists),
        "",
        "**Decode** a list of ids to a str, MB/s",
        "",
        *table(["", *CORPORA], decoded),
        "",
        "**100 characters** to a list, microseconds a call; **a megabyte of one thing** to a list, seconds",
        "",
        *table(["", "100 characters"], shorts),
        "",
        *table(["", *kinds], monsters),
        "",
        f"Two threads beside one, documents of 4 kB to one array: {both['batch_array']}; to lists, which are made under "
        f"the GIL: {both['batch']}. "
        f"To import, milliseconds: {imports}. Event order (T = 0.9) beside plain merges, both trained on 20 MB of English: "
        f"{rate(results['orders']['picky'], 'cold')} / {rate(results['orders']['picky'], 'warm')} beside "
        f"{rate(results['orders']['plain'], 'cold')} / {rate(results['orders']['plain'], 'warm')} MB/s.",
    ]


def playground(results: dict) -> list[str]:
    """Key presses by the size of the text, the page's encoder beside gpt-tokenizer, and what a visitor downloads."""
    keys = []
    for size, name in ((10_000, "10 kB"), (1_000_000, "1 MB")):
        for clock, how in (("at once", ""), ("60 Hz", ", 60 Hz")):
            times = [sorted(results["keys"][f"{corpus} {size} {clock}"]["repaint"]) for corpus in CORPORA]
            cells = (f"{statistics.median(each):.0f} ms (95 %: {each[int(len(each) * 0.95)]:.0f})" for each in times)
            keys.append([f"key press to repaint, {name}{how}", *cells])
    speeds = []
    for kind, name in (("Cold", "new text"), ("", "again")):
        cells = []
        for each in results["encoders"]:
            ours, theirs = (each["rounds"][f"{whose}{kind}"] for whose in ("ours", "theirs"))
            gain = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
            cells.append(f"{each['bytes'] / min(ours) / 1000:.0f} MB/s, {gain:.1f}x")
        speeds.append([f"encode in JavaScript beside gpt-tokenizer, {name}", *cells])
    sizes = results["sizes"]
    page = sum(size for name, size in sizes.items() if not name.startswith("packs/"))
    return [
        "**Playground** in Chromium, with frames drawn as soon as they are ready and at 60 Hz; the key is pressed in the middle "
        f"of the text, whose tokens are in view. Its encoder and gpt-tokenizer {results['gpt-tokenizer']} with cl100k in one Node {results['node']} process (MB/s of the best round). The "
        f"exported page is {page / 1000:.0f} kB, cl100k's 100,277 tokens in it {sizes['packs/0.tmpack'] / 1000:.0f} kB.",
        "",
        *table(["", *CORPORA], [*keys, *speeds]),
    ]


TOPICS = {
    "train": training,
    "merge_loop": merge_loop,
    "split": split,
    "count": count,
    "encode": encode,
    "playground": playground,
}


def tables() -> str:
    parts = []
    place: dict = {}
    for topic, render in TOPICS.items():
        path = RESULTS / f"{topic}.json"
        if path.exists():
            saved = json.loads(path.read_text())
            place = place or saved["environment"]
            parts.append("\n".join(render(saved["results"])))
    parts.append(
        f"Taken on {place['date']} on {place['cores']} cores ({place['cpu']}), Python {place['python']}. The corpora are "
        "150 MB of English, 189 MB in sixteen languages and 100 MB of code."
    )
    return "\n\n".join(parts)


def main() -> None:
    readme = ROOT / "README.md"
    text = re.sub(
        r"(<!-- speeds:begin -->\n).*?(<!-- speeds:end -->)",
        lambda found: found[1] + tables() + "\n" + found[2],
        readme.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
