"""The tables of the benchmarks: from the saved results of a topic to the lines of its section in Markdown."""

from __future__ import annotations

import re
import statistics

from tokenmill.quality.metrics import gini

from .encode_tables import CALLS, calls, encode, families, matrix
from .harness import CORPORA, median, spread, times
from .pages import section, table
from .quick import quick
from .stages import STAGES

TRAINERS = {"rustbpe": "tokenmill", "gigatoken": "tokenmill_gpt2"}
TRAINERS |= dict.fromkeys(("tokenizers", "bpeasy", "sentencepiece"), "tokenmill")
FILE_ROWS = {"file": "a text file", "lines": "text by lines", "jsonl": "JSON lines", "parquet": "Parquet"}


def speed(rounds: list[dict]) -> str:
    return spread(each["mb_per_s"] for each in rounds)


def seconds(rounds: list[dict], key: str = "wall") -> str:
    return spread((each[key] for each in rounds), " s")


def beside(rounds: list[dict], others: list[dict]) -> list[str]:
    """The time and the CPU time of a command, each with its ratio to those of another, but not of itself."""
    keys = ("wall", "cpu")
    return [
        cell for key in keys for cell in (seconds(rounds, key), "" if rounds is others else times(rounds, others, key))
    ]


def training(results: dict) -> list[str]:
    """One row for each corpus: the time of tokenmill, and that of each peer relative to it; then the memory."""
    rows, memory = [], []
    trainers = {peer: ours for peer, ours in TRAINERS.items() if any(peer in kept for kept in results.values())}
    some = [peer for peer in trainers if any(peer not in kept for kept in results.values())]
    for corpus, kept in results.items():
        cells = (times(kept[peer], kept[ours]) if peer in kept else "" for peer, ours in trainers.items())
        rows.append([corpus, seconds(kept["tokenmill"]), *cells])
        peaks = (kept.get(way, []) for way in ("tokenmill", *trainers))
        memory.append([corpus, *(f"{median(rounds, 'peak_mib'):,.0f}" if rounds else "" for rounds in peaks)])
    return section(
        "## Train",
        "Train 32,768 tokens with the cl100k pattern, from a text file to a tokenizer in memory. Nothing is saved, except that sentencepiece "
        "always writes its model. Wall time of the whole process for tokenmill, and the times of the others relative to tokenmill's. "
        "gigatoken trains with the GPT-2 pattern, and is compared with tokenmill with the same pattern."
        + (f" On English only: {', '.join(some)}." if some else ""),
        table(["", "tokenmill", *trainers], rows),
        "Peak memory of the whole process, MiB, medians of the rounds:",
        table(["", "tokenmill", *trainers], memory),
    )


def superwords(results: dict) -> list[str]:
    kept = results["en"]
    names = {
        "plain": "plain BPE",
        "superbpe": "SuperBPE",
        "uncut": "SuperBPE without the exact cut",
        "boundless": "BoundlessBPE",
    }
    rows = [
        [name, size, *beside(rounds[way], rounds["plain"]), f"{median(rounds[way], 'peak_mib'):,.0f} MiB"]
        for size, rounds in {"150 MB": kept, **results["grown"]}.items()
        for way, name in names.items()
        if way in rounds
    ]
    encoders = {"encode": "SuperBPE", "encode-boundless": "BoundlessBPE", "tokenizers": "SuperBPE, tokenizers, 4 MB"}
    speeds = [
        [name, *(spread(each[f"{key}_mb_per_s"] for each in kept[way]) for key in CALLS.values())]
        for way, name in encoders.items()
        if way in kept
    ]
    return section(
        "## Superwords",
        "`tokenmill train`, 49,152 tokens; SuperBPE with stage 1 up to 32,768. Whole commands, medians of the rounds, with the range of the ratios. "
        "The text of 150 MB is *en*. The larger text is the three corpora and then copies of them with renamed letters, whose words are new.",
        table(["", "text", "time", "relative to plain", "CPU time", "relative to plain", "peak memory"], rows),
        "Encoding 60 MB with the result, one core, MB/s:",
        table(["", *CALLS], speeds),
    )


def parity(results: dict) -> list[str]:
    kept, tokens = results["multi"], results["tokens"]
    rows = [
        [way, seconds(kept[way], "cpu"), f"{median(kept[way], 'peak_mib'):,.0f} MiB"]
        for way in ("tokenmill", "tokenizers")
    ]
    languages = [[name, *(f"{used[name]:,}" for used in tokens.values())] for name in tokens["plain"]]
    languages.append(["all", *(f"{sum(used.values()):,}" for used in tokens.values())])
    languages.append(["Gini coefficient", *(f"{gini(list(used.values())):.4f}" for used in tokens.values())])
    return section(
        "## Parity-aware BPE",
        "32,000 tokens on 16 languages of *multi*, with the GPT-2 pattern: the whole command, and `ParityBpeTrainer` of tokenizers "
        f"on the same files. The CPU time of tokenizers relative to tokenmill's: {times(kept['tokenizers'], kept['tokenmill'], 'cpu')}.",
        table(["", "CPU time", "peak memory"], rows),
        "Numbers of tokens in the same sections of a book in each language, with the cl100k pattern, for plain BPE and "
        "[the variants of parity](how-to/parity.md#two-variants):",
        table(["", *tokens], languages),
    )


def merge_loop(results: dict) -> list[str]:
    rows = []
    for corpus, kept in results.items():
        loops = (seconds(kept[size], "thread_seconds") for size in ("32768", "100000"))
        cost, picky = (times(kept[way], kept["32768"], "thread_seconds") for way in ("100000", "picky"))
        rows.append([corpus, *loops, cost, times(kept["train 100000"], kept["train 32768"], "cpu"), picky])
    head = ["", "32,768 tokens", "100,000 tokens", "ratio", "ratio of whole training runs", "Picky BPE at 0.9"]
    return section(
        "## Merge loop",
        "The merge loop alone, from word counts to merges. The ratios compare 100,000 tokens with 32,768, and Picky BPE with plain BPE at "
        "32,768. Each is the median of the rounds' ratios, with their range.",
        table(head, rows),
        "*What limits it*: late merges have few occurrences, so most of their cost is the cost of any merge (its token, new pairs, the queue): "
        "1.1 to 1.2 us, most of it computation, not waiting for memory. Picky BPE puts 2.8x to 7.8x more pairs into the queue, since a removal can "
        "raise any count ([counted](experiments/training.md#2026-11-22-the-work-of-100000-tokens-and-of-picky-bpe-counted)).",
    )


def by_corpus(results: dict) -> list[str]:
    """MB/s of each way in each corpus."""
    rows = [[way, *(speed(results[corpus][way]) for corpus in CORPORA)] for way in results["en"]]
    return table(["", *CORPORA], rows)


def split(results: dict) -> list[str]:
    return section(
        "## Split",
        "Split text into pretokens with one thread. MB/s, median and range of the rounds. `own` is a custom pattern, without a name. "
        "`scalar` is without vector instructions.",
        by_corpus(results),
    )


def count(results: dict) -> list[str]:
    gains = [times(results[c]["2 threads"], results[c]["1 thread"], "mb_per_s") for c in CORPORA]
    return section(
        "## Count",
        "Count the pretokens of a file into one merged table, with the cl100k pattern. MB/s, median and range of the rounds.",
        by_corpus(results),
        "Two threads cannot be more than twice as fast as one. Where the speed-up is higher, other work on the machine slowed down the rounds "
        "with one thread:",
        table(["", *CORPORA], [["speed-up of 2 threads over 1", *gains]]),
    )


def token_files(results: dict) -> list[str]:
    """Whole commands."""
    rows = []
    for name, kept in results.items():
        commands = kept["commands"]
        ours, theirs = commands["tokenmill"], commands["gigatoken"]
        shown = spread((kept["bytes"] / 1e6 / each["wall"] for each in ours), " MB/s")
        gains = (times(theirs, ours, key) for key in ("wall", "cpu"))
        memory = (f"{median(each, 'peak_mib'):.0f} MiB" for each in (ours, theirs))
        datasets = ""
        if "short tokenizers" in commands:
            datasets = times(commands["short tokenizers"], commands["short tokenmill"])
        rows.append([name, shown, *gains, *memory, kept.get("ids", ""), datasets])
    heads = (
        "tokenmill",
        "gigatoken's time",
        "gigatoken's CPU time",
        "memory",
        "gigatoken's memory",
        "gigatoken's ids",
        "tokenizers' time",
    )
    return section(
        "## Token files",
        "Whole commands that encode 150 MB of English with cl100k_base to a file of ids on two cores, start-up included: "
        "`tokenmill encode`, and the time and memory of gigatoken's `encode_files` with a file written. "
        "Ratios are relative to tokenmill. The last column is tokenizers in `datasets.map(batched=True)` on the first 15 MB. "
        "Documents of JSONL, Parquet and `--unit separator` have 3 kB, and lines 30 bytes on average. The pages of "
        "parquet.zst are compressed with Zstandard, those of parquet with Snappy. `datasets` cannot read text by separators.",
        table(["", *heads], rows),
        "*What limits Parquet*: PyArrow decodes a column in one thread at 0.9 GB/s, 0.16 s of the 1.0 s of CPU time, and its import takes "
        "0.05 s before the first row, when nothing else can run.",
    )


TOOLS = {"tokenmill": "tokenmill", "megatron": "preprocess_data_fast.py", "datatrove": "datatrove"}


def trainers(results: dict) -> list[str]:
    """`encode --format megatron` and the training frameworks' own tools."""
    rows = []
    for model, kept in results.items():
        for group, measured in kept.items():
            commands, kind = measured["commands"], "Parquet" if group == "parquet" else "JSON lines"
            for tool, rounds in commands.items():
                name = "preprocess_data.py" if tool == "megatron" and group == "short" else TOOLS[tool]
                where = f"{model}, {measured['bytes'] / 1e6:,.0f} MB of {kind}" if tool == "tokenmill" else ""
                same = ("identical" if measured["identical"] else "differ") if tool == "megatron" else ""
                figures = beside(rounds, commands["tokenmill"])
                rows.append([where, name, *figures, f"{measured['memory'][tool]:,.0f} MiB", same])
    return section(
        "## Token files of training frameworks",
        "Whole commands on two cores, start-up included: `tokenmill encode --format megatron`, and the tools of Megatron-LM "
        "(`preprocess_data_fast.py` uses gigatoken, `preprocess_data.py` two workers) and of datatrove (`DocumentTokenizer`, in its own format). "
        "OLMo's `dolma tokens` is missing: pip found no compatible versions of its dependencies. "
        "Megatron-LM's tools do not read Parquet. "
        "Memory is the peak of a command with all its processes, with shared memory counted once. "
        "The last column compares .bin and .idx byte for byte. Where they differ, `preprocess_data.py` puts the tokenizer's begin-of-text "
        "token before each document; here `--begin-of-text` does that.",
        table(["", "tool", "time", "relative", "CPU time", "relative", "memory", "files"], rows),
    )


def stages(results: dict) -> list[str]:
    """The share of each stage in the processor time of one thread."""
    rows = []
    for verb, sources in results.items():
        for name, rounds in sources.items():
            spent = {stage: statistics.median(each.get(stage, 0) for each in rounds) for stage in STAGES}
            total = sum(spent.values())
            slowest = max(STAGES[1:], key=spent.__getitem__)
            shares = (f"{spent[stage] / total:.0%}" if spent[stage] > 0 else "" for stage in STAGES)
            speeds = [each["bytes"] / 1e6 / sum(each.get(stage, 0) for stage in STAGES) for each in rounds]
            rows.append([f"{verb}, {name}", spread(speeds), *shares, slowest])
    return section(
        "## Stages",
        "The stages of each command, one after the other in one thread: MB of text per second of processor time (median and range), and the "
        "share of each stage. The text is *en*; the dumps are samples, repeated up to 30 MB. `read` includes cutting "
        "text into documents, and for Parquet decompressing and decoding the column. `filter` includes the removal of markup, "
        "and for dumps the parsing of a document. Splitting lines is part of encoding or counting. The last column names the "
        "slowest stage after the start.",
        table(["", "MB/s", *STAGES, "slowest"], rows),
    )


def growth(results: dict) -> list[str]:
    """Seconds per GB for each size, and the largest size compared with the smallest; then the peak memory."""
    sizes = sorted(results, key=int)
    rows, memory = [], []
    for verb in results[sizes[0]]:
        cells = [spread((1e9 * each["cpu"] / each["bytes"] for each in results[size][verb]), " s") for size in sizes]
        memory.append([verb, *(spread(each["peak_mib"] for each in results[size][verb]) for size in sizes)])
        per_gb = {
            size: [
                {"all": each["cpu"] / each["bytes"], "own": (each["cpu"] - each["system"]) / each["bytes"]}
                for each in results[size][verb]
            ]
            for size in (sizes[0], sizes[-1])
        }
        rows.append([verb, *cells, *(times(per_gb[sizes[-1]], per_gb[sizes[0]], key) for key in ("all", "own"))])
    return section(
        "## Growth",
        "Copies of English text, each with renamed letters, so that the number of distinct pretokens grows with the text "
        "(`benchmarks/growth.py`). CPU seconds of whole commands per GB of text. *Per GB* is the time per GB of the largest text relative to that of the smallest, with its range. *Own* excludes the "
        "time of the operating system, which writes the output to the disk.",
        table(["", *(f"{int(size):,} MB" for size in sizes), "per GB", "own"], rows),
        "Peak memory, MiB:",
        table(["", *(f"{int(size):,} MB" for size in sizes)], memory),
    )


def cleaning(results: dict) -> list[str]:
    rows = [
        [
            kind,
            f"{rounds[0]['bytes'] / 1e6:,.0f} MB",
            *(spread(each["bytes"] / 1e6 / each[key] for each in rounds) for key in ("wall", "cpu")),
            f"{median(rounds, 'peak_mib'):.0f} MiB",
        ]
        for kind, rounds in results.items()
    ]
    return section(
        "## Cleaning",
        "Whole commands, `tokenmill clean` with two processes and the default filters, start-up and the compressed shards included. "
        "The samples of the dumps are repeated; the text is *en* by lines. MB per second of the XML, or of the text in a Parquet file, median and range "
        "of the rounds. The memory is that of the largest process.",
        table(["", "size", "MB/s", "MB per second of CPU time", "memory"], rows),
    )


def playground(results: dict) -> list[str]:
    """Key press latency by text size, the page's encoder against gpt-tokenizer, and the size of the page."""
    keys = []
    for size, name in ((10_000, "10 kB"), (1_000_000, "1 MB")):
        for clock, how in (("at once", ""), ("60 Hz", ", 60 Hz")):
            times = [sorted(results["keys"][f"{corpus} {size} {clock}"]["repaint"]) for corpus in CORPORA]
            cells = (f"{statistics.median(each):.0f} ms (95%: {each[int(len(each) * 0.95)]:.0f})" for each in times)
            keys.append([f"{name}{how}", *cells])
    speeds, gains = [], []
    for kind, name in (("Cold", "first call"), ("", "later calls")):
        rounds = [[each["rounds"][f"{whose}{kind}"] for whose in ("ours", "theirs")] for each in results["encoders"]]
        sizes = [each["bytes"] / 1000 for each in results["encoders"]]
        speeds.append([name, *(spread(n / t for t in ours) for n, (ours, _) in zip(sizes, rounds, strict=True))])
        gains.append([name, *(spread((b / a for a, b in zip(*both, strict=True)), "x") for both in rounds)])
    sizes = results["sizes"]
    page = sum(size for name, size in sizes.items() if not re.fullmatch(r"packs/\d+\.tmpack", name))
    return section(
        "## Playground",
        "Time from a key press to the repainted tokens in Chromium: median, and the 95th percentile in brackets. The key is "
        "pressed in the middle of the text, with its tokens in view. Frames are drawn as soon as they are ready, or at 60 Hz.",
        table(["text", *CORPORA], keys),
        f"The page's JavaScript encoder with cl100k, in one Node {results['node']} process, MB/s:",
        table(["", *CORPORA], speeds),
        f"Its speed relative to gpt-tokenizer {results['gpt-tokenizer']}:",
        table(["", *CORPORA], gains),
        f"The exported page is {page / 1000:.0f} kB; the 100,277 tokens of cl100k add {sizes['packs/0.tmpack'] / 1000:.0f} kB.",
    )


TOPICS = {
    "quick": quick,
    "train": training,
    "merge_loop": merge_loop,
    "superwords": superwords,
    "parity": parity,
    "split": split,
    "count": count,
    "matrix": matrix,
    "encode": encode,
    "calls": calls,
    "families": families,
    "token_files": token_files,
    "trainers": trainers,
    "stages": stages,
    "growth": growth,
    "cleaning": cleaning,
    "playground": playground,
}
