"""What the tests of token files share: a small corpus, a tokenizer, and readers written from the formats' descriptions."""

import itertools
import json
import random
import struct
from pathlib import Path

import numpy as np

import tokenmill

WORDS = "the of and to in low lower lowest new newest wide wider déjà 漢字 😀 def return \n \n\n 12 345 .".split(" ")


def text(seed: int, size: int) -> str:
    chosen = random.Random(seed)
    return " ".join(chosen.choice(WORDS) for _ in range(size))


def tokenizer(specials=("<|endoftext|>",)) -> tokenmill.Tokenizer:
    return tokenmill.train_from_iterator([text(0, 4000)], 320, special_tokens=list(specials))


def wide_tokenizer(n_vocab: int) -> tokenmill.Tokenizer:
    """A tokenizer of exactly so many ids: the bytes and two-byte tokens, and at the end a special token."""
    pairs = [bytes([a, b]) for a in range(256) for b in range(256)]
    tokens = [*(bytes([a]) for a in range(256)), *pairs, *(b"abc" + bytes([a]) for a in range(256))][: n_vocab - 1]
    end = tokenmill.AddedToken("<|endoftext|>", n_vocab - 1)
    return tokenmill.Tokenizer(tokenmill.Vocabulary(tuple(tokens), (r"[\s\S]{2}|[\s\S]",), added_tokens=(end,)))


def corpus(folder: Path) -> tuple[list[Path], list[str]]:
    """Sources of three kinds, and their documents in order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    documents = [text(1, 3000)]
    (folder / "a.txt").write_bytes(documents[0].encode())
    (folder / "b.txt").write_bytes(b"")
    lines = [text(seed, seed % 50) for seed in range(2, 400)]
    (folder / "c.jsonl").write_text(
        "\n".join(json.dumps({"text": line, "id": f"c{n}"}) for n, line in enumerate(lines))
    )
    rows = [text(seed, 30) for seed in range(500, 900)]
    pq.write_table(
        pa.table({"text": rows, "id": [str(n) for n in range(400)]}), folder / "d.parquet", row_group_size=90
    )
    (folder / "e.txt").write_text("the end <|endoftext|> is spelt here")
    paths = [folder / name for name in ("a.txt", "b.txt", "c.jsonl", "d.parquet", "e.txt")]
    return paths, [*documents, "", *lines, *rows, "the end <|endoftext|> is spelt here"]


def expected_ids(tok: tokenmill.Tokenizer, documents: list[str], end: int | None) -> list[int]:
    ids: list[int] = []
    for document in documents:
        ids += tok.encode_ordinary(document) + ([] if end is None else [end])
    return ids


def read_megatron(prefix: Path) -> list[list[int]]:
    """The documents of an indexed dataset, read field by field as its format is described."""
    data = prefix.with_suffix(".idx").read_bytes()
    assert data[:9] == b"MMIDIDX\x00\x00"
    (version,) = struct.unpack_from("<Q", data, 9)
    (code,) = struct.unpack_from("<B", data, 17)
    sequences, boundaries = struct.unpack_from("<QQ", data, 18)
    assert version == 1
    letter, width = {8: ("H", 2), 4: ("i", 4)}[code]
    at = 34
    lengths = struct.unpack_from(f"<{sequences}i", data, at)
    at += 4 * sequences
    pointers = struct.unpack_from(f"<{sequences}q", data, at)
    at += 8 * sequences
    documents = struct.unpack_from(f"<{boundaries}q", data, at)
    assert at + 8 * boundaries == len(data)
    ids = prefix.with_suffix(".bin").read_bytes()
    assert sum(lengths) * width == len(ids)
    rows = [list(struct.unpack_from(f"<{n}{letter}", ids, place)) for n, place in zip(lengths, pointers, strict=True)]
    return [[id for row in rows[a:b] for id in row] for a, b in itertools.pairwise(documents)]


def stream_of(path: Path, dtype: str) -> list[int]:
    return np.fromfile(path, dtype).tolist()
