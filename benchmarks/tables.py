"""The tables of the benchmarks: from the saved results of a topic to the lines of its section in Markdown."""

from __future__ import annotations

import statistics

from tokenmill.quality.languages import gini

from .harness import median, ratio
from .pages import table
from .stages import STAGES

TRAINERS = {"rustbpe": "tokenmill", "gigatoken": "tokenmill_gpt2"}
TRAINERS |= dict.fromkeys(("tokenizers", "bpeasy", "sentencepiece"), "tokenmill")
CORPORA = ("en", "multi", "code")
FILE_ROWS = {"file": "a text file", "lines": "text by lines", "jsonl": "JSON lines", "parquet": "Parquet"}


def best(rounds: list[dict], key: str = "mb_per_s") -> str:
    return f"{max(each[key] for each in rounds):,.0f}"


def training(results: dict) -> list[str]:
    """One row for each corpus: the time and memory of tokenmill, and how many times longer each peer takes."""
    rows = []
    trainers = {peer: ours for peer, ours in TRAINERS.items() if any(peer in kept for kept in results.values())}
    for corpus, kept in results.items():
        cells = [corpus, f"{median(kept['tokenmill']):.2f} s, {median(kept['tokenmill'], 'peak_mib'):.0f} MiB"]
        for peer, ours in trainers.items():
            memory = f", {median(kept[peer], 'peak_mib'):.0f} MiB" if peer in kept else ""
            cells.append(f"{ratio(kept[peer], kept[ours]):.1f}x the time{memory}" if peer in kept else "")
        rows.append(cells)
    return [
        "## Train",
        "",
        "Train 32,768 tokens with the cl100k pattern, from a text file to a tokenizer in memory. Wall time and peak memory of "
        "the whole process, median of the rounds. gigatoken trains with the GPT-2 pattern, and its ratio is to tokenmill "
        "with the same pattern.",
        "",
        *table(["", "tokenmill", *trainers], rows),
    ]


def superwords(results: dict) -> list[str]:
    kept = results["en"]
    names = {
        "plain": "plain BPE",
        "superbpe": "SuperBPE",
        "uncut": "SuperBPE without the exact cut",
        "boundless": "BoundlessBPE",
    }
    rows = [
        [
            name,
            size,
            *(
                cell
                for key in ("wall", "cpu")
                for cell in (
                    f"{median(rounds[way], key):.2f} s",
                    f"{ratio(rounds[way], rounds['plain'], key):.2f}x",
                )
            ),
            f"{median(rounds[way], 'peak_mib'):.0f} MiB",
        ]
        for size, rounds in {"150 MB": kept, **results["grown"]}.items()
        for way, name in names.items()
        if way in rounds
    ]
    speeds = {
        way: " / ".join(f"{median(kept[way], key):.1f}" for key in ("cold_mb_per_s", "warm_mb_per_s"))
        for way in ("encode", "encode-boundless", "tokenizers")
        if way in kept
    }
    return [
        "## Superwords",
        "",
        "`tokenmill train`, 49,152 tokens; SuperBPE with stage 1 up to 32,768. Whole commands, median of the rounds. The text of 150 MB "
        "is *en*. The larger texts are the three corpora and then the same with renamed letters, whose words are new.",
        "",
        *table(["", "text", "time", "relative to plain", "CPU time", "relative to plain", "peak memory"], rows),
        "",
        "Encoding with the result, one core, with empty and with warm caches: "
        f"SuperBPE {speeds['encode']} MB/s and BoundlessBPE {speeds.get('encode-boundless')} MB/s on 60 MB, "
        f"tokenizers {speeds['tokenizers']} MB/s on 4 MB.",
    ]


def parity(results: dict) -> list[str]:
    kept, tokens = results["multi"], results["tokens"]
    rows = [
        [way, f"{median(kept[way], 'cpu'):.1f} s", f"{median(kept[way], 'peak_mib'):.0f} MiB"]
        for way in ("tokenmill", "tokenizers")
    ]
    languages = [[name, *(f"{used[name]:,}" for used in tokens.values())] for name in tokens["plain"]]
    languages.append(["all", *(f"{sum(used.values()):,}" for used in tokens.values())])
    languages.append(["Gini coefficient", *(f"{gini(list(used.values())):.4f}" for used in tokens.values())])
    return [
        "## Parity-aware BPE",
        "",
        "32,000 tokens on 16 languages of *multi*, with the GPT-2 pattern: the whole command, and `ParityBpeTrainer` of tokenizers "
        f"on the same files. tokenizers takes {ratio(kept['tokenizers'], kept['tokenmill'], 'cpu'):.1f} times the CPU time.",
        "",
        *table(["", "CPU time", "peak memory"], rows),
        "",
        "Numbers of tokens in the same sections of a book in each language, with the cl100k pattern, for plain BPE and "
        "[the variants of parity](how-to/parity.md#two-variants):",
        "",
        *table(["", *tokens], languages),
    ]


def merge_loop(results: dict) -> list[str]:
    rows = []
    for corpus, kept in results.items():
        key, of_all = ("thread_seconds", "cpu") if "picky" in kept else ("seconds", "wall")
        small, large = (median(kept[size], key) for size in ("32768", "100000"))
        cost = ratio(kept["100000"], kept["32768"], key)
        whole = ratio(kept["train 100000"], kept["train 32768"], of_all)
        picky = [f"{ratio(kept['picky'], kept['32768'], key):.2f}x"] if "picky" in kept else []
        rows.append([corpus, f"{small:.2f} s", f"{large:.2f} s", f"{cost:.2f}x", f"{whole:.2f}x", *picky])
    head = ["", "32,768 tokens", "100,000 tokens", "ratio", "ratio of whole training runs"]
    if len(rows[0]) > len(head):
        head.append("Picky BPE at 0.9")
    return [
        "## Merge loop",
        "",
        "The merge loop alone, from word counts to merges. The ratios compare 100,000 tokens with 32,768, and Picky BPE with plain BPE at "
        "32,768. Each is the median of the rounds' ratios.",
        "",
        *table(head, rows),
        "",
        "*What limits it*: a later merge occurs rarely, so most of its cost is what every merge costs (its token, new pairs, the queue): "
        "1.1 to 1.2 us, most of it computation, not waiting for memory. Picky BPE puts 2.8 to 7.8 times as many pairs into the queue, since a removal can "
        "raise any count ([counted](experiments/training.md#2026-11-22-the-work-of-100000-tokens-and-of-picky-bpe-counted)).",
    ]


def split(results: dict) -> list[str]:
    ways = list(results["en"])
    rows = [[way, *(best(results[corpus][way]) for corpus in CORPORA)] for way in ways]
    return [
        "## Split",
        "",
        "Split text into pretokens with one thread. MB/s, best round. `own` is a pattern without a name, such as a user may "
        "give; `scalar` is without vector instructions.",
        "",
        *table(["", *CORPORA], rows),
    ]


def count(results: dict) -> list[str]:
    ways = list(results["en"])
    rows = [[way, *(best(results[corpus][way]) for corpus in CORPORA)] for way in ways]
    speeds = [[max(each["mb_per_s"] for each in results[c][way]) for way in ("1 thread", "2 threads")] for c in CORPORA]
    gains = [f"{two / one:.2f}x" for one, two in speeds]
    return [
        "## Count",
        "",
        "Count the pretokens of a file into one merged table, with the cl100k pattern. MB/s, best round.",
        "",
        *table(["", *CORPORA], [*rows, ["speed-up of 2 threads over 1", *gains]]),
    ]


def token_files(results: dict) -> list[str]:
    """Whole commands."""
    rows = []
    for name, kept in results.items():
        commands = kept["commands"]
        ours, theirs = commands["tokenmill"], commands["gigatoken"]
        speed = f"{kept['bytes'] / 1e6 / min(each['wall'] for each in ours):,.0f} MB/s"
        gains = (f"{ratio(theirs, ours, key):.2f}x" for key in ("wall", "cpu"))
        memory = (f"{median(each, 'peak_mib'):.0f} MiB" for each in (ours, theirs))
        datasets = ""
        if "short tokenizers" in commands:
            datasets = f"{ratio(commands['short tokenizers'], commands['short tokenmill']):.0f}x"
        rows.append([name, speed, *gains, *memory, datasets])
    heads = (
        "tokenmill",
        "gigatoken's time",
        "gigatoken's CPU time",
        "memory",
        "gigatoken's memory",
        "tokenizers' time",
    )
    return [
        "## Token files",
        "",
        "Whole commands that encode 150 MB of English with cl100k_base to a file of ids on two cores, start-up included: "
        "`tokenmill encode`, best round, and the time and memory of gigatoken's `encode_files` with a file written. "
        "Ratios are relative to tokenmill. The last column is tokenizers in `datasets.map(batched=True)` on the first 15 MB. "
        "Documents of JSONL, Parquet and `--unit separator` have 3 kB; lines have 30 bytes on average. The pages of "
        "parquet.zst are compressed by Zstandard, those of parquet by Snappy. `datasets` cannot read text by separators.",
        "",
        *table(["", *heads], rows),
        "",
        "*What limits Parquet*: PyArrow decodes a column in one thread at 0.9 GB/s, 0.16 s of the 1.0 s of CPU time, and its import takes "
        "0.05 s before the first row, when nothing else can run.",
    ]


def stages(results: dict) -> list[str]:
    """The share of each stage in the processor time of one thread."""
    rows = []
    for verb, sources in results.items():
        for name, rounds in sources.items():
            spent = {stage: statistics.median(each.get(stage, 0) for each in rounds) for stage in STAGES}
            total = sum(spent.values())
            slowest = max(STAGES[1:], key=spent.__getitem__)
            shares = (f"{spent[stage] / total:.0%}" if spent[stage] > 0 else "" for stage in STAGES)
            rows.append([f"{verb}, {name}", f"{rounds[0]['bytes'] / 1e6 / total:,.0f}", *shares, slowest])
    return [
        "## Stages",
        "",
        "The stages of each verb, one after the other in one thread: MB of text per second of processor time, and the "
        "share of each stage. The text is *en*; the dumps are samples, read again and again up to 30 MB. `read` includes cutting "
        "text into documents, and for Parquet decompressing and decoding the column. `filter` includes the removal of markup, "
        "and for dumps the parsing of a document. Splitting lines is part of encoding or counting. The last column names the "
        "slowest stage after the start.",
        "",
        *table(["", "MB/s", *STAGES, "slowest"], rows),
    ]


def growth(results: dict) -> list[str]:
    """Seconds per GB and peak memory for each size, and the first size's against the largest's."""
    sizes = sorted(results, key=int)
    rows = []
    for verb in results[sizes[0]]:
        seconds = [median(results[size][verb], "cpu") / results[size][verb][0]["bytes"] * 1e9 for size in sizes]
        peaks = [median(results[size][verb], "peak_mib") for size in sizes]
        system = [median(results[size][verb], "system") / results[size][verb][0]["bytes"] * 1e9 for size in sizes]
        cells = [f"{a:.1f} s, {b:,.0f} MiB" for a, b in zip(seconds, peaks, strict=True)]
        own = (seconds[-1] - system[-1]) / (seconds[0] - system[0])
        rows.append([verb, *cells, f"{seconds[-1] / seconds[0]:.2f}x", f"{own:.2f}x"])
    return [
        "## Growth",
        "",
        "English text whose letters are renamed in each copy, so that distinct pretokens grow with it "
        "(`benchmarks/growth.py`). CPU seconds of whole commands per GB of text, and their peak memory, median of the "
        "rounds. *Per GB* compares the time per GB of the largest text with that of the smallest; *own* leaves out the time of the "
        "operating system, which writes the output to the disk: the ids of 5,000 MB are 9 GB.",
        "",
        *table(["", *(f"{int(size):,} MB" for size in sizes), "per GB", "own"], rows),
    ]


def cleaning(results: dict) -> list[str]:
    rows = [
        [
            kind,
            f"{rounds[0]['bytes'] / 1e6:,.0f} MB",
            f"{rate(rounds, 'wall')} MB/s",
            f"{rate(rounds, 'cpu')} MB/s",
            f"{median(rounds, 'peak_mib'):.0f} MiB",
        ]
        for kind, rounds in results.items()
    ]
    return [
        "## Cleaning",
        "",
        "Whole commands, `tokenmill clean` with two processes and the default filters, start-up and the compressed shards included. "
        "The samples of the dumps are repeated; the text is *en* by lines. MB of the XML, or of the text in a Parquet file, best round. The memory is that of "
        "the largest process.",
        "",
        *table(["", "size", "speed", "per second of CPU time", "memory"], rows),
    ]


def rate(rounds: list[dict], key: str) -> str:
    """MB/s of the best round, because other work on the machine only ever makes a round slower."""
    return f"{max(each['bytes'] / each[key] for each in rounds) / 1e6:,.0f}"


def encode(results: dict) -> list[str]:
    """Encoding to an array and to a list, decoding, short texts and long texts."""
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
        for kind in results["long_pretokens"]["tokenmill"][0]
        if isinstance(results["long_pretokens"]["tokenmill"][0][kind], float)
    ]
    kinds = [kind for kind in kinds if kind not in ("load", "wall", "cpu", "peak_mib")]
    longest = [
        [library, *(f"{rounds[0][kind]:.3f}" if kind in rounds[0] else "gave up" for kind in kinds)]
        for library, rounds in results["long_pretokens"].items()
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
        "## Encode",
        "",
        "Encode with cl100k_base on one core. MB per second of CPU time, best round. Each cell shows the first call "
        "(empty cache) / later calls.",
        "",
        "A text of 50 MB to an array of ids (gigatoken_files is gigatoken's call that takes a path):",
        "",
        *table(["", *CORPORA], arrays),
        "",
        "*What limits it*: a first call merges each new pretoken, 0.3 to 0.8 us each, and waits for the tables of pairs; a later call takes 9 "
        "to 14 ns for each pretoken, and would take 8 ns if all tables stayed in the processor's caches "
        "([measured](experiments/tokenizer.md#2026-11-22-what-bounds-first-calls-later-calls-and-lists)). The system's time for fresh memory is "
        "included, and is larger in virtual machines.",
        "",
        "A text of 20 MB to a list of ids (2 MB for rs_bpe and the rows below it; tokenizers_next is a pre-release of tokenizers):",
        "",
        *table(["", *CORPORA], lists),
        "",
        "*What limits it*: CPython needs 33 to 37 ms to fill a list with the ids of 20 MB of text, about half of what a later call takes "
        "([measured](experiments/tokenizer.md#2026-11-22-what-encoding-costs-on-an-avx-512-machine)).",
        "",
        "A text of 100 characters to a list, microseconds per call:",
        "",
        *table(["", "100 characters"], shorts),
        "",
        "A megabyte that is a single pretoken, to a list, seconds:",
        "",
        *table(["", *kinds], longest),
        "",
        "Other figures:",
        "",
        f"- Speed-up of two threads over one, documents of 4 kB to one array: {both['batch_array']}.",
        f"- The same to lists, which are built under the GIL: {both['batch']}.",
        f"- Import time in milliseconds: {imports}.",
        f"- A Picky tokenizer (T = 0.9), which encodes in event order: {rate(results['orders']['picky'], 'cold')} / "
        f"{rate(results['orders']['picky'], 'warm')} MB/s. A plain tokenizer: "
        f"{rate(results['orders']['plain'], 'cold')} / {rate(results['orders']['plain'], 'warm')} MB/s. Both were trained "
        "on 20 MB of English.",
        "",
        "## Decode",
        "",
        "Decode a list of ids to a `str`. MB/s, best round.",
        "",
        *table(["", *CORPORA], decoded),
    ]


def calls(results: dict) -> list[str]:
    """Importing, loading, and the first texts."""
    names = {"import": "import", "load": "load cl100k_base", "first": "first line", "second": "second line"}
    rows = [
        [name, *(f"{statistics.median(each[step] for each in rounds):.2f}" for rounds in results.values())]
        for step, name in names.items()
    ]
    return [
        "## First calls of one process",
        "",
        "CPU milliseconds in a fresh process after Python's start, median of the rounds; what a library imports late counts in the "
        "step that needs it. tokenmill had loaded the file before. The machine was busy with other work: compare only figures "
        "of one row.",
        "",
        *table(["", *results], rows),
    ]


def families(results: dict) -> list[str]:
    """Loading and first calls, and encoding in the manner of SentencePiece."""

    def cpu(rounds: list[dict]) -> str:
        return f"{1000 * median(rounds, 'cpu'):.0f}"

    ways = ("tokenmill", "tokenizers")
    loads = [[name, *(cpu(kept[way]) if way in kept else "" for way in ways)] for name, kept in results["load"].items()]
    speeds = [
        [
            f"{name}, {library}",
            *(f"{rate(kept[c][library], 'cold')} / {rate(kept[c][library], 'warm')}" for c in CORPORA),
        ]
        for name, kept in results["encode"].items()
        for library in kept["en"]
    ]
    commands = [[name, cpu(rounds)] for name, rounds in results["commands"].items()]
    return [
        "## First calls",
        "",
        "CPU milliseconds of a whole process that loads one file and encodes one line, with the start of Python and all "
        "imports; the median of the rounds. This section and the next "
        "were taken on a two-core Intel Xeon with AVX-512, busy with other work: compare only figures of one row, "
        "or of one text.",
        "",
        *table(["", "tokenmill", "tokenizers"], loads),
        "",
        "Whole commands, in the same unit:",
        "",
        *table(["", "CPU ms"], commands),
        "",
        "## Encode in the manner of SentencePiece",
        "",
        "One core, MB per second of CPU time, first call / later calls, best round. Text of 20 MB to an array for tokenmill "
        "and gigatoken, of 2 MB to a list for tokenizers and sentencepiece.",
        "",
        *table(["", *CORPORA], speeds),
    ]


def playground(results: dict) -> list[str]:
    """Key press latency by text size, the page's encoder against gpt-tokenizer, and the size of the page."""
    keys = []
    for size, name in ((10_000, "10 kB"), (1_000_000, "1 MB")):
        for clock, how in (("at once", ""), ("60 Hz", ", 60 Hz")):
            times = [sorted(results["keys"][f"{corpus} {size} {clock}"]["repaint"]) for corpus in CORPORA]
            cells = (f"{statistics.median(each):.0f} ms (95 %: {each[int(len(each) * 0.95)]:.0f})" for each in times)
            keys.append([f"{name}{how}", *cells])
    speeds = []
    for kind, name in (("Cold", "first call"), ("", "later calls")):
        cells = []
        for each in results["encoders"]:
            ours, theirs = (each["rounds"][f"{whose}{kind}"] for whose in ("ours", "theirs"))
            gain = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
            cells.append(f"{each['bytes'] / min(ours) / 1000:.0f} MB/s, {gain:.1f}x")
        speeds.append([name, *cells])
    sizes = results["sizes"]
    page = sum(size for name, size in sizes.items() if not name.startswith("packs/"))
    return [
        "## Playground",
        "",
        "Time from a key press to the repainted tokens in Chromium: median, and the 95th percentile in brackets. The key is "
        "pressed in the middle of the text, with its tokens in view. Frames are drawn as soon as they are ready, or at 60 Hz.",
        "",
        *table(["text", *CORPORA], keys),
        "",
        f"The page's JavaScript encoder and its speed relative to gpt-tokenizer {results['gpt-tokenizer']}, with cl100k in one "
        f"Node {results['node']} process. MB/s of the best round.",
        "",
        *table(["", *CORPORA], speeds),
        "",
        f"The exported page is {page / 1000:.0f} kB; the 100,277 tokens of cl100k add {sizes['packs/0.tmpack'] / 1000:.0f} kB.",
    ]


TOPICS = {
    "train": training,
    "merge_loop": merge_loop,
    "superwords": superwords,
    "parity": parity,
    "split": split,
    "count": count,
    "encode": encode,
    "calls": calls,
    "families": families,
    "token_files": token_files,
    "stages": stages,
    "growth": growth,
    "cleaning": cleaning,
    "playground": playground,
}
