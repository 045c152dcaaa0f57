"""Where the processor time of each verb goes: its stages one after the other in one thread, for each kind of source.

python -m benchmarks.stages [--quick]

Stages: start (imports, loading the tokenizer), decompress, read (with cutting text into documents, and Parquet's
decoding), parse (JSON, XML), filter (of clean, with markup), split, then encode or count, train, write. `split` is
timed apart, and its time taken from that of encoding or counting.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .encoders import RANKS
from .harness import alternate, main, run_job, shared_file

STAGES = ("start", "decompress", "read", "parse", "filter", "split", "encode", "count", "train", "write")
TEXTS = ("file", "lines", "jsonl", "parquet", "file.zst", "lines.zst", "jsonl.zst")
DUMPS = {
    "wikipedia": "wikipedia-2006-head.xml",
    "stackexchange": "stackexchange-posts.xml",
    "fineweb": "fineweb-schema-sample.parquet",
}
DUMP_BYTES = 30_000_000  # a dump is read as often as makes about this


class Clock:
    """CPU seconds of this process by stage."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def __call__(self, stage: str, call: Callable, *arguments: Any) -> Any:
        start = time.process_time()
        try:
            return call(*arguments)
        finally:
            self.add(stage, time.process_time() - start)

    def add(self, stage: str, seconds: float) -> None:
        self.spent[stage] = self.spent.get(stage, 0.0) + seconds


def job(verb: str, name: str, path: str) -> dict:
    clock = Clock()
    clock.add("start", time.process_time())
    with tempfile.TemporaryDirectory() as folder:
        size = {"encode": encode, "count": count, "train": count, "clean": clean}[verb](
            clock, name, Path(path), Path(folder), *(["train"] if verb == "train" else [])
        )
    return {"bytes": size} | clock.spent


def blocks(clock: Clock, path: Path, options, format: str | None = None, cut=None, parse: bool = True) -> Iterator:
    """The blocks of a file; `parse` where documents are not text yet. Without it they have their ids."""
    from tokenmill.sources.blocks import Block
    from tokenmill.sources.documents import open_source
    from tokenmill.sources.streams import ByteStream

    if path.suffix == ".zst":
        buffer = bytearray(1 << 20)
        with ByteStream(path) as stream:
            while clock("decompress", stream.readinto, buffer):
                pass
    opened, block = open_source(path, options, format, cut=cut, ids=not parse), Block()
    while clock("read", opened.draw, block):
        if parse:
            clock("parse", block.finish)
        yield block
    clock.add("read", -clock.spent.get("decompress", 0.0))


def split(clock: Clock, splitter, block) -> None:
    """Split the documents of a block, and take that time from the stage that comes."""
    start = time.process_time()
    first = 0
    data = bytes(memoryview(block.data)[: block.nbytes])
    for end in block.ends:
        at, first, text = 0, int(end), data[first : int(end)]
        while at < len(text):
            at = memoryview(splitter.scanner.fill(text, at, 1 << 12)).cast("Q")[-1]
    clock.add("split", time.process_time() - start)


def encode(clock: Clock, name: str, path: Path, folder: Path) -> int:
    import tokenmill
    from tokenmill.sources.blocks import ReadOptions
    from tokenmill.token_files.encoded_folder import EncodedFolderWriter, certain_cut, encode_block
    from tokenmill.token_files.encoding import EncodeOptions, settings_for

    read = ReadOptions("line" if name.startswith("lines") else "file")
    tok = clock("start", lambda: tokenmill.load(RANKS, split="cl100k"))
    settings = settings_for(tok, "bin", EncodeOptions(end_of_text=False, read=read))
    size = 0
    with EncodedFolderWriter(folder) as writer:
        for block in blocks(clock, path, read, cut=certain_cut(tok, False)):
            size += block.nbytes
            if not name.startswith("lines"):  # a call for each line would take longer than splitting it
                split(clock, tok._core.splitter, block)
            clock("write", writer.append, clock("encode", encode_block, tok, settings, block))
        clock("write", writer.sync)
    clock.add("encode", -clock.spent.get("split", 0.0))
    return size


def count(clock: Clock, name: str, path: Path, folder: Path, train: str = "") -> int:
    from tokenmill import Splitter, train_from_counts
    from tokenmill.counting.reading import cut_of
    from tokenmill.counting.rows import concatenate, merge_all, table_sources
    from tokenmill.counting.threads import Counter
    from tokenmill.counting.word_counts import WordCounts
    from tokenmill.sources.blocks import ReadOptions

    splitter, size = Splitter("cl100k"), 0
    counter = Counter(splitter, 1 << 32, None, lambda: None)
    for block in blocks(clock, path, ReadOptions("line" if name.startswith("lines") else "file"), cut=cut_of(splitter)):
        size += block.nbytes
        if not name.startswith("lines"):
            split(clock, splitter, block)
        clock("count", counter.count, block)
    rows = clock("count", lambda: concatenate(list(merge_all(table_sources([counter.table])))))
    clock.add("count", -clock.spent.get("split", 0.0))
    counts = WordCounts(*rows, splitter.patterns, counter.documents, sum(counter.bytes_of))
    if train:
        tok = clock("train", lambda: train_from_counts(counts, vocab_size=32_768))
        clock("write", tok.save, folder / "tokenizer")
    else:
        clock("write", counts.save, folder / "counts")
    return size


def clean(clock: Clock, name: str, path: Path, folder: Path) -> int:
    from dataclasses import replace

    import zstandard

    from tokenmill.corpus.cleaner import KINDS, Cleaner
    from tokenmill.corpus.options import CleanOptions

    kind = "text" if name in TEXTS else name
    read = CleanOptions().read
    options = CleanOptions(read=replace(read, unit="line") if name == "lines" else read).for_kind(kind)
    cleaner = clock("start", Cleaner, kind, options)
    compressor, size = zstandard.ZstdCompressor(level=3), 0
    with open(folder / "out.jsonl.zst", "wb") as file, compressor.stream_writer(file) as writer:
        for _ in range(max(1, DUMP_BYTES // path.stat().st_size) if kind in DUMPS else 1):
            for block in blocks(clock, path, options.read, KINDS[kind][0], parse=False):
                size += block.nbytes
                lines, _ = clock("filter", cleaner, block)
                clock("write", writer.write, lines)
    return size


def run() -> dict:
    made = {name: run_job(["benchmarks.token_files", "make", name])["path"] for name in TEXTS}
    jobs = [(verb, name, made[name]) for verb in ("count", "train", "encode") for name in TEXTS]
    jobs += [("clean", "lines", made["lines"])]
    jobs += [("clean", name, str(shared_file("corpus", file))) for name, file in DUMPS.items()]
    kept = alternate(
        {f"{verb} {name}": ["benchmarks.stages", "job", verb, name, path] for verb, name, path in jobs},
        touch=False,
    )
    results: dict[str, dict[str, list[dict]]] = {}
    for verb, name, _ in jobs:
        results.setdefault(verb, {})[name] = kept[f"{verb} {name}"]
    return results


if __name__ == "__main__":
    main(run, job)
