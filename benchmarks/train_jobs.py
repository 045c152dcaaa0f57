"""Train once from a file with one library, for `benchmarks.train`: python -m benchmarks.train_jobs LIBRARY FILE SIZE

Libraries that take strings get the file in chunks, cut after a newline and before a printable ASCII character. The cl100k
pattern always splits there, so all libraries count the same pretokens. gigatoken supports only the GPT-2 pattern.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

from .harness import peak_mib

CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def chunks(path: str, size: int = 1 << 20):
    """The text of the file in strings of about `size` bytes, cut where a pretoken always ends."""
    rest = b""
    with open(path, "rb") as file:
        while block := file.read(size):
            rest += block
            cut = len(rest) - 1
            while cut > 0 and not (rest[cut - 1] == 10 and 33 <= rest[cut] < 127):
                cut -= 1
            if cut > 0:
                yield rest[:cut].decode()
                rest = rest[cut:]
    if rest:
        yield rest.decode()


def digest(tokens) -> str:
    """A short hash of the token bytes in the order of their ids."""
    h = hashlib.sha256()
    for token in tokens:
        h.update(len(token).to_bytes(4, "little") + token)
    return h.hexdigest()[:16]


def tokenmill(path: str, size: int, split: str = "cl100k", num_threads: int | None = None) -> str:
    import tokenmill

    tok = tokenmill.train(path, vocab_size=size, split=split, num_threads=num_threads)
    return digest([tok.decode_single_token_bytes(i) for i in range(256, size)])


def tokenmill_gpt2(path: str, size: int) -> str:
    tokenmill(path, size, split="gpt2")
    return ""


def tokenmill_unchecked(path: str, size: int) -> str:
    """Without a digest, for runs whose sizes and therefore tokens differ."""
    tokenmill(path, size)
    return ""


def rustbpe(path: str, size: int) -> str:
    import rustbpe

    tok = rustbpe.Tokenizer()
    tok.train_from_iterator(chunks(path), vocab_size=size, pattern=CL100K)
    ranks = sorted((rank, bytes(token)) for token, rank in tok.get_mergeable_ranks())
    return digest([token for rank, token in ranks if rank >= 256])


def tokenizers(path: str, size: int) -> str:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    tok = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(CL100K), behavior="isolated")
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tok.train_from_iterator(
        chunks(path), trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    )
    return ""


def bpeasy(path: str, size: int) -> str:
    import bpeasy

    bpeasy.train_bpe(chunks(path), CL100K, 128, size)
    return ""


def gigatoken(path: str, size: int) -> str:
    import gigatoken

    gigatoken.train_bpe(gigatoken.TextFileSource([path]), size, [])
    return ""


def sentencepiece(path: str, size: int) -> str:
    """BPE on characters, over lines. Its pretokens are words with the space before them, whatever the characters."""
    import os
    import tempfile

    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        sentencepiece.SentencePieceTrainer.train(
            input=path,
            model_prefix=f"{folder}/bpe",
            model_type="bpe",
            vocab_size=size,
            character_coverage=1.0,
            byte_fallback=True,
            max_sentence_length=1 << 20,
            num_threads=os.cpu_count(),
            minloglevel=2,
        )
    return ""


if __name__ == "__main__":
    library, path, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
    start = time.perf_counter()
    check = globals()[library](path, size)
    result = {"seconds": round(time.perf_counter() - start, 4), "peak_mib": peak_mib()}
    print(json.dumps(result | ({"check": check} if check else {})))
