"""Parity-aware BPE on 16 languages: the whole command, the trainer of Hugging Face tokenizers, and the tokens of each language.

python -m benchmarks.parity [--quick]       # minutes

The languages are cut out of the shared corpus `multi`: the sections of Debian's handbook, which have the same numbers in each, and
for seven of them LibreOffice's help. Every eighth section is development text, every other eighth is measured.
"""

from __future__ import annotations

import re
import tempfile
from itertools import pairwise
from pathlib import Path

from .harness import CACHE, alternate, command, corpus_file, main

FOLDER = CACHE / "parity"
# The place of each language among the 26 of the handbook, and the first byte of its part of LibreOffice's help.
HANDBOOK = {"ar": 18, "ca": 10, "de": 0, "es": 4, "fa": 2, "fr": 21, "id": 19, "it": 14} | {
    "ja": 16, "nb": 23, "nl": 13, "pt": 6, "ru": 5, "sv": 9, "vi": 1, "zh": 12,
}  # fmt: skip
HELP = {"de": 47345251, "el": 54076400, "es": 65147385, "fi": 71646891, "fr": 77640778, "hi": 84465894, "hu": 90786584} | {
    "ja": 97305877, "km": 103938014, "ko": 114042610, "ru": 120186693, "tr": 128339925, "vi": 134525553, "zh": 140883530,
    "": 146409591,
}  # fmt: skip
HANDBOOK_ENDS = 32_500_000
HEADING = re.compile(rb"^(\d+\.\d+)\.(?: |\xc2\xa0)[^\n]{3,}", re.MULTILINE)
SIZE = 32_000


def languages() -> dict[str, Path]:
    """A file of each language; beside it are NAME.dev and NAME.test."""
    paths = {name: FOLDER / f"{name}.txt" for name in HANDBOOK}
    if all(path.exists() for path in paths.values()):
        return paths
    FOLDER.mkdir(parents=True, exist_ok=True)
    data = corpus_file("multi").read_bytes()
    starts = [found.start() for found in HEADING.finditer(data, 0, HANDBOOK_ENDS) if found[1] == b"12.1"]
    starts = [start for before, start in pairwise([-(10**6), *starts]) if start - before > 600_000]
    books = [_sections(data[start:end]) for start, end in pairwise([*starts, HANDBOOK_ENDS])]
    numbers = sorted(set.intersection(*(set(books[place]) for place in HANDBOOK.values())))
    ends = dict(pairwise(HELP))
    for name, path in paths.items():
        book = books[HANDBOOK[name]]
        dev, test = numbers[::8], numbers[4::8]
        text = b"".join(part for number, part in book.items() if number not in {*dev, *test})
        if name in HELP:
            text += data[HELP[name] : HELP[ends[name]]]
        path.with_suffix(".dev").write_bytes(b"".join(book[number] for number in dev))
        path.with_suffix(".test").write_bytes(b"".join(book[number] for number in test))
        path.write_bytes(text)
    return paths


def _sections(book: bytes) -> dict[bytes, bytes]:
    found = [*((each.start(), each[1]) for each in HEADING.finditer(book)), (len(book), b"")]
    sections: dict[bytes, bytes] = {}
    for (start, number), (end, _) in pairwise(found):
        sections[number] = sections.get(number, b"") + book[start:end]
    return sections


def tokenmill() -> dict:
    """The whole command."""
    paths = languages()
    named = [f"{name}={path}" for name, path in paths.items()]
    dev = [f"{name}={path.with_suffix('.dev')}" for name, path in paths.items()]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--dev", *dev, "--split", "gpt2", "--vocab-size", str(SIZE), "-o", f"{folder}/tokenizer", "--json"]
        command("train", "--parity", "--language", *named, *options)
    return {}


def tokenizers() -> dict:
    """The same by Hugging Face's trainer, line by line."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.ParityBpeTrainer(
        num_merges=SIZE - 256, min_frequency=1, show_progress=False, initial_alphabet=alphabet
    )
    paths = languages().values()
    training = [path.open(encoding="utf-8", errors="replace") for path in paths]
    development = [path.with_suffix(".dev").open(encoding="utf-8", errors="replace") for path in paths]
    trainer.train_from_iterator(tok, training, dev_iterators=development)
    return {}


def tokens() -> dict:
    """The tokens of the measured sections by language, for plain BPE and three kinds of parity."""
    import tokenmill

    paths = languages()
    counts = {name: tokenmill.count(path) for name, path in paths.items()}
    development = {name: path.with_suffix(".dev") for name, path in paths.items()}
    texts = {name: path.with_suffix(".test").read_bytes().decode(errors="replace") for name, path in paths.items()}
    made = {"plain": tokenmill.train_from_counts(tokenmill.WordCounts.merge(counts.values()), SIZE)}
    for name, options in {"parity": {}, "window": {"window": 100}, "hybrid": {"global_merges": SIZE // 2}}.items():
        made[name] = tokenmill.train_parity(counts, SIZE, development=development, **options)
    return {way: {language: tok.count_tokens(text) for language, text in texts.items()} for way, tok in made.items()}


def run() -> dict:
    languages()
    jobs = {way: ["benchmarks.parity", way] for way in ("tokenmill", "tokenizers")}
    return {"multi": alternate(jobs, skip_after=600), "tokens": tokens()}  # tokenizers takes minutes


if __name__ == "__main__":
    main(run, tokenmill, tokenizers)
