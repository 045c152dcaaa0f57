"""The tables of encoding, decoding and loading: from the saved results to the lines of their sections in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from .harness import CORPORA, rates, ratio, ratios, spread, times
from .pages import section, table

CALLS = {"first call": "cold", "later calls": "warm"}


def with_start(kept: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """The rounds of each library, with the CPU seconds of its import, load and first call as `start`.

    Libraries build their tables when they load a file or in the first call, so only the sum can be compared.
    """
    return {
        library: [each | {"start": each["load"] + each["cold"]} for each in rounds] for library, rounds in kept.items()
    }


def speeds(results: dict, libraries: Iterable[str], key: str) -> list[list[str]]:
    """A row for each library: MB/s on each corpus."""
    return [[library, *(spread(rates(results[c][library], key)) for c in CORPORA)] for library in libraries]


def narrow(cells: Iterable[str]) -> list[str]:
    """Cells with the range below the median, for tables of many columns."""
    return [cell.replace(" (", "<br>(").replace(" ", "\u00a0") for cell in cells]


def lead(kept: dict[str, list[dict]], key: str) -> str:
    """The fastest peer, and its time relative to tokenmill's."""
    peers = [library for library in kept if library != "tokenmill"]
    fastest = min(peers, key=lambda peer: ratio(kept[peer], kept["tokenmill"], key))
    return f"{fastest} {times(kept[fastest], kept['tokenmill'], key)}"


def peers_of(jobs: dict[str, list[dict]]) -> dict[str, list[float]]:
    """A cell of the matrix: the speed of tokenmill relative to each peer that gives the same ids, in each round."""
    ours = jobs["tokenmill"]
    return {
        peer: ratios(ours, rounds, "mb_per_s")
        for peer, rounds in jobs.items()
        if peer != "tokenmill" and all(each.get("ids") == ours[0]["ids"] for each in rounds)
    }


def leads_of(results: dict) -> tuple[list[float], int, int, dict[tuple[str, str], str]]:
    """The matrix: the speed relative to the fastest peer of each cell, the cells behind and level, and each lead as shown."""
    gains, behind, ties, shown = [], 0, 0, {}
    for model, kept in results.items():
        for text, jobs in kept.items():
            if peers := peers_of(jobs):
                each = min(peers.values(), key=statistics.median)
                middle = statistics.median(each)
                gains.append(middle)
                tie = each[0] <= 1 <= each[-1]
                ties += tie
                behind += not tie and middle < 1
                shown[model, text] = spread(each, "x", "tie" if tie else None)
    return gains, behind, ties, shown


def means_of(results: dict) -> dict[str, tuple[float, int]]:
    """By peer of every vocabulary: the geometric mean of tokenmill's speed relative to it, and over how many cells."""
    gains: dict[str, list[float]] = {}
    for kept in results.values():
        for jobs in kept.values():
            for peer, each in peers_of(jobs).items():
                gains.setdefault(peer, []).append(statistics.median(each))
    every = set.intersection(*({*jobs} for kept in results.values() for jobs in kept.values()))
    return {peer: (statistics.geometric_mean(each), len(each)) for peer, each in sorted(gains.items()) if peer in every}


def matrix(results: dict) -> list[str]:
    """A row for each text and a column for each vocabulary: tokenmill's MB/s, and its lead over the fastest peer."""
    texts = list(next(iter(results.values())))
    gains, behind, ties, shown = leads_of(results)
    means = means_of(results)
    wrong: dict[str, list[str]] = {}
    for model, kept in results.items():
        for text, jobs in kept.items():
            for peer, rounds in jobs.items():
                if any("ids" in each and each["ids"] != jobs["tokenmill"][0]["ids"] for each in rounds):
                    wrong.setdefault(f"{peer} with {model}", []).append(text)
    ids = "All ids are equal in every cell."
    if wrong:
        named = (
            f"{peer} ({', '.join(some) if len(some) < len(texts) else 'all texts'})" for peer, some in wrong.items()
        )
        ids = f"These return other ids than tokenmill and tokenizers, and are not counted as peers: {'; '.join(named)}."
    first, of_first = next(iter(results.items()))
    peers = list(next(iter(of_first.values())))
    return section(
        "## Families and scripts, new text in small pieces",
        "As in Hugging Face's tokbench, chunks of 10 kB to lists of ids on one core, but always of new text: the first of six slices is the warm-up, and the "
        "figure is the median of the five others. A result is released before the next call. In each of five rounds the libraries have fresh processes, which "
        f"encode each text one after the other. {ids}",
        "MB per second of CPU time:",
        table(
            ["", *results],
            [
                [
                    text,
                    *narrow(spread(each["mb_per_s"] for each in kept[text]["tokenmill"]) for kept in results.values()),
                ]
                for text in texts
            ],
        ),
        f"The speed relative to the fastest of {', '.join(means)}. A peer that cannot open a file is left out:",
        table(["", *results], [[text, *narrow(shown.get((model, text), "") for model in results)] for text in texts]),
        f"Geometric mean of these ratios: {statistics.geometric_mean(gains):.2f}x. Behind a peer in {behind or 'none'} of {len(gains)} cells, level in "
        f"{ties or 'none'}. Geometric means by peer: {'; '.join(f'{peer} {mean:.2f}x ({n} cells)' for peer, (mean, n) in means.items())}.",
        f"Every library with {first}, MB per second of CPU time:",
        table(
            ["", *peers],
            [
                [text, *narrow(spread(each["mb_per_s"] for each in jobs[peer]) for peer in peers)]
                for text, jobs in of_first.items()
            ],
        ),
    )


def encode(results: dict) -> list[str]:
    """Encoding to an array and to a list, decoding, short texts and long texts."""
    slow = [library for library in results["slow"]["en"] if library != "tokenmill"]
    arrays, lists = {}, {}
    for name, key in CALLS.items():
        arrays[name] = table([name, *CORPORA], speeds(results["array"], results["array"]["en"], key))
        rows = speeds(results["list"], results["list"]["en"], key) + speeds(results["slow"], slow, key)
        lists[name] = table([name, *CORPORA], rows)
    leads = [
        [f"{what}, {calls}", *(lead(with_start(results[kind][corpus]), key) for corpus in CORPORA)]
        for kind, what in (("array", "array"), ("list", "list"))
        for calls, key in ({"import, load, first call": "start"} | CALLS).items()
    ]
    decoded = speeds(results["decode"], results["decode"]["en"], "seconds")
    shorts = [
        [library, spread(each["microseconds"] for each in rounds)] for library, rounds in results["latency"].items()
    ]
    figures = results["long_pretokens"]["tokenmill"][0].items()
    others = ("load", "wall", "cpu", "system", "peak_mib")
    kinds = [name for name, value in figures if isinstance(value, float) and name not in others]
    longest = [
        [
            library,
            *narrow(spread(1000 * each[kind] for each in rounds) if kind in rounds[0] else "gave up" for kind in kinds),
        ]
        for library, rounds in results["long_pretokens"].items()
    ]
    both = {
        kind: ", ".join(
            f"{library} {times(rounds, found['2'][library], 'warm')}" for library, rounds in found["1"].items()
        )
        for kind, found in results["threads"].items()
    }
    imports = [[name, spread(1000 * each["seconds"] for each in rounds)] for name, rounds in results["import"].items()]
    orders = [
        [f"{order}, {calls}", spread(rates(results["orders"][order], key))]
        for order in ("plain", "picky")
        for calls, key in CALLS.items()
    ]
    wrong = (
        f"{library} ({'other ids' if 'ids' in reason else reason.removeprefix('it ').removeprefix('is ')})"
        for library, reason in results["wrong"].items()
    )
    return section(
        "## Encode",
        "Encode with cl100k_base on one core, in MB per second of CPU time. The first call has empty caches, later calls have new text."
        + (f" Left out: {', '.join(wrong)}." if results["wrong"] else ""),
        "Pieces of 25 MB to arrays of ids (gigatoken_files is gigatoken's call that reads a path):",
        arrays["first call"],
        arrays["later calls"],
        "*What limits it*: a first call merges each new pretoken, and waits for the tables of pairs. A later call takes 9 "
        "to 14 ns for each pretoken, and would take 8 ns if all tables stayed in the processor's caches "
        "([measured](experiments/tokenizer.md#2026-11-22-what-bounds-first-calls-later-calls-and-lists)). The system's time for fresh memory is "
        "included, and is larger in virtual machines.",
        "Pieces of 10 MB to lists of ids (1 MB for rs_bpe and the rows below it; tokenizers_next is a pre-release of tokenizers):",
        lists["first call"],
        lists["later calls"],
        "*What limits it*: CPython needs 33 to 37 ms to fill a list with the ids of 20 MB of text, about half of what a later call takes "
        "([measured](experiments/tokenizer.md#2026-11-22-what-encoding-costs-on-an-avx-512-machine)).",
        "The time of the fastest peer relative to tokenmill's. Libraries build their tables when they load a file or in the first call, so one "
        "row has both:",
        table(["", *CORPORA], leads),
        "A text of 100 characters to a list, microseconds per call:",
        table(["", "100 characters"], shorts),
        "A megabyte that is a single pretoken, to a list, milliseconds:",
        table(["", *kinds], longest),
        f"Speed-up of two threads over one, documents of 4 kB to one array: {both['batch_array']}. "
        f"To lists, which are built under the GIL: {both['batch']}.",
        "Import time in milliseconds:",
        table(["", "ms"], imports),
        "A plain tokenizer and a Picky one (T = 0.9), which encodes in event order, both trained on 20 MB of English, to arrays:",
        table(["", "MB/s"], orders),
        "## Decode",
        "Decode a list of ids to a `str`, in MB per second of CPU time.",
        table(["", *CORPORA], decoded),
    )


def calls(results: dict) -> list[str]:
    """Importing, loading, and the first texts."""
    names = {"import": "import", "load": "load cl100k_base", "first": "first line", "second": "second line"}
    rows = [
        [name, *(spread(each[step] for each in rounds) for rounds in results.values())] for step, name in names.items()
    ]
    return section(
        "## First calls of one process",
        "CPU milliseconds in a fresh process, without the start of Python. Late imports count in the "
        "step that needs them. The machine was busy with other work: compare only figures "
        "of one row.",
        table(["", *results], rows),
    )


def families(results: dict) -> list[str]:
    """Loading and first calls, and SentencePiece-style encoding."""

    def cpu(rounds: list[dict]) -> str:
        return spread(1000 * each["process_cpu"] for each in rounds)

    ways = ("tokenmill", "tokenizers")
    loads = [
        [
            name,
            *(cpu(kept[way]) for way in kept),
            *(times(kept[way], kept["tokenmill"], "process_cpu") for way in ways[1:] if way in kept),
        ]
        for name, kept in results["load"].items()
    ]
    encoded: dict[str, list[list[str]]] = {calls: [] for calls in CALLS}
    leads = []
    for name, kept in results["encode"].items():
        for calls, key in CALLS.items():
            encoded[calls] += [[f"{name}, {library}", *cells] for library, *cells in speeds(kept, kept["en"], key)]
            cells = (times(kept[c]["gigatoken"], kept[c]["tokenmill"], key) for c in CORPORA)
            leads.append([f"{name}, {calls}", *cells])
    commands = [[name, cpu(rounds)] for name, rounds in results["commands"].items()]
    return section(
        "## First calls",
        "CPU milliseconds of a whole process that loads one file and encodes one line, with the start of Python and all "
        "imports, and the time of tokenizers relative to tokenmill's.",
        table(["", *ways, "ratio"], [[*row, *[""] * (4 - len(row))] for row in loads]),
        "Whole commands:",
        table(["", "CPU ms"], commands),
        "## SentencePiece-style tokenizers",
        "One core, MB per second of CPU time; later calls have new text. Pieces of 10 MB to arrays for tokenmill and gigatoken, of 1 MB "
        "to lists for tokenizers and sentencepiece.",
        *(table([calls, *CORPORA], rows) for calls, rows in encoded.items()),
        "The time of gigatoken relative to tokenmill's:",
        table(["", *CORPORA], leads),
    )
