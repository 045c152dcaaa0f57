"""The libraries that `benchmarks.encode` compares, each with its fastest calls for one text, on one core or all.

Each class takes the text in the type that its library handles fastest (str or bytes). `array` returns ids as a NumPy or
similar array without an intermediate list, `listed` returns a list of ints, `with_special` the same, with the special tokens in
the text, `decode` returns a str. None means that the library does not offer the call.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from .harness import CACHE, SHARED, corpus_file

RANKS = SHARED / "vocab" / "cl100k_base.tiktoken"
CL100K = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


FILE_NAMES = {"mistral-v1": "llama2"}  # of published files whose name says something else than their content


def tokenizer_json(name: str) -> Path:
    """A tokenizer.json: that of a folder, or in the cache as published, or cl100k as converted by tokenmill."""
    path = CACHE / name / "tokenizer.json"  # a path of a folder stays as it is
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "cl100k":
            import tokenmill

            tokenmill.load(RANKS).save(path.parent)
            contents = json.loads(path.read_text(encoding="utf-8"))
            tokens = contents["model"]["vocab"]
            for id in set(range(max(tokens.values()))) - {*tokens.values()}:
                tokens[f"<|no token {id}|>"] = id  # fastokens does not accept gaps
            path.write_text(json.dumps(contents), encoding="utf-8")
        else:
            import zstandard

            with zstandard.open(SHARED / "vocab" / f"{FILE_NAMES.get(name, name)}-tokenizer.json.zst", "rb") as packed:
                path.write_bytes(packed.read())
    return path


def trained(name: str) -> Path:
    """A folder in the cache: 32,768 tokens trained on 20 MB of English, plain or with T = 0.9 (picky)."""
    folder = CACHE / name
    if not (folder / "tokenizer.json").exists():
        import tokenmill

        refine = 0.9 if name == "picky" else None
        tokenmill.train(corpus_file("en", 20_000_000), vocab_size=32_768, refine=refine).save(folder)
    return folder


class Tokenmill:
    def __init__(self, vocabulary: str):
        import tokenmill

        sources = {"cl100k": lambda: RANKS, "plain": lambda: trained("plain"), "picky": lambda: trained("picky")}
        self.tok = tokenmill.load(sources.get(vocabulary, lambda: tokenizer_json(vocabulary))())

    def array(self, data: bytes):
        return self.tok.encode_to_numpy(data, disallowed_special=())

    def listed(self, text: str):
        return self.tok.encode_ordinary(text)

    def with_special(self, text: str):
        return self.tok.encode(text, allowed_special="all")

    def batch(self, texts: list[str], threads: int):
        return self.tok.encode_ordinary_batch(texts, num_threads=threads)

    def batch_array(self, texts: list[str], threads: int):
        return self.tok.encode_batch_to_numpy(texts, num_threads=threads, disallowed_special=())

    def decode(self, ids):
        return self.tok.decode(ids)


class Gigatoken:
    def __init__(self, vocabulary: str):
        import gigatoken

        self.module = gigatoken
        if vocabulary == "cl100k":
            self.tok = gigatoken.Tokenizer.from_tiktoken(RANKS)
        else:
            self.tok = gigatoken.Tokenizer(str(tokenizer_json(vocabulary)))

    def array(self, data: bytes):
        return self.tok.encode(data)

    def listed(self, text: str):
        return self.tok.encode_batch_list([text], parallel=False)[0]

    with_special = listed

    def batch(self, texts: list[str], threads: int):
        return self.tok.encode_batch_list(texts, parallel=threads > 1)

    def decode(self, ids):
        return self.tok.decode(ids).decode("utf-8", errors="replace")


class GigatokenFiles(Gigatoken):
    """The call that takes a path and returns an Awkward array."""

    listed = None

    def file(self, path: str):
        return self.tok.encode_files(self.module.TextFileSource([path]), parallel=False)[0]


class Tiktoken:
    def __init__(self, vocabulary: str):
        import tiktoken
        from tiktoken.load import load_tiktoken_bpe

        if vocabulary != "cl100k":
            import tokenmill

            self.tok = tokenmill.load(tokenizer_json(vocabulary)).to_tiktoken()
            return
        os.environ["TIKTOKEN_CACHE_DIR"] = ""
        ranks = load_tiktoken_bpe(str(RANKS))
        self.tok = tiktoken.Encoding("cl100k", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={})

    def array(self, data: bytes):
        return self.tok.encode_to_numpy(data.decode(), disallowed_special=())

    def listed(self, text: str):
        return self.tok.encode_ordinary(text)

    def decode(self, ids):
        return self.tok.decode(ids)


class Tokenizers:
    array = None

    def __init__(self, vocabulary: str):
        import tokenizers

        self.tok = tokenizers.Tokenizer.from_file(str(tokenizer_json(vocabulary)))

    def listed(self, text: str):
        return self.tok.encode(text, add_special_tokens=False).ids

    with_special = listed

    def decode(self, ids):
        return self.tok.decode(ids, skip_special_tokens=False)


class TokenizersNext(Tokenizers):
    """A pre-release without a regular expression engine: it knows cl100k's pattern as Llama 3 writes it."""

    def __init__(self, vocabulary: str):
        import tokenizers

        path = tokenizer_json(vocabulary)
        if vocabulary == "cl100k":
            contents = json.loads(path.read_text(encoding="utf-8"))
            for step in contents["pre_tokenizer"].get("pretokenizers", ()):
                if step["type"] == "Split":
                    step["pattern"] = {"Regex": LLAMA3}
            path = CACHE / vocabulary / "next.json"
            path.write_text(json.dumps(contents), encoding="utf-8")
        self.tok = tokenizers.Tokenizer.from_file(str(path))


class Fastokens:
    def __init__(self, vocabulary: str):
        import fastokens

        self.tok = fastokens.Tokenizer.from_file(str(tokenizer_json(vocabulary)))

    def array(self, data: bytes):
        import numpy as np

        ids, _ = self.tok.encode_batch_flat([data.decode()])
        return np.frombuffer(ids, np.uint32)

    def listed(self, text: str):
        return self.tok.encode_ordinary(text).ids

    def with_special(self, text: str):
        return self.tok.encode(text).ids

    def decode(self, ids):
        return self.tok.decode(ids)


class Splintr:
    def __init__(self, vocabulary: str):
        import splintr

        self.tok = splintr.from_json(str(tokenizer_json(vocabulary)))

    def array(self, data: bytes):
        import numpy as np

        return np.frombuffer(self.tok.encode_flat(data.decode()), np.uint32)

    def listed(self, text: str):
        return self.tok.encode_raw(text)

    with_special = listed

    def decode(self, ids):
        return self.tok.decode(ids)


class Tokie:
    def __init__(self, vocabulary: str):
        import tokie

        self.tok = tokie.Tokenizer.from_json(str(tokenizer_json(vocabulary)))

    def array(self, data: bytes):
        return self.tok.encode_batch_flat([data.decode()], add_special_tokens=False)[0]

    def listed(self, text: str):
        return self.tok.encode(text, add_special_tokens=False).ids

    with_special = listed

    def decode(self, ids):
        return self.tok.decode(ids)


class Kitoken:
    array = None

    def __init__(self, vocabulary: str):
        import kitoken

        self.tok = kitoken.Kitoken.from_tokenizers_file(str(tokenizer_json(vocabulary)))

    def listed(self, text: str):
        return self.tok.encode(text, True)

    with_special = listed

    def decode(self, ids):
        return self.tok.decode(ids, True).decode()


class Iree:
    def __init__(self, vocabulary: str):
        from iree.tokenizer import Tokenizer

        self.tok = Tokenizer.from_file(str(tokenizer_json(vocabulary)))

    def array(self, data: bytes):
        return self.tok.encode_to_array(data.decode())

    def listed(self, text: str):
        return self.tok.encode(text)

    with_special = listed

    def decode(self, ids):
        return self.tok.decode(ids)


class RsBpe:
    array = None

    def __init__(self, vocabulary: str):
        from rs_bpe import openai

        self.tok = openai.cl100k_base()

    def listed(self, text: str):
        return self.tok.encode(text)

    def decode(self, ids):
        return self.tok.decode(ids)


class Wordchipper:
    array = None

    def __init__(self, vocabulary: str):
        folder = CACHE / "wordchipper"
        path = folder / "openai" / "cl100k_base" / "cl100k_base.tiktoken"  # otherwise it downloads the file
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(RANKS, path)
        os.environ["WORDCHIPPER_CACHE_DIR"] = str(folder)
        import wordchipper

        self.tok = wordchipper.Tokenizer.from_pretrained("cl100k_base")

    def listed(self, text: str):
        return self.tok.encode(text)

    def decode(self, ids):
        return self.tok.decode(ids)


ENCODERS = {
    "tokenmill": Tokenmill,
    "gigatoken": Gigatoken,
    "gigatoken_files": GigatokenFiles,
    "fastokens": Fastokens,
    "splintr": Splintr,
    "tokie": Tokie,
    "kitoken": Kitoken,
    "iree": Iree,
    "rs_bpe": RsBpe,
    "wordchipper": Wordchipper,
    "tiktoken": Tiktoken,
    "tokenizers": Tokenizers,
    "tokenizers_next": TokenizersNext,
}
