"""Fuzz the loaders: every file must give a vocabulary or one of tokenmill's errors.

    python fuzz/loaders.py SECONDS [SEED [LAYOUT]]

LAYOUT: the beginning of a name in LAYOUTS, such as gguf; all of them without it. With atheris installed, coverage guides the
fuzzing; otherwise whole files are changed at random. An error names the file and no internals, and takes neither seconds nor
hundreds of megabytes. A vocabulary that was read must also work: it encodes and decodes, every format that can hold it
writes it, and it reads back to the same ids.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import json
import os
import random
import re
import resource
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")  # which makes all slower and larger
atheris = None
if __name__ == "__main__" and not _SANITIZED:  # a test imports this file for run_random
    with contextlib.suppress(ImportError):
        import atheris

with atheris.instrument_imports(include=["tokenmill.formats"]) if atheris else contextlib.nullcontext():
    from tokenmill import formats

import numpy as np

from tokenmill.errors import ConversionError, TokenmillError, UsageError
from tokenmill.split.patterns import PATTERNS
from tokenmill.tokenizer import Tokenizer
from tokenmill.vocabulary import AddedToken, Vocabulary

# The first byte of an input selects one of these sets of files; _PARTING separates the files in the rest.
LAYOUTS = {
    "huggingface": ("tokenizer.json",),
    "huggingface-companion": ("tokenizer.json", "tokenmill.json"),
    "huggingface-config": ("tokenizer.json", "tokenizer_config.json"),
    "huggingface-events": ("tokenizer.json", "tokenmill.json", "events.txt"),
    "huggingface-characters": ("tokenizer.json",),
    "huggingface-wordpiece": ("tokenizer.json",),
    "huggingface-unigram": ("tokenizer.json",),
    "huggingface-wordlevel": ("tokenizer.json",),
    "tiktoken": ("it.tiktoken",),
    "tiktoken-companion": ("it.tiktoken", "it.tiktoken.json"),
    "tiktoken-gzip": ("it.tiktoken.gz",),
    "merges": ("vocab.json", "merges.txt"),
    "merges-added": ("vocab.json", "merges.txt", "added_tokens.json"),
    "merges-config": ("vocab.json", "merges.txt", "tokenizer_config.json"),
    "ddtok": ("vocab.ddtok", "merges.ddtok"),
    "tekken": ("tekken.json",),
    "ranks": ("ranks.json",),
    "sentencepiece-bpe": ("tokenizer.model",),
    "sentencepiece-unigram": ("tokenizer.model",),
    "gguf-gpt2": ("it.gguf",),
    "gguf-gemma4": ("it.gguf",),
    "gguf-llama": ("it.gguf",),
}  # fmt: skip
_NAMES = tuple(LAYOUTS)
_NAMELESS = ("tiktoken", "tiktoken-gzip", "merges", "merges-added")  # these do not contain the split pattern
_PARTING = b"\n--------\n"
_TEXTS = ("", "low lowest", " \u00e9\u6f22 12\n", "<|endoftext|>")
_INTERNALS = re.compile(r"NoneType|object at 0x|Traceback|<class |\w\(\w+=|\w+Error\b|struct|unpack|codec can|numpy")
_SECONDS, _KILOBYTES = 5, 500_000


def one_input(data: bytes) -> None:
    """Read the files encoded in `data`; raise everything except tokenmill's errors."""
    layout = _NAMES[data[0] % len(LAYOUTS)] if data else _NAMES[0]
    files = LAYOUTS[layout]
    parts = data[1:].split(_PARTING, len(files) - 1)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        for file, content in zip(files, parts, strict=False):
            (folder / file).write_bytes(content)
        seconds, most = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            vocabulary = formats.read(folder / files[0], split="gpt2" if layout in _NAMELESS else None)
            use(vocabulary, folder)
        except TokenmillError as error:
            message = str(error)
            assert message.startswith(name), f"the message does not begin with the path: {message}"
            assert not (internal := _INTERNALS.search(message)), f"{internal[0]!r} in the message: {message}"
        if not _SANITIZED:
            assert time.process_time() - seconds < _SECONDS, "it takes too long"
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < _KILOBYTES, "it takes too much memory"


def use(vocabulary: Vocabulary, folder: Path) -> None:
    """Encode, decode and write with `vocabulary`. Each step must succeed or raise one of tokenmill's errors."""
    try:
        tokenizer = Tokenizer(vocabulary)
        ids = [tokenizer.encode(text, allowed_special="all") for text in _TEXTS]
    except TokenmillError:  # an invalid split pattern, a character without a token
        return
    for row in ids:
        try:
            tokenizer.decode_bytes(row)
        except UsageError:  # a panic in the library that decodes
            assert vocabulary.library is not None
    for form in formats.FORMATS:
        target = folder / f"out-{form}"
        try:
            formats.write(vocabulary, target, form, tokenizer=Tokenizer)  # as Tokenizer.save
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
    picky = plain.replace(
        tokens=tuple(moved), order="events", events=picky_rows, added_tokens=(AddedToken("<|endoftext|>", 260),)
    )
    with tempfile.TemporaryDirectory() as name:
        for form in ("merges", "ddtok", "huggingface"):
            formats.write(plain, Path(name) / form, form)
        formats.write(plain, Path(name) / "it.tiktoken", "tiktoken")
        formats.write(picky, Path(name) / "events", "huggingface")
        read = {
            path.relative_to(name).as_posix(): path.read_bytes() for path in Path(name).rglob("*") if path.is_file()
        }
    read["merges/added_tokens.json"] = b'{"<|endoftext|>": 261}'
    read["merges/tokenizer_config.json"] = (
        b'{"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": {"261": {"content": "<|endoftext|>"}}}'
    )
    read["it.tiktoken.gz"] = gzip.compress(read["it.tiktoken"])
    folders = {"huggingface": "huggingface/", "huggingface-events": "events/", "merges": "merges/", "ddtok": "ddtok/"}

    def content(layout: str, file: str) -> bytes:
        if layout in OTHER_FILES:
            return OTHER_FILES[layout]()
        return read[folders.get(layout, folders.get(layout.split("-")[0], "")) + file]

    return [
        bytes([number]) + _PARTING.join(content(layout, file) for file in files)
        for number, (layout, files) in enumerate(LAYOUTS.items())
    ]


def valid_inputs(layout: str) -> list[bytes]:
    """The seeds whose layout begins with `layout`."""
    return [data for name, data in zip(LAYOUTS, seeds(), strict=True) if name.startswith(layout)]


def _json(value: Any) -> Callable[[], bytes]:
    return lambda: json.dumps(value).encode()


def _hugging_face(model: dict[str, Any], **sections: Any) -> Callable[[], bytes]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [{"id": 0, "content": "<unk>", **flags}]
    return _json(
        {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, **sections, "model": model}
    )


_MARK = "\u2581"
_PIECES = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *_MARK, *"lowest12", "lo", "low", f"{_MARK}low", "es", "est", "<user>"]  # fmt: skip
_SCORES = [*[0.0] * 259, *[-20.0] * 9, -1.0, -2.0, -3.0, -4.0, -5.0, 0.0]
_KINDS = [2, 3, 3, *[6] * 256, *[1] * 14, 4]
_PLAIN_PIECES = [text for text, kind in zip(_PIECES, _KINDS, strict=True) if kind == 1]
_REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": _MARK}
_DECODERS = [{"type": "Replace", "pattern": {"String": _MARK}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]  # fmt: skip
_PAIRS = [["l", "o"], ["lo", "w"], [_MARK, "low"], ["e", "s"], ["es", "t"]]
_CHARMAP = struct.pack("<I", 1024) + bytes(1024) + b"a\0"
GGUF_VALUES: dict[str, dict[str, Any]] = {
    "gguf-gpt2": {"model": "gpt2", "pre": "gpt-2", "tokens": [*"lowest\u012012", "lo", "low", "es", "est", "<|endoftext|>"],
                  "token_type": [*[1] * 13, 3], "merges": ["l o", "lo w", "e s", "es t"]},
    "gguf-gemma4": {"model": "gemma4", "pre": "gemma4", "tokens": _PIECES, "token_type": _KINDS, "scores": _SCORES,
                    "merges": [" ".join(pair) for pair in _PAIRS], "unknown_token_id": 0},
    "gguf-llama": {"model": "llama", "pre": "default", "tokens": _PIECES, "token_type": _KINDS, "scores": _SCORES,
                   "add_space_prefix": True, "unknown_token_id": 0},
}  # fmt: skip


def gguf(values: dict[str, Any]) -> bytes:
    """A GGUF file whose metadata are `values`, without the common prefix of their names."""
    items = [_gguf_text(f"tokenizer.ggml.{key}") + _gguf_value(value) for key, value in values.items()]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(items)) + b"".join(items)


def _gguf_text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(data)) + data


def _gguf_value(value: Any) -> bytes:
    """The type of a value, and the value. A list has the type of its first; others in it are put in its form, or left out."""
    if isinstance(value, list):
        items = [_gguf_value(item) for item in value]
        kind = items[0][:4] if items else struct.pack("<I", 5)
        items = [item[4:] for item in items if item[:4] == kind]
        return struct.pack("<I", 9) + kind + struct.pack("<Q", len(items)) + b"".join(items)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _gguf_text(value)
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, float("inf") if abs(value) >= 1e38 else value)
    if not isinstance(value, int):
        return struct.pack("<Ii", 5, -1)
    return struct.pack("<Ii", 5, value) if -(2**31) <= value < 2**31 else struct.pack("<IQ", 10, value % 2**64)


def _sentencepiece(algorithm: int, scores: Sequence[float] = _SCORES) -> bytes:
    from sentencepiece import sentencepiece_model_pb2 as messages

    model = messages.ModelProto()
    for text, score, kind in zip(_PIECES, scores, _KINDS, strict=True):
        model.pieces.add(piece=text, score=score, type=kind)
    model.trainer_spec.model_type, model.trainer_spec.byte_fallback = algorithm, True
    model.normalizer_spec.precompiled_charsmap = _CHARMAP * (algorithm == 2)
    return model.SerializeToString()


def _ranks() -> dict[str, Any]:
    from base64 import b64encode

    tokens = [b64encode(token).decode() for token in (*(bytes([byte]) for byte in range(256)), b"lo", b"low", b"es")]
    return {"tokens": tokens, "lines": "! 0 " + " ".join(tokens)}


_UNKNOWN = {"unk_token": "<unk>"}
_METASPACE = {"type": "Metaspace", "replacement": _MARK, "prepend_scheme": "always", "split": True}
_TABLE = {text: id for id, text in enumerate(["<unk>", *_PLAIN_PIECES])}
OTHER_FILES: dict[str, Callable[[], bytes]] = {
    "huggingface-characters": _hugging_face(
        {"type": "BPE", **_UNKNOWN, "fuse_unk": True, "byte_fallback": True, "merges": _PAIRS,
         "vocab": {text: id for id, text in enumerate(_PIECES)}},
        normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": _MARK}, _REPLACE]},
        decoder={"type": "Sequence", "decoders": _DECODERS},
    ),
    "huggingface-wordpiece": _hugging_face(
        {"type": "WordPiece", **_UNKNOWN, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
         "vocab": _TABLE | {"##w": 20, "##est": 21}},
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                    "lowercase": True},
        pre_tokenizer={"type": "BertPreTokenizer"}, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        post_processor={"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<unk>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                        "pair": [], "special_tokens": {"<unk>": {"id": "<unk>", "ids": [0], "tokens": ["<unk>"]}}},
    ),
    "huggingface-unigram": _hugging_face(
        {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [[text, -1.0 - id] for text, id in _TABLE.items()]},
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Strip", "strip_left": True, "strip_right": False}]},
        pre_tokenizer=_METASPACE, decoder=_METASPACE,
    ),
    "huggingface-wordlevel": _hugging_face(
        {"type": "WordLevel", **_UNKNOWN, "vocab": _TABLE}, pre_tokenizer={"type": "Whitespace"}
    ),
    "tekken": lambda: json.dumps({
        "config": {"pattern": PATTERNS["tekken"], "num_vocab_tokens": 259, "default_vocab_size": 262,
                   "default_num_special_tokens": 3, "version": "v3"},
        "vocab": [{"rank": rank, "token_bytes": token, "token_str": None} for rank, token in enumerate(_ranks()["tokens"])],
        "special_tokens": [{"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(("<unk>", "<s>", "</s>"))],
    }).encode(),
    "ranks": lambda: json.dumps({
        "pat_str": PATTERNS["gpt2"], "special_tokens": {"<|endoftext|>": 259}, "bpe_ranks": _ranks()["lines"],
    }).encode(),
    "sentencepiece-bpe": lambda: _sentencepiece(2),
    "sentencepiece-unigram": lambda: _sentencepiece(1),
    **{name: (lambda values=values: gguf(values)) for name, values in GGUF_VALUES.items()},
}  # fmt: skip
_NESTED: Any = json.loads("[" * 200 + "]" * 200)
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 1 << 24, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 63, 10**30, 0.5, 1e30, -1e308, float("nan"), float("inf"),
    "", "a", " ", "\ud800", "\0", _MARK, "low", "<unk>", "a" * 3000, "(", r"\w+", "(a+)+$", r"\p{L}{1,60000}", "Sequence", "Replace",
    [], {}, [[]], [None], [1], ["a"], [["a", "b"]], [0.5, 1.5], [-1], {"a": 1}, {"a": None}, {"type": "Sequence"}, {"String": "a"},
    {"Regex": "("}, _NESTED,
)  # fmt: skip


def any_change(chosen: random.Random, root: Any) -> Any:
    """`root`, a tree of JSON values, with a value replaced, removed, or put elsewhere."""
    root = copy.deepcopy(root)
    for _ in range(chosen.choice((1, 1, 1, 2, 4))):
        spots: list[tuple[Any, Any]] = []  # one path, so that a long list counts for no more than a value
        node = root
        while isinstance(node, dict | list) and node:
            key = chosen.choice([*node]) if isinstance(node, dict) else chosen.randrange(len(node))
            spots.append((node, key))
            node = node[key]
        if not spots:
            return chosen.choice(_VALUES)
        holder, key = chosen.choice(spots)
        kind = chosen.random()
        if kind < 0.7:
            holder[key] = copy.deepcopy(chosen.choice(_VALUES))
        elif kind < 0.8:
            del holder[key]
        elif kind < 0.9:
            other, name = chosen.choice(spots)
            holder[key] = copy.deepcopy(other[name])
        elif isinstance(holder, dict):
            holder[chosen.choice(("a", "", "\ud800", "type", "<unk>"))] = holder.pop(key)
        else:
            holder.insert(key, holder[key])
    return root


def _changed_file(chosen: random.Random, layout: str, data: bytes) -> bytes:
    """`data` with a change in its structure: of JSON, of metadata, of a protobuf message."""
    if layout in GGUF_VALUES:
        return gguf(values) if isinstance(values := any_change(chosen, GGUF_VALUES[layout]), dict) else b"GGUF"
    if data.startswith(b"{"):
        with contextlib.suppress(ValueError, RecursionError):
            return json.dumps(any_change(chosen, json.loads(data)), ensure_ascii=chosen.random() < 0.5).encode("utf-8", "surrogatepass")  # fmt: skip
    if layout.startswith("sentencepiece"):
        from google.protobuf.message import DecodeError
        from sentencepiece import sentencepiece_model_pb2 as messages

        try:
            model = messages.ModelProto.FromString(data)
        except DecodeError:  # of an earlier change
            return data
        for _ in range(chosen.choice((1, 1, 3))):
            holders = [
                chosen.choice((model.trainer_spec, model.normalizer_spec)),
                *chosen.sample(model.pieces, len(model.pieces) > 0),
            ]
            holder, field = chosen.choice([(holder, field) for holder in holders for field in holder.DESCRIPTOR.fields])
            for _ in range(9):
                value = chosen.choice((*_VALUES, chosen.randbytes(9), chosen.randint(0, 6)))
                with contextlib.suppress(TypeError, ValueError, AttributeError, OverflowError):  # not all fit
                    setattr(holder, field.name, value)
                    break
        return model.SerializeToString()
    return data


_WORDS = (
    b"-1", b"0", b"1e9", b"99999999999999999999", b"null", b"true", b"{}", b"[]", b'""', b'"a"', b"NaN", b"\xff", b"\x00", b"\n", b"\t", b" ",
    b'"', b"\\", b"#", b"=", b"\xc3\xa9", b"\xe6\xbc\xa2", b'"\\ud800"', b"Sequence", b"Removed", b"(?=", b"\\p{L}", b"+", b"[" * 50,
)  # fmt: skip


def mutated(chosen: random.Random, data: bytes) -> bytes:
    """`data` with a few changes that imitate damage, half of the time in the structure of a file."""
    if chosen.random() < 0.5:
        layout = _NAMES[data[0] % len(_NAMES)]
        parts = data[1:].split(_PARTING, len(LAYOUTS[layout]) - 1)
        n = chosen.randrange(len(parts))
        parts[n] = _changed_file(chosen, layout, parts[n])
        if chosen.random() < 0.9:
            return data[:1] + _PARTING.join(parts)
        data = data[:1] + _PARTING.join(parts)
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
            data[at:end] = chosen.choice((chosen.randbytes(end - at), b"\xff" * (end - at)))
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


def run_random(count: int | None, seconds: float, seed: int, layout: str = "") -> int:
    """Read valid files, then mutated ones, until `count` or `seconds` is reached; return the number of mutated files."""
    chosen = random.Random(seed)
    whole = valid_inputs(layout)
    for data in whole:
        one_input(data)
    end, done = time.monotonic() + seconds, 0
    while time.monotonic() < end and done != count:
        data = mutated(chosen, chosen.choice(whole))
        try:
            one_input(data)
        except BaseException:
            with tempfile.NamedTemporaryFile(prefix="tokenmill-fuzz-", delete=False) as file:
                file.write(data)
            print(f"failed on {file.name}", file=sys.stderr)
            raise
        done += 1
    return done


def main() -> None:
    warnings.simplefilter("ignore")  # a split pattern that the scanner cannot run
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    layout = sys.argv[3] if len(sys.argv) > 3 else ""
    if atheris is None:
        print(f"{run_random(None, seconds, seed, layout)} mutated files (atheris is not installed), no defect found")
        return
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(valid_inputs(layout)):
            (Path(folder) / f"seed-{number}").write_bytes(data)
        options = [f"-max_total_time={seconds:.0f}", f"-seed={seed}", "-max_len=20000", "-artifact_prefix=build/fuzz-"]
        options.append(
            "-rss_limit_mb=0"
        )  # one_input measures; the peak of this process may be that of the one that started it
        atheris.Setup(
            [sys.argv[0], *options, "-verbosity=0", "-print_final_stats=1", folder], one_input, custom_mutator=mutate
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
