"""Whole commands that make a token file, tokenmill against gigatoken, and where the time of tokenmill goes.

python -m benchmarks.token_files [--quick]

Each job is a process that reads the documents of one file, encodes them with cl100k_base, and writes the ids to a file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .encoders import RANKS
from .harness import CACHE, alternate, corpus_file, ratio, run_job, save

ROUNDS = 3
DOCUMENT = 3000  # characters
SOURCES = ("file", "lines", "jsonl", "parquet", "file.zst", "lines.zst", "jsonl.zst")


def source(name: str) -> Path:
    """The English corpus as one of SOURCES, made once."""
    text = corpus_file("en")
    kind, _, packed = name.partition(".")
    path = text if kind in ("file", "lines") else CACHE / f"en.{kind}"
    if not path.exists():
        documents = list(_documents(text.read_text(encoding="utf-8", errors="replace")))
        if kind == "jsonl":
            lines = (json.dumps({"id": i, "text": text}, ensure_ascii=False) for i, text in enumerate(documents))
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table({"text": documents}), path, row_group_size=4096)
    if packed:
        import zstandard

        packed_path = path.with_name(path.name + ".zst")
        if not packed_path.exists():
            packed_path.write_bytes(zstandard.compress(path.read_bytes()))
        return packed_path
    return path


def _documents(text: str) -> Iterator[str]:
    """Stretches of whole lines of at least DOCUMENT characters."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + DOCUMENT) + 1 or len(text)
        yield text[start:end]
        start = end


def job(library: str, name: str, path: str) -> dict:
    """One command in this process: python -m benchmarks.token_files job LIBRARY NAME PATH"""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "ids.bin"
        (_tokenmill if library == "tokenmill" else _gigatoken)(name.partition(".")[0], path, output)
        return {"tokens": os.path.getsize(output) // 4}


def _tokenmill(kind: str, path: str, output: Path) -> None:
    from tokenmill.cli.main import app

    command = ["encode", path, "--tokenizer", str(RANKS), "--split", "cl100k", "--no-end-of-text", "-o", str(output)]
    sys.argv = ["tokenmill", *command, "--unit", "line" if kind == "lines" else "file"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        app()


def _gigatoken(kind: str, path: str, output: Path) -> None:
    import gigatoken
    import numpy as np

    sources = {
        "file": lambda: gigatoken.TextFileSource([path]),
        "lines": lambda: gigatoken.TextFileSource([path], separator="\n"),
        "jsonl": lambda: gigatoken.JsonlFileSource([path], field="text"),
        "parquet": lambda: gigatoken.ParquetFileSource([path], column="text"),
    }
    ids = gigatoken.Tokenizer.from_tiktoken(RANKS).encode_files(sources[kind]())
    np.asarray(ids.layout.content.data).astype(np.uint32, copy=False).tofile(output)


def stages(name: str, path: str) -> dict:
    """CPU seconds of tokenmill's stages, one after the other in one thread: python -m benchmarks.token_files stages ..."""
    started = time.process_time()
    import numpy  # noqa: F401

    import tokenmill
    from tokenmill.sources.blocks import Block, ReadOptions
    from tokenmill.sources.documents import open_source
    from tokenmill.sources.streams import ByteStream
    from tokenmill.token_files.encoding import EncodeOptions, settings_for
    from tokenmill.token_files.parts import PartWriter, certain_cut, encode_block

    tok = tokenmill.load(RANKS, split="cl100k")
    found = {"start": time.process_time() - started}

    def timed(stage: str, call, *arguments):
        start = time.process_time()
        result = call(*arguments)
        found[stage] = found.get(stage, 0.0) + time.process_time() - start
        return result

    read = ReadOptions("line" if name.startswith("lines") else "file")
    settings = settings_for(tok, "bin", EncodeOptions(end_of_text=False, read=read))
    if name.endswith(".zst"):
        buffer = bytearray(1 << 20)
        with ByteStream(Path(path)) as stream:
            while timed("decompress", stream.readinto, buffer):
                pass
    source, block = open_source(Path(path), read, cut=certain_cut(tok, False)), Block()
    with tempfile.TemporaryDirectory() as folder:
        writer = PartWriter(Path(folder))
        while timed("read", source.draw, block):
            timed("parse", block.finish)
            timed("write", writer.append, timed("encode", encode_block, tok, settings, block))
        timed("write", writer.sync)
        writer.close()
    found["read"] -= found.get("decompress", 0.0)
    return found


def run(quick: bool = False) -> dict:
    results = {}
    for name in SOURCES:
        path = run_job(["benchmarks.token_files", "make", name])["path"]  # a process that starts jobs stays small
        print(f"token files, {name}", file=sys.stderr)
        jobs = {
            library: ["benchmarks.token_files", "job", library, name, path] for library in ("tokenmill", "gigatoken")
        }
        kept = alternate(jobs, rounds=1 if quick else ROUNDS)
        shares = [run_job(["benchmarks.token_files", "stages", name, path]) for _ in range(1 if quick else 3)]
        results[name] = {"commands": kept, "stages": shares, "bytes": corpus_file("en").stat().st_size}
        gain = ratio(kept["gigatoken"], kept["tokenmill"]), ratio(kept["gigatoken"], kept["tokenmill"], "cpu")
        print(f"  {name}: {gain[0]:.2f}x gigatoken's speed, {gain[1]:.2f}x by CPU time", file=sys.stderr)
    return results


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        print(json.dumps(job(*sys.argv[2:])))
    elif sys.argv[1:2] == ["make"]:
        print(json.dumps({"path": str(source(sys.argv[2]))}))
    elif sys.argv[1:2] == ["stages"]:
        print(json.dumps({stage: round(seconds, 4) for stage, seconds in stages(*sys.argv[2:]).items()}))
    else:
        quick = "--quick" in sys.argv
        results = run(quick)
        if not quick:
            save("token_files", results)
