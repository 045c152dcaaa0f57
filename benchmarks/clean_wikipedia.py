"""Clean Wikipedia with tokenmill and with wikiextractor, on one core and on two, in pages/s and MB/s.

python -m benchmarks.clean_wikipedia [--quick]

wikiextractor runs as a separate program, and only if it is on the path: it has the AGPL licence and is not a dependency.
Install it separately:

    python -m venv /tmp/wx && /tmp/wx/bin/pip install wikiextractor
    PATH="$PATH:/tmp/wx/bin" python -m benchmarks.clean_wikipedia

The dump repeats the pages of a sample of the English Wikipedia, in streams of 100 pages like a multistream dump. CPU
affinity limits each job to its cores; with one core, reader and worker share it. wikiextractor runs in its faster mode
(--no-templates: it does not collect and expand templates). tokenmill applies all its filters and compresses its output;
wikiextractor does neither.
"""

from __future__ import annotations

import bz2
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .harness import CACHE, ROOT, alternate, main, median, shared_file

SLICE = "enwiki-pages-articles-shortened.xml.bz2"
COPIES = 8
PAGES_PER_STREAM = 100


def dump() -> Path:
    """The dump to clean, created once in the cache."""
    path = CACHE / f"wikipedia-x{COPIES}.xml.bz2"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        plain = bz2.decompress(shared_file("corpus", SLICE).read_bytes())
        head, *pages = re.split(rb"(?=  <page>)", plain.replace(b"</mediawiki>", b""))
        pages *= COPIES
        streams = [head]
        streams += [b"".join(pages[i : i + PAGES_PER_STREAM]) for i in range(0, len(pages), PAGES_PER_STREAM)]
        path.write_bytes(b"".join(bz2.compress(stream) for stream in [*streams, b"</mediawiki>\n"]))
    return path


def job(library: str, cores: str, source: str) -> dict:
    """Clean the dump once; return the pages and bytes of the resulting texts."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])
    folder = tempfile.mkdtemp(dir=CACHE)
    start = time.perf_counter()
    try:
        if library == "tokenmill":
            command = [sys.executable, "-m", "tokenmill", "clean", "wikipedia", source, "-o", f"{folder}/out", "--json"]
            command += ["--num-threads", cores, "--time-limit", "1000"]
            report = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
            seconds = time.perf_counter() - start
            return {"pages": report["documents_kept"], "out": report["bytes_out"], "seconds": seconds}
        command = [library, source, "--processes", cores, "--no-templates", "--json", "-q", "-o", f"{folder}/out"]
        subprocess.run(command, check=True, capture_output=True)
        seconds = time.perf_counter() - start
        lines = (line for path in Path(folder).rglob("wiki_*") for line in path.read_bytes().splitlines())
        texts = [json.loads(line)["text"] for line in lines]
        return {"pages": len(texts), "out": sum(len(text.encode()) for text in texts), "seconds": seconds}
    finally:
        shutil.rmtree(folder)


def run() -> dict:
    source = dump()
    plain = len(bz2.decompress(source.read_bytes()))
    peers = [program for program in ("wikiextractor",) if shutil.which(program)]
    jobs = {
        f"{library} {cores}": ["benchmarks.clean_wikipedia", "job", library, cores, str(source)]
        for cores in ("1", "2")
        for library in ("tokenmill", *peers)
    }
    kept = alternate(jobs)
    for name, results in kept.items():
        seconds = median(results, "seconds")
        print(f"{name:<16} {results[0]['pages'] / seconds:7.1f} pages/s {plain / seconds / 1e6:6.2f} MB/s")
    return {"plain_bytes": plain, "rounds": kept}


if __name__ == "__main__":
    main(run, job)
