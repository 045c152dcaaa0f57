"""Fuzz the loaders: every file must give a vocabulary or one of tokenmill's errors.

    python fuzz/loaders.py SECONDS [SEED]

With atheris installed, coverage guides the fuzzing; otherwise whole files are changed at random. A vocabulary that was
read must also work: it encodes and decodes, every format that can hold it writes it, and it reads back to the same ids.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

atheris = None
if __name__ == "__main__":  # a test imports this file for run_random
    with contextlib.suppress(ImportError):
        import atheris

with atheris.instrument_imports(include=["tokenmill.formats"]) if atheris else contextlib.nullcontext():
    from tokenmill import formats

import numpy as np

from tokenmill.errors import ConversionError, TokenmillError
from tokenmill.split.patterns import PATTERNS
from tokenmill.tokenizer import Tokenizer
from tokenmill.vocabulary import AddedToken, Vocabulary

# The first byte of an input selects one of these sets of files; _PARTING separates the files in the rest.
LAYOUTS = (
    ("tokenizer.json",),
    ("tokenizer.json", "tokenmill.json"),
    ("tokenizer.json", "events.txt"),
    ("it.tiktoken",),
    ("it.tiktoken", "it.tiktoken.json"),
    ("vocab.json", "merges.txt"),
    ("vocab.json", "merges.txt", "added_tokens.json"),
    ("vocab.json", "merges.txt", "tokenizer_config.json"),
    ("vocab.ddtok", "merges.ddtok"),
    ("it.tiktoken.gz",),
)
NAMELESS = (LAYOUTS[3], LAYOUTS[5], LAYOUTS[6], LAYOUTS[9])  # these do not contain the split pattern
_PARTING = b"\n--------\n"
_TEXTS = ("", "low lowest", " \u00e9\u6f22 12\n", "<|endoftext|>")


def one_input(data: bytes) -> None:
    """Read the files encoded in `data`; raise everything except tokenmill's errors."""
    layout = LAYOUTS[data[0] % len(LAYOUTS)] if data else LAYOUTS[0]
    parts = data[1:].split(_PARTING, len(layout) - 1)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        for file, content in zip(layout, parts, strict=False):
            (folder / file).write_bytes(content)
        try:
            vocabulary = formats.read(folder / layout[0], split="gpt2" if layout in NAMELESS else None)
        except TokenmillError as error:
            assert str(error), "an error without a message"
            return
        use(vocabulary, folder)


def use(vocabulary: Vocabulary, folder: Path) -> None:
    """Encode, decode and write with `vocabulary`. Each step must succeed or raise one of tokenmill's errors."""
    try:
        tokenizer = Tokenizer(vocabulary)
        ids = [tokenizer.encode(text, allowed_special="all") for text in _TEXTS]
    except TokenmillError:  # an invalid split pattern, a character without a token
        return
    for row in ids:
        tokenizer.decode_bytes(row)
    for form in formats.FORMATS:
        target = folder / f"out-{form}"
        try:
            formats.write(vocabulary, target, form)
        except ConversionError:
            continue
        again = Tokenizer(formats.read(target))
        assert [again.encode(text, allowed_special="all") for text in _TEXTS] == ids, form


def seeds() -> list[bytes]:
    """Small valid files of every layout."""
    tokens = [*(bytes([byte]) for byte in range(256)), b"lo", b"low", b" low", b"es", b"est"]
    rows = [(108, 111, 256), (256, 119, 257), (32, 257, 258), (101, 115, 259), (259, 116, 260)]
    special = AddedToken("<|endoftext|>", 261)
    plain = Vocabulary(
        tuple(tokens), (PATTERNS["gpt2"],), "merges", np.array(rows, np.int32), (special,), whole_pretokens=False
    )
    events = np.array([*rows[:2], (256, -1, -1), *rows[2:]], np.int32)
    moved = [*tokens[:256], *tokens[257:], None, b"lo"]
    picky_rows = np.where(events == 256, 261, np.where(events > 256, events - 1, events)).astype(np.int32)
    picky = dataclasses.replace(
        plain, tokens=tuple(moved), order="events", events=picky_rows, added_tokens=(AddedToken("<|endoftext|>", 260),)
    )
    found = []
    with tempfile.TemporaryDirectory() as name:
        for number, layout in enumerate(LAYOUTS):
            form = {"vocab.json": "merges", "vocab.ddtok": "ddtok"}.get(layout[0], "huggingface")
            target = Path(name) / str(number)
            if "tiktoken" in layout[0]:
                target.mkdir()
                formats.write(plain, target / "it.tiktoken", "tiktoken")
                if layout[0].endswith(".gz"):
                    import gzip

                    (target / layout[0]).write_bytes(gzip.compress((target / "it.tiktoken").read_bytes()))
            else:
                formats.write(picky if "events.txt" in layout else plain, target, form)
            beside = {
                "added_tokens.json": '{"<|endoftext|>": 261}',
                "tokenizer_config.json": '{"tokenizer_class": "GPT2Tokenizer"}',
            }
            for file in layout[1:]:
                if file in beside and not (target / file).exists():
                    (target / file).write_text(beside[file])
            found.append(bytes([number]) + _PARTING.join((target / file).read_bytes() for file in layout))
    return found


_WORDS = (
    b"-1", b"0", b"1e9", b"99999999999999999999", b"null", b"true", b"{}", b"[]", b'""', b'"a"', b"NaN", b"\xff", b"\x00", b"\n", b"\t", b" ",
    b'"', b"\\", b"#", b"=", b"\xc3\xa9", b"\xe6\xbc\xa2", b'"\\ud800"', b"Sequence", b"Removed", b"(?=", b"\\p{L}", b"+", b"[" * 50,
)  # fmt: skip


def mutated(chosen: random.Random, data: bytes) -> bytes:
    """`data` with a few changes that imitate damage."""
    data = bytearray(data)
    for _ in range(chosen.choice((1, 1, 1, 2, 3, 8))):
        at = chosen.randint(1, len(data))
        end = min(len(data), at + chosen.choice((0, 1, 1, 2, 5, 40)))
        kind = chosen.random()
        if kind < 0.3:
            data[at:end] = chosen.choice(_WORDS)
        elif kind < 0.5:
            data[at:end] = b""
        elif kind < 0.6:
            data[at:end] = chosen.randbytes(end - at)
        elif kind < 0.7:
            data[at:at] = data[at:end]
        elif kind < 0.8:
            start = chosen.randint(1, len(data))
            data[at:end] = data[start : start + chosen.randint(1, 60)]
        elif kind < 0.9:
            lines = data.split(b"\n")
            i, j = chosen.randrange(len(lines)), chosen.randrange(len(lines))
            lines[i] = lines[j]
            data = bytearray(b"\n".join(lines))
        else:
            del data[at:]
        if not data:
            data = bytearray(b"\0")
    return bytes(data)


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """Half of the time, mutate by words, lines and cuts, because random byte changes rarely leave valid JSON."""
    chosen = random.Random(seed)
    if chosen.random() < 0.5 and data:
        return mutated(chosen, data)[:most]
    return atheris.Mutate(data, most)


def run_random(count: int | None, seconds: float, seed: int) -> int:
    """Read valid files, then mutated ones, until `count` or `seconds` is reached; return the number of mutated files."""
    chosen = random.Random(seed)
    whole = seeds()
    for data in whole:
        one_input(data)
    end, done = time.monotonic() + seconds, 0
    while time.monotonic() < end and done != count:
        data = mutated(chosen, chosen.choice(whole))
        try:
            one_input(data)
        except BaseException:
            print(f"failed on {data!r}", file=sys.stderr)
            raise
        done += 1
    return done


def main() -> None:
    warnings.simplefilter("ignore")  # a split pattern that the scanner cannot run
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if atheris is None:
        print(f"{run_random(None, seconds, seed)} mutated files (atheris is not installed), no defect found")
        return
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(seeds()):
            (Path(folder) / f"seed-{number}").write_bytes(data)
        options = [f"-max_total_time={seconds:.0f}", f"-seed={seed}", "-max_len=20000", "-artifact_prefix=build/fuzz-"]
        atheris.Setup(
            [sys.argv[0], *options, "-verbosity=0", "-print_final_stats=1", folder], one_input, custom_mutator=mutate
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
