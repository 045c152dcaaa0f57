"""Training and encoding on public text, against the peers that are installed, in about five minutes: make bench-quick

python -m benchmarks.quick            # prints the table, and keeps the rounds in quick.json of the cache
python -m benchmarks quick            # saves the rounds for docs/benchmarks.md too

Needs no file but the text that pip downloads (benchmarks/public.py). The vocabulary of encoding is the one that tokenmill trains here.
CPU seconds and MB per CPU second, so that other work on the machine matters little.
"""

from __future__ import annotations

import json
import sys
import time

from .encode_tables import with_start
from .harness import CACHE, alternate, environment, median, python_of, rates, run_job, spread, times, version_of
from .pages import section, table
from .public import SOURCES, public_file

SIZE = 10_000_000  # bytes of English to train on
SMALL = 2_000_000  # of each text to encode
TOKENS = 16_384
ROUNDS = 5
TRAINERS = ("rustbpe", "gigatoken", "tokenizers", "bpeasy")
ENCODERS = ("gigatoken", "tiktoken", "tokenizers", "tokenizers_next")


def installed(libraries: tuple[str, ...]) -> list[str]:
    return [library for library in libraries if version_of(library)]


def opens(library: str, task: list[str]) -> bool:
    """Whether a peer encodes the text. One that does not is left out."""
    try:
        run_job(["benchmarks.encode_jobs", library, *task], python=python_of(library), touch=False)
    except RuntimeError as error:
        print(f"  {library} is left out: {error}", file=sys.stderr)
        return False
    return True


def vocabulary(size: int) -> str:
    """The folder of a tokenizer with the pattern of Llama 3, trained on the English text once."""
    folder = CACHE / f"public-{TOKENS}-{size}"
    if not (folder / "tokenizer.json").exists():
        import tokenmill

        tokenmill.train(public_file("en", size), TOKENS).save(folder)
    return str(folder)


def run(rounds: int = ROUNDS, size: int = SIZE, small: int = SMALL) -> dict[str, dict[str, list[dict]]]:
    """The rounds of each task by library."""
    text = str(public_file("en", size))
    trained = ["tokenmill", "tokenmill_gpt2", *installed(TRAINERS)]
    jobs = {library: ["benchmarks.train_jobs", library, text, str(TOKENS)] for library in trained}
    results = {"train": alternate(jobs, rounds, skip_after=30, touch=False)}
    encoders = ["tokenmill", *installed(ENCODERS)]
    for corpus in SOURCES:
        task = [vocabulary(size), "one_listed", str(public_file(corpus, small))]
        encoders = [library for library in encoders if library == "tokenmill" or opens(library, task)]
        jobs = {library: ["benchmarks.encode_jobs", library, *task] for library in encoders}
        results[corpus] = alternate(jobs, rounds, skip_after=20, touch=False)
    return results


def quick(results: dict) -> list[str]:
    """The section of docs/benchmarks.md."""
    train = results["train"]
    libraries = [*dict.fromkeys(library for rows in results.values() for library in rows if "tokenmill" not in library)]
    own = spread((SIZE / 1e6 / each["cpu"] for each in train["tokenmill"]), " MB/s")
    cells = {
        library: times(train[library], train["tokenmill_gpt2" if library == "gigatoken" else "tokenmill"], "cpu")
        for library in libraries
        if library in train
    }
    rows = [["train", own, *(cells.get(library, "") for library in libraries)]]
    for corpus in SOURCES:
        kept = with_start(results[corpus])
        for key, calls in (("start", "import, load, first call"), ("cold", "first call"), ("warm", "later calls")):
            cells = [times(kept[library], kept["tokenmill"], key) if library in kept else "" for library in libraries]
            rows.append([f"encode {corpus}, {calls}", spread(rates(kept["tokenmill"], key), " MB/s"), *cells])
    return section(
        "## Public text",
        "`make bench-quick` measures this table in about five minutes. The text is in the wheels of two packages, which pip downloads: "
        "*en* is 23 MB of documentation of web services, each paragraph once, *multi* 2 MB of Django's messages in 98 languages, "
        f"and *code* Django's sources. Training makes {TOKENS:,} tokens from 10 MB of *en*, in "
        f"{median(train['tokenmill'], 'peak_mib'):.0f} MiB of memory. Encoding with that vocabulary runs on one core, to lists of ids, and later "
        "calls have new text. Libraries build their tables when they load a file or in the first call, so the first row "
        "of each text has both. MB per second of CPU time, and the CPU time of the peers relative to tokenmill's. All libraries returned "
        "the same ids.",
        table(["", "tokenmill", *libraries], rows),
    )


def main() -> None:
    start = time.monotonic()
    about = environment()
    results = run()
    (CACHE / "quick.json").write_text(json.dumps({"environment": about, "results": results}))
    lines = quick(results)
    versions = ", ".join(f"{library} {version}" for library, version in about["versions"].items() if version)
    print("\n".join(lines[4:]))
    print(f"\n{about['cpu']}, {about['cores']} cores, load {about['load']} at the start; {versions}")
    print(f"{time.monotonic() - start:.0f} s in total")


if __name__ == "__main__":
    main()
