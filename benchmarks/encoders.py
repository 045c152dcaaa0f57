"""The libraries that `benchmarks.encode` compares, each with its fastest calls for one text, on one core or all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .harness import CACHE, SHARED, corpus_file, shared_file
from .train_jobs import CL100K as LLAMA3

RANKS = SHARED / "vocab" / "cl100k_base.tiktoken"
CL100K = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""

FILE_NAMES = {"mistral-v1": "llama2"}  # of published files whose name says something else than their content


class Encoder(NamedTuple):
    """The calls of a library with one vocabulary, each for text in the type that it handles fastest (str or bytes).

    None means that the library does not offer the call. Each is a function of Python, so that it costs the same everywhere.

    listed: text to a list of ints. array: bytes to a NumPy or similar array, without an intermediate list; file: the same for the
        text of a path. with_special: like `listed`, where that does not find the special tokens in the text.
    decode: ids to a str. batch, batch_array: texts and a number of threads to lists, and to one array with offsets.
    """

    decode: Callable[[Any], str]
    listed: Callable[[str], list[int]] | None = None
    array: Callable[[bytes], Any] | None = None
    file: Callable[[str], Any] | None = None
    with_special: Callable[[str], list[int]] | None = None
    batch: Callable[[list[str], int], list[list[int]]] | None = None
    batch_array: Callable[[list[str], int], Any] | None = None


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
            path.write_bytes(unpacked(f"{FILE_NAMES.get(name, name)}-tokenizer.json.zst"))
    return path


def unpacked(name: str) -> bytes:
    """The contents of a file of the shared vocabularies."""
    import zstandard

    with zstandard.open(shared_file("vocab", name), "rb") as packed:
        return packed.read()


def trained(name: str) -> Path:
    """A folder in the cache: 32,768 tokens trained on 20 MB of English, plain or with T = 0.9 (picky)."""
    folder = CACHE / name
    if not (folder / "tokenizer.json").exists():
        import tokenmill

        refine = 0.9 if name == "picky" else None
        tokenmill.train(corpus_file("en", 20_000_000), vocab_size=32_768, refine=refine).save(folder)
    return folder


def tokenmill(vocabulary: str) -> Encoder:
    import tokenmill

    sources = {"cl100k": lambda: RANKS, "plain": lambda: trained("plain"), "picky": lambda: trained("picky")}
    tok = tokenmill.load(sources.get(vocabulary, lambda: tokenizer_json(vocabulary))())
    return Encoder(
        listed=lambda text: tok.encode_ordinary(text),
        array=lambda data: tok.encode_to_numpy(data, disallowed_special=()),
        with_special=lambda text: tok.encode(text, allowed_special="all"),
        batch=lambda texts, threads: tok.encode_ordinary_batch(texts, num_threads=threads),
        batch_array=lambda texts, threads: tok.encode_batch_to_numpy(texts, num_threads=threads, disallowed_special=()),
        decode=lambda ids: tok.decode(ids),
    )


def gigatoken(vocabulary: str) -> Encoder:
    import gigatoken

    if vocabulary == "cl100k":
        tok = gigatoken.Tokenizer.from_tiktoken(RANKS)
    else:
        tok = gigatoken.Tokenizer(str(tokenizer_json(vocabulary)))

    return Encoder(
        listed=lambda text: tok.encode_batch_list([text], parallel=False)[0],
        array=lambda data: tok.encode(data),
        file=lambda path: tok.encode_files(gigatoken.TextFileSource([path]), parallel=False)[0],
        batch=lambda texts, threads: tok.encode_batch_list(texts, parallel=threads > 1),
        decode=lambda ids: tok.decode(ids).decode("utf-8", errors="replace"),
    )


def tiktoken(vocabulary: str) -> Encoder:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    if vocabulary == "cl100k":
        os.environ["TIKTOKEN_CACHE_DIR"] = ""
        ranks = load_tiktoken_bpe(str(RANKS))
        tok = tiktoken.Encoding("cl100k", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={})
    else:
        import tokenmill

        tok = tokenmill.load(tokenizer_json(vocabulary)).to_tiktoken()
    return Encoder(
        listed=lambda text: tok.encode_ordinary(text),
        array=lambda data: tok.encode_to_numpy(data.decode(), disallowed_special=()),
        decode=lambda ids: tok.decode(ids),
    )


def of_tokenizers(path: Path) -> Encoder:
    import tokenizers

    tok = tokenizers.Tokenizer.from_file(str(path))
    return Encoder(
        listed=lambda text: tok.encode(text, add_special_tokens=False).ids,
        decode=lambda ids: tok.decode(ids, skip_special_tokens=False),
    )


def tokenizers(vocabulary: str) -> Encoder:
    return of_tokenizers(tokenizer_json(vocabulary))


def tokenizers_next(vocabulary: str) -> Encoder:
    """A pre-release without a regular expression engine: it knows cl100k's pattern as Llama 3 writes it."""
    path = tokenizer_json(vocabulary)
    if vocabulary == "cl100k":
        contents = json.loads(path.read_text(encoding="utf-8"))
        for step in contents["pre_tokenizer"].get("pretokenizers", ()):
            if step["type"] == "Split":
                step["pattern"] = {"Regex": LLAMA3}
        path = CACHE / vocabulary / "next.json"
        path.write_text(json.dumps(contents), encoding="utf-8")
    return of_tokenizers(path)


def fastokens(vocabulary: str) -> Encoder:
    import fastokens
    import numpy as np

    tok = fastokens.Tokenizer.from_file(str(tokenizer_json(vocabulary)))
    return Encoder(
        listed=lambda text: tok.encode_ordinary(text).ids,
        array=lambda data: np.frombuffer(tok.encode_batch_flat([data.decode()])[0], np.uint32),
        with_special=lambda text: tok.encode(text).ids,
        decode=lambda ids: tok.decode(ids),
    )


def splintr(vocabulary: str) -> Encoder:
    import numpy as np
    import splintr

    tok = splintr.from_json(str(tokenizer_json(vocabulary)))
    return Encoder(
        listed=lambda text: tok.encode_raw(text),
        array=lambda data: np.frombuffer(tok.encode_flat(data.decode()), np.uint32),
        decode=lambda ids: tok.decode(ids),
    )


def tokie(vocabulary: str) -> Encoder:
    import tokie

    tok = tokie.Tokenizer.from_json(str(tokenizer_json(vocabulary)))
    return Encoder(
        listed=lambda text: tok.encode(text, add_special_tokens=False).ids,
        array=lambda data: tok.encode_batch_flat([data.decode()], add_special_tokens=False)[0],
        decode=lambda ids: tok.decode(ids),
    )


def kitoken(vocabulary: str) -> Encoder:
    import kitoken

    tok = kitoken.Kitoken.from_tokenizers_file(str(tokenizer_json(vocabulary)))
    return Encoder(listed=lambda text: tok.encode(text, True), decode=lambda ids: tok.decode(ids, True).decode())


def iree(vocabulary: str) -> Encoder:
    from iree.tokenizer import Tokenizer

    tok = Tokenizer.from_file(str(tokenizer_json(vocabulary)))
    return Encoder(
        listed=lambda text: tok.encode(text),
        array=lambda data: tok.encode_to_array(data.decode()),
        decode=lambda ids: tok.decode(ids),
    )


def rs_bpe(vocabulary: str) -> Encoder:
    from rs_bpe import openai

    tok = openai.cl100k_base()
    return Encoder(listed=lambda text: tok.encode(text), decode=lambda ids: tok.decode(ids))


def wordchipper(vocabulary: str) -> Encoder:
    folder = CACHE / "wordchipper"
    path = folder / "openai" / "cl100k_base" / "cl100k_base.tiktoken"  # otherwise it downloads the file
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(RANKS, path)
    os.environ["WORDCHIPPER_CACHE_DIR"] = str(folder)
    import wordchipper

    tok = wordchipper.Tokenizer.from_pretrained("cl100k_base")
    return Encoder(listed=lambda text: tok.encode(text), decode=lambda ids: tok.decode(ids))


def sentencepiece(vocabulary: str) -> Encoder:
    import sentencepiece

    model = unpacked(f"{vocabulary}-sentencepiece.model.zst")
    tok = sentencepiece.SentencePieceProcessor(model_proto=model)
    return Encoder(listed=lambda text: tok.encode(text, num_threads=1), decode=lambda ids: tok.decode(ids))


def encoder_of(library: str, vocabulary: str) -> Encoder:
    """The calls of a library; those of gigatoken_files are of gigatoken, which takes a path and returns an Awkward array."""
    if library == "gigatoken_files":
        return gigatoken(vocabulary)._replace(listed=None)
    return globals()[library](vocabulary)._replace(file=None)
