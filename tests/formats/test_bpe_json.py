"""The kernel's reader of tokenizer.json gives the vocabulary that the slow one gives, or leaves the file to it."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
import zstandard

from naive_tables import naive_tables, naive_vocabulary
from tokenmill.errors import FormatError
from tokenmill.formats import huggingface, merges_txt
from tokenmill.formats._bpe_json_cy import read_model
from tokenmill.formats.byte_alphabet import CHARACTERS
from tokenmill.vocabulary.vocabulary import FIELDS

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": False}
LETTERS = ["a", "b", "Ġ", "é", "ÿ", "\u2581", " ", "漢", "\U0001f600", '"', "\\", "\n", "\x7f", "<0x41>", "/"]


def slowly(data: bytes, monkeypatch, naive: bool = False):
    with monkeypatch.context() as patched:
        patched.setattr(huggingface, "read_model", lambda data: None)
        if naive:
            patched.setattr(merges_txt, "listed_tables", naive_tables)
            patched.setattr(merges_txt, "merged_vocabulary", naive_vocabulary)
        return outcome(data)


def outcome(data: bytes):
    try:
        return huggingface.parse_tokenizer_json(data, "some.json")
    except FormatError as error:
        return str(error)


def assert_same(data: bytes, monkeypatch) -> bool:
    """Whether the kernel read it; what it read is what the slow reader reads, and what the slow twin makes of that."""
    found, slow, expected = outcome(data), slowly(data, monkeypatch), slowly(data, monkeypatch, naive=True)
    if isinstance(expected, str):
        assert isinstance(slow, str) and found == slow
        return False
    for vocabulary in (found, slow):
        for name in set(FIELDS) - {"library"}:  # the fingerprint has its hash
            ours, theirs = getattr(vocabulary, name), getattr(expected, name)
            assert np.array_equal(ours, theirs) if isinstance(theirs, np.ndarray) else ours == theirs, name
        assert vocabulary.n_vocab == expected.n_vocab
        assert vocabulary.fingerprint() == expected.fingerprint()
    return read_model(data) is not None


def random_file(rng: Random) -> dict:
    """A small tokenizer.json, some with one thing wrong."""
    byte_level = rng.random() < 0.5
    texts = list(CHARACTERS if byte_level else LETTERS)
    if not byte_level and rng.random() < 0.5:
        texts += [f"<0x{byte:02X}>" for byte in range(256) if f"<0x{byte:02X}>" not in texts]
    merges = []
    for _ in range(rng.randrange(12)):
        parts = [text for text in texts if " " not in text and not text.startswith("<")]
        left, right = rng.choice(parts), rng.choice(parts)
        merges.append([left, right])
        texts.append(left + right)
    texts += rng.sample(["<s>", "xyz", "", "漢字", "a b", "<unk>"], 3)
    texts = list(dict.fromkeys(texts))
    ids = list(range(len(texts)))
    if rng.random() < 0.3:
        rng.shuffle(ids)
    if rng.random() < 0.2:
        ids = [2 * id for id in ids]
    vocab = dict(zip(texts, ids, strict=True))
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [
        {"id": vocab[text], "content": text, **flags} for text in ("<s>", "xyz", "<0x41>", "漢字") if text in vocab
    ]
    model = {"type": "BPE", "vocab": vocab, "merges": merges if rng.random() < 0.5 else [" ".join(m) for m in merges]}
    model |= {"unk_token": rng.choice([None, "<unk>"]), "byte_fallback": rng.random() < 0.7}
    wrong = rng.random()
    if wrong < 0.1 and merges:
        model["merges"] += rng.choice([[model["merges"][0]], [["a", "nowhere"]], ["a  b"], ["ab"], [["a", ""]], [3]])
    elif wrong < 0.2:
        model["vocab"] = vocab | {"new": rng.choice([-1, 1 << 22, 1.0, "1", None, 0])}
    splitting = {"pre_tokenizer": BYTE_LEVEL, "decoder": BYTE_LEVEL} if byte_level else {"pre_tokenizer": METASPACE}
    items = list({"added_tokens": added, **splitting, "model": model}.items())
    if rng.random() < 0.3:
        model["vocab"] = model.pop("vocab")  # behind the merges
    return dict(items[::-1] if rng.random() < 0.5 else items)


def test_random_files_are_read_as_the_slow_reader_reads_them(monkeypatch):
    read = 0
    for seed in range(600):
        rng = Random(seed)
        data = json.dumps(random_file(rng), ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1])).encode()
        if rng.random() < 0.1:
            place = rng.randrange(len(data))
            data = (
                data[:place]
                + rng.choice([b"", b"\xff", b'"', b"\\", b"\\ud800", b"]", b"\x01", b","])
                + data[place + 1 :]
            )
        read += assert_same(data, monkeypatch)
    assert read > 250


def test_half_a_file_is_left_to_the_slow_reader():
    data = json.dumps(random_file(Random(3))).encode()
    for size in range(0, len(data), 7):
        assert read_model(data[:size]) is None


@pytest.mark.parametrize(
    "name", ["llama3.1", "gemma2", "command-r-plus", "whisper-tiny", "llama2", "mistral-v3", "phi3", "deepseek-v3"]
)
def test_published_files_are_read_by_the_kernel(shared, name):
    """The slow reader is for unusual files only."""
    path: Path = shared / "vocab" / f"{name}-tokenizer.json.zst"
    data = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    assert read_model(data) is not None
    assert huggingface.parse_tokenizer_json(data, path.name).library is None
