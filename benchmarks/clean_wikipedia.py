"""Clean Wikipedia with tokenmill and with wikiextractor, on one core and on two, in pages/s and MB/s.

python -m benchmarks.clean_wikipedia [--quick] [--wikiextractor PROGRAM]

wikiextractor runs as a separate program, and only if it is installed: it has the AGPL licence and is not a dependency.
Install it separately and pass the path of its program:

    python -m venv /tmp/wx && /tmp/wx/bin/pip install wikiextractor
    python -m benchmarks.clean_wikipedia --wikiextractor /tmp/wx/bin/wikiextractor

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

from .harness import CACHE, ROOT, SHARED, alternate, median, ratio, save

SLICE = "enwiki-pages-articles-shortened.xml.bz2"
COPIES = 8
PAGES_PER_STREAM = 100


def dump() -> Path:
    """The dump to clean, created once in the cache."""
    path = CACHE / f"wikipedia-x{COPIES}.xml.bz2"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        plain = bz2.decompress((SHARED / "corpus" / SLICE).read_bytes())
        head, *pages = re.split(rb"(?=  <page>)", plain.replace(b"</mediawiki>", b""))
        pages *= COPIES
        streams = [head]
        streams += [b"".join(pages[i : i + PAGES_PER_STREAM]) for i in range(0, len(pages), PAGES_PER_STREAM)]
        path.write_bytes(b"".join(bz2.compress(stream) for stream in [*streams, b"</mediawiki>\n"]))
    return path


def job(library: str, cores: int, source: str, program: str) -> dict:
    """Clean the dump once; return the pages and bytes of the resulting texts."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    folder = tempfile.mkdtemp(dir=CACHE)
    start = time.perf_counter()
    try:
        if library == "tokenmill":
            command = [sys.executable, "-m", "tokenmill", "clean", "wikipedia", source, "-o", f"{folder}/out", "--json"]
            command += ["--num-threads", str(cores), "--time-limit", "1000"]
            report = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
            return {
                "pages": report["documents_kept"],
                "out": report["bytes_out"],
                "seconds": time.perf_counter() - start,
            }
        command = [program, source, "--processes", str(cores), "--no-templates", "--json", "-q", "-o", f"{folder}/out"]
        subprocess.run(command, check=True, capture_output=True)
        seconds = time.perf_counter() - start
        lines = (line for path in Path(folder).rglob("wiki_*") for line in path.read_bytes().splitlines())
        texts = [json.loads(line)["text"] for line in lines]
        return {"pages": len(texts), "out": sum(len(text.encode()) for text in texts), "seconds": seconds}
    finally:
        shutil.rmtree(folder)


def run(program: str | None, quick: bool = False) -> dict:
    source = dump()
    plain = len(bz2.decompress(source.read_bytes()))
    libraries = ["tokenmill", *(["wikiextractor"] if program else [])]
    jobs = {
        f"{library} {cores}": ["benchmarks.clean_wikipedia", "job", library, str(cores), str(source), program or ""]
        for cores in (1, 2)
        for library in libraries
    }
    kept = alternate(jobs, rounds=1 if quick else 5)
    for name, results in kept.items():
        seconds = median(results, "seconds")
        print(
            f"{name:<16} {results[0]['pages'] / seconds:7.1f} pages/s {plain / seconds / 1e6:6.2f} MB/s "
            f"{median(results, 'cpu'):6.1f} s of CPU time",
            file=sys.stderr,
        )
    print(f"speed-up of two cores: {ratio(kept['tokenmill 1'], kept['tokenmill 2'], 'seconds'):.2f}x", file=sys.stderr)
    if program:
        for cores in (1, 2):
            times = ratio(kept[f"wikiextractor {cores}"], kept[f"tokenmill {cores}"], "seconds")
            print(f"{cores} core(s): {times:.2f}x wikiextractor", file=sys.stderr)
    return {"plain_bytes": plain, "rounds": kept}


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        print(json.dumps(job(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])))
    else:
        program = sys.argv[sys.argv.index("--wikiextractor") + 1] if "--wikiextractor" in sys.argv else None
        results = run(program or shutil.which("wikiextractor"), "--quick" in sys.argv)
        if "--quick" not in sys.argv:
            save("clean_wikipedia", results)
