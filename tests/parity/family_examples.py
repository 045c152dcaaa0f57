"""Published tokenizer files of every family, each with its own engine and the texts that both encode.

    python tests/parity/family_examples.py FILE...      a row for each file: texts, differences

The engine of a tokenizer.json is tokenizers, that of a .model is sentencepiece, that of a tekken.json mistral_common. Those
of a .gguf are the cases of llama.cpp beside it.
"""

import base64
import itertools
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import zstandard

import tokenmill
from tokenmill.errors import TokenmillError

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1")) > 1
_RUN = 100_000 if SWEEP else 2_000
NASTY = (
    "", " ", "  ", "   ", "\n", "\r\n", "\t", " \n \r\n\t \n", " a", "a ", "  a  b   c    d", "a\n\nb\n\n\nc", "\r\r\n\n\r",
    "Hello world", " Hello", "Hello, y'all! How're you 😁 ?", "don't DON'T I'LL we'Ve", "x\u00a0y\u3000z\u2009w",
    "▁", "▁▁", " ▁ ", "▁a▁▁b", "a ▁b", "e\u0301 n\u0303 \u212b \ufb01 \u1e9b\u0323", "각 \u1100\u1161\u11a8 한국어 문장",
    "ภาษาไทยไม่มีช่องว่าง ำ", "हिन्दी क्षत्रिय", "漢字とカタカナ、ひらがな。", "שלום עולם مرحبا بالعالم", "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽", "\x00", "a\x00b",
    "\ufeffbom", "a\u200bb\u200dc", "\x01\x1b[0m\x7f\x80\x9f", "\u2028\u2029\u0085", "\ue000\U000f0000\U0010ffff", "𝕬𝖇 𝟙𝟚 ½ ² Ⅷ",
    "0 12 345 6789 01234567890 1,000.5", "foo_bar fooBar FooBAR", "if(a!=b){return!c;}\n\t\tx++", "https://e.org/a?b=c&d=%20#f",
    "<0x41> <0xE2><0x96>", "<unk> <s> </s> <pad> [INST] <|endoftext|>", "Ġthe Ċ ĉ ÄĀ", "İıſK ǅ ẞß", "\u0378\u0530\u1c8a",
    "a" * _RUN, " " * _RUN, "\n" * _RUN, "ab" * (_RUN // 2), "漢" * (_RUN // 4), "▁" * 300, "\u0301" * 300, "😀" * 300, "\ufffd\ufffe",
)  # fmt: skip
_PARTS = (
    " ", "  ", "\n", "\r\n", "\t", "\u00a0", "a", "b", "the", "The", "ing", "é", "e\u0301", "ß", "漢", "字", "ア", "한", "я", "ש",
    "م", "ह", "ไ", "👍", "\u200d", "\u0301", "\x00", "\ufeff", "▁", "0", "7", "123", ".", ",", "!", "'", "'s", '"', "<", ">", "[", "]",
    "|", "_", "-", "/", "#", "\u2028", "\U00010400", "\u0378", "\ue000",
)  # fmt: skip


class Engine(NamedTuple):
    """The engine of a file: its name, its ids of a text, the text of ids, and whether it finds special tokens in text."""

    name: str
    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], str] | None
    specials: bool = True


def content_of(path: Path) -> bytes:
    data = path.read_bytes()
    return zstandard.ZstdDecompressor().decompressobj().decompress(data) if path.suffix == ".zst" else data


def engine_of(path: Path, data: bytes) -> Engine | None:
    """The engine that reads this content; None where there is none here."""
    if data.lstrip().startswith(b"{") and b'"model"' in data:
        import tokenizers

        theirs = tokenizers.Tokenizer.from_str(data.decode())
        return Engine(
            "tokenizers",
            lambda text: theirs.encode(text, add_special_tokens=False).ids,
            lambda ids: theirs.decode(ids, skip_special_tokens=False),
        )
    if path.name.removesuffix(".zst").endswith("sentencepiece.model"):
        import sentencepiece

        model = sentencepiece.SentencePieceProcessor(model_proto=data)
        return Engine("sentencepiece", model.encode, model.decode, specials=False)
    if data.lstrip().startswith(b"{") and (b'"bpe_ranks"' in data or b'"token_bytes"' in data):
        return _ranks_engine(json.loads(data))
    return None


def _ranks_engine(file: dict) -> Engine:
    """tiktoken, as mistral_common and the npm package tiktoken use it; the ids of mistral_common follow the special ones."""
    import tiktoken

    if "bpe_ranks" in file:
        lines = [line.split(" ") for line in file["bpe_ranks"].split("\n") if line]
        texts = {int(line[1]) + n: text for line in lines for n, text in enumerate(line[2:])}
    else:
        texts = {item["rank"]: item["token_bytes"] for item in file["vocab"]}
    first = file["config"]["default_num_special_tokens"] if "config" in file else 0
    count = file["config"]["default_vocab_size"] - first if "config" in file else len(texts)
    ranks = {base64.b64decode(text): rank for rank, text in texts.items() if rank < count}
    pattern = file["config"]["pattern"] if "config" in file else file["pat_str"]
    theirs = tiktoken.Encoding("file", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return Engine("tiktoken", lambda text: [first + id for id in theirs.encode_ordinary(text)], None, specials=False)


def random_texts(added: list[str], count: int, seed: int = 0) -> Iterator[str]:
    """Random Unicode with the file's own added tokens, and parts of them, in it."""
    rng = random.Random(seed)
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(1, 12)):
            kind = rng.random()
            if kind < 0.2 and added:
                token = rng.choice(added)
                parts.append(token if rng.random() < 0.7 else token[: rng.randint(0, len(token))])
            elif kind < 0.3:
                point = rng.choice([rng.randrange(0x80), rng.randrange(0x3000), rng.randrange(0x110000)])
                parts.append(chr(point) if not 0xD800 <= point < 0xE000 else "")
            else:
                parts.append(rng.choice(_PARTS))
        yield "".join(parts)


def corpus_slices(folder: Path) -> Iterator[str]:
    """A slice of each of the shared corpora."""
    size = 200_000 if SWEEP else 20_000
    for name in ("en", "multi", "code"):
        for path in sorted(folder.glob(f"*{name}*"))[:1]:
            if path.suffix in (".txt", ".zst", ".gz"):
                data = content_of(path) if path.suffix != ".txt" else path.read_bytes()
                yield data[: 3 * size][size : 2 * size].decode("utf-8", "ignore")


def texts_for(tok: tokenmill.Tokenizer, slices: list[str], decodes: bool = True) -> Iterator[str]:
    added = [token.content for token in tok.vocabulary.added_tokens]
    yield from slices
    yield from NASTY
    yield from added[:: max(1, len(added) // 60)]
    yield from random_texts(added, 2_000 if SWEEP else 150)


def differences(tok: tokenmill.Tokenizer, engine: Engine, texts: list[str]) -> list[str]:
    """What differs, in words."""
    found = []
    for text in texts:
        try:
            ids = tok.encode(text, allowed_special="all") if engine.specials else tok.encode_ordinary(text)
        except TokenmillError as error:
            found.append(f"encode {text[:60]!r}: {error}")
            continue
        expected = engine.encode(text)
        if ids != expected:
            at = next(
                (i for i, (a, b) in enumerate(zip(ids, expected, strict=False)) if a != b), min(len(ids), len(expected))
            )
            found.append(f"encode {text[:60]!r} at {at}: {ids[at : at + 6]}, {engine.name} {expected[at : at + 6]}")
        elif engine.decode is not None and tok.decode(ids) != engine.decode(ids):
            found.append(f"decode {text[:60]!r}: {tok.decode(ids)[:60]!r}, {engine.name} {engine.decode(ids)[:60]!r}")
    if engine.decode is not None:
        rng = random.Random(1)
        left_out = set() if engine.specials else {*tok.vocabulary.special_tokens.values()}
        known = [id for id, token in enumerate(tok._core.tokens) if token is not None and id not in left_out]
        for _ in range(200 if SWEEP else 30):
            ids = rng.choices(known, k=rng.randint(1, 12))
            if tok.decode(ids) != engine.decode(ids):
                found.append(f"decode {ids}: {tok.decode(ids)!r}, {engine.name} {engine.decode(ids)!r}")
    return found


def code_point_differences(tok: tokenmill.Tokenizer, engine: Engine) -> list[str]:
    """What differs on every code point in three contexts: alone, between Latin letters, and after a Han character before a space."""
    found = []
    for point in itertools.chain(range(0xD800), range(0xE000, 0x110000)):
        for text in (chr(point), f"a{chr(point)}b", f"漢{chr(point)} "):
            try:
                ids = tok.encode_ordinary(text)
            except TokenmillError as error:
                found.append(f"encode {text!r}: {error}")
                continue
            if ids != (expected := engine.encode(text)):
                found.append(f"encode {text!r}: {ids}, {engine.name} {expected}")
    return found


def llama_cpp_cases(path: Path) -> list[tuple[str, list[int]]]:
    """The texts and ids in the .inp and .out files beside a .gguf file."""
    base = path.with_name(path.name.removesuffix(".zst"))
    texts = base.with_name(base.name + ".inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    rows = base.with_name(base.name + ".out").read_text().split("\n")
    return [(text, list(map(int, row.split()))) for text, row in zip(texts, rows, strict=False)]


def main(paths: list[str]) -> None:
    folder = Path(os.environ.get("TOKENMILL_CORPUS", Path(__file__).resolve().parents[3] / "shared" / "corpus"))
    slices = list(corpus_slices(folder))
    for path in map(Path, paths):
        try:
            options = {"split": "cl100k"} if path.name.endswith((".tiktoken", ".tiktoken.zst")) else {}
            tok = tokenmill.load(path, **options)
        except TokenmillError as error:
            print(f"{path.name} | refused | {error}")
            continue
        if ".gguf" in path.name:
            cases = [(text, ids) for text, ids in llama_cpp_cases(path)]
            wrong = [f"{text!r}: {tok.encode(text, allowed_special='all')}, {ids}" for text, ids in cases
                     if tok.encode(text, allowed_special="all") != ids]  # fmt: skip
            print(f"{path.name} | llama.cpp | {len(cases)} texts | {len(wrong)} differences")
        else:
            engine = engine_of(path, content_of(path))
            if engine is None:
                print(f"{path.name} | no engine here")
                continue
            texts = list(texts_for(tok, slices))
            wrong = differences(tok, engine, texts)
            print(f"{path.name} | {engine.name} | {len(texts)} texts | {len(wrong)} differences")
        for line in wrong[:8]:
            print("   ", line)


if __name__ == "__main__":
    main(sys.argv[1:])
