"""Whole commands that make a token file: tokenmill, gigatoken, and tokenizers in `map` of datasets.

python -m benchmarks.token_files [--quick]

Each job is a process that reads the documents of one file, encodes them with cl100k_base, and writes the ids to a file:
`tokenmill encode`, or a few lines of Python.
tokenizers gets the first 15 MB of each. A library may have a Python of its own: TOKENMILL_PYTHON_GIGATOKEN and
TOKENMILL_PYTHON_TOKENIZERS are the paths of their interpreters.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .encoders import RANKS, tokenizer_json
from .harness import alternate, corpus_file, main, python_of, run_job

DOCUMENT = 3000  # characters
KEPT = ("tokens", "wall", "cpu", "peak_mib")
SHORT = 15_000_000  # bytes for tokenizers
BETWEEN = "<|endoftext|>"  # what separates documents in a text file
KINDS = ("file", "lines", "separator", "jsonl", "parquet")
SOURCES = (*KINDS, *(f"{kind}.zst" for kind in KINDS))


def source(name: str, limit: int | None = None) -> Path:
    """The English corpus as one of SOURCES, made once."""
    text = corpus_file("en", limit)
    kind, _, packed = name.partition(".")
    path = text if kind in ("file", "lines") else text.with_suffix(f".{name if kind == 'parquet' else kind}")
    if not path.exists():
        documents = list(_documents(text.read_text(encoding="utf-8", errors="replace")))
        if kind == "jsonl":
            lines = (json.dumps({"id": i, "text": text}, ensure_ascii=False) for i, text in enumerate(documents))
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        elif kind == "separator":
            path.write_text(BETWEEN.join(documents), encoding="utf-8")
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            compression = "zstd" if packed else "snappy"
            pq.write_table(pa.table({"text": documents}), path, row_group_size=4096, compression=compression)
    if packed and kind != "parquet":  # the pages of Parquet are packed
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
    """One command in this process."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "ids.bin"
        libraries = {"gigatoken": _gigatoken, "tokenizers": _tokenizers}
        libraries[library](name.partition(".")[0], path, output)
        return {"tokens": os.path.getsize(output) // 4}


def same(name: str, path: str, ours: str) -> dict:
    """What is to be said of gigatoken's ids beside those of tokenmill's file."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "ids.bin"
        _gigatoken(name.partition(".")[0], path, output)
        ids, expected = np.fromfile(output, "<u4"), np.fromfile(ours, "<u4")
    return {"ids": "equal" if np.array_equal(ids, expected) else f"{len(ids) / len(expected) - 1:+.1%} tokens"}


def _gigatoken(kind: str, path: str, output: Path) -> None:
    import gigatoken
    import numpy as np

    sources = {
        "file": lambda: gigatoken.TextFileSource([path]),
        "lines": lambda: gigatoken.TextFileSource([path], separator="\n"),
        "separator": lambda: gigatoken.TextFileSource([path], separator=BETWEEN),
        "jsonl": lambda: gigatoken.JsonlFileSource([path], field="text"),
        "parquet": lambda: gigatoken.ParquetFileSource([path], column="text"),
    }
    ids = gigatoken.Tokenizer.from_tiktoken(RANKS).encode_files(sources[kind]())
    np.asarray(ids.layout.content.data).astype(np.uint32, copy=False).tofile(output)


def _tokenizers(kind: str, path: str, output: Path) -> None:
    import datasets
    import tokenizers

    datasets.disable_progress_bars()
    builder = {"file": "text", "lines": "text", "jsonl": "json", "parquet": "parquet"}[kind]
    options = {"sample_by": "document"} if kind == "file" else {}
    cache = str(output.parent / "cache")
    texts = datasets.load_dataset(builder, data_files=path, split="train", cache_dir=cache, **options)
    encode = tokenizers.Tokenizer.from_file(str(tokenizer_json("cl100k"))).encode_batch
    ids = texts.map(
        lambda batch: {"ids": [each.ids for each in encode(batch["text"], add_special_tokens=False)]},
        batched=True,
        remove_columns=texts.column_names,
    )
    with open(output, "wb") as file:
        for batch in ids.with_format("arrow").iter(10_000):
            for chunk in batch.column("ids").chunks:
                file.write(chunk.flatten().to_numpy().astype("<u4").tobytes())


def jobs(libraries: tuple[str, ...], name: str, path: str, folder: str) -> dict[str, list[str]]:
    """The arguments of each library's process."""
    kind = name.partition(".")[0]
    units = {"lines": ["--unit", "line"], "separator": ["--unit", "separator", "--separator", BETWEEN]}
    ours = ["tokenmill", "encode", path, "--tokenizer", str(RANKS), "--split", "cl100k", "--no-end-of-text"]
    ours += [*units.get(kind, ()), "--json", "-o", f"{folder}/beside-{libraries[0]}-{{round}}.bin"]
    theirs = {library: ["benchmarks.token_files", "job", library, name, path] for library in libraries}
    return {"tokenmill": ours, **theirs}


def make(name: str, limit: str = "") -> dict:
    """Make a source, and the tokenizer, in a process of its own: one that starts jobs stays small."""
    tokenizer_json("cl100k")
    return {"path": str(source(name, int(limit) if limit else None))}


def run() -> dict:
    results = {}
    for name in SOURCES:
        path, short = (run_job(["benchmarks.token_files", "make", name, size])["path"] for size in ("", str(SHORT)))
        print(f"token files, {name}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            kept = alternate(jobs(("gigatoken",), name, path, folder))
            ours = f"{folder}/beside-gigatoken-0.bin"
            compared = run_job(["benchmarks.token_files", "same", name, path, ours], python=python_of("gigatoken"))
            if not name.startswith("separator"):  # datasets has no such reader
                short_jobs = alternate(jobs(("tokenizers",), name, short, folder))
                kept |= {f"short {library}": rounds for library, rounds in short_jobs.items()}
        kept = {library: [{key: each[key] for key in KEPT} for each in rounds] for library, rounds in kept.items()}
        results[name] = {"commands": kept, "bytes": corpus_file("en").stat().st_size, "ids": compared["ids"]}
    return results


if __name__ == "__main__":
    main(run, make, job, same)
