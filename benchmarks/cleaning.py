"""Whole commands that clean dumps: tokenmill clean, start-up and writing included.

python -m benchmarks.cleaning [--quick]

The sources are the samples of dumps, with their pages, posts and rows again and again, and the English corpus by lines.
"""

from __future__ import annotations

import bz2
import os
import tempfile
from pathlib import Path

from .harness import CACHE, alternate, corpus_file, main, run_job, shared_file

DUMPS = {  # kind: the sample, what its records begin with, what follows the last
    "wikipedia": ("wikipedia-2006-head.xml", b"<page>", b"</mediawiki>"),
    "wikipedia, 2024": ("enwiki-pages-articles-shortened.xml.bz2", b"<page>", b"</mediawiki>"),
    "stackexchange": ("stackexchange-posts.xml", b"<row", b"</posts>"),
}
KINDS = ("text", "fineweb", *DUMPS)
SIZE = 120_000_000  # bytes of text or XML, about


def source(kind: str) -> tuple[Path, int]:
    """A source, made once, and the bytes of text or XML in it."""
    if kind == "text":
        path = corpus_file("en")
        return path, path.stat().st_size
    name = "fineweb-schema-sample.parquet" if kind == "fineweb" else DUMPS[kind][0]
    sample, path = shared_file("corpus", name), CACHE / f"cleaning-{name.removesuffix('.bz2')}"
    if kind == "fineweb":
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        table = pq.read_table(sample)
        size = pc.sum(pc.binary_length(table["text"])).as_py()
        if not path.exists():
            pq.write_table(pa.concat_tables([table] * (SIZE // size)), path, row_group_size=4096)
        return path, size * (SIZE // size)
    if not path.exists():
        data = sample.read_bytes()
        data = bz2.decompress(data) if sample.suffix == ".bz2" else data
        _, first, end = DUMPS[kind]
        begin = data.index(first)
        stop = data.rindex(end) if end in data else data.rindex(b"</page>") + len(b"</page>")
        records = data[begin:stop]
        path.write_bytes(data[:begin] + records * (SIZE // len(records)) + end + b"\n")
    return path, path.stat().st_size


def make(kind: str) -> dict:
    """Make a source in a process of its own: one that starts jobs stays small."""
    path, size = source(kind)
    return {"path": str(path), "bytes": size}


def run() -> dict:
    made = {kind: run_job(["benchmarks.cleaning", "make", kind]) for kind in KINDS}
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        jobs = {}
        for kind in KINDS:
            unit = ["--unit", "line"] if kind == "text" else []
            jobs[kind] = ["tokenmill", "clean", kind.partition(",")[0], made[kind]["path"], *unit]
            jobs[kind] += ["--json", "-o", os.path.join(folder, f"{kind} {{round}}")]
        kept = alternate(jobs)
    keys = ("wall", "cpu", "peak_mib")
    return {
        kind: [{"bytes": made[kind]["bytes"], **{key: each[key] for key in keys}} for each in rounds]
        for kind, rounds in kept.items()
    }


if __name__ == "__main__":
    main(run, make)
