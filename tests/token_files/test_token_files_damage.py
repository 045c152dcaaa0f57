"""Token files changed at random: they load, or are one error of tokenmill's own; never a crash or a foreign exception."""

import os
import random
import shutil

import pytest
from token_file_examples import corpus, tokenizer

import tokenmill
from tokenmill.errors import TokenmillError
from tokenmill.token_files.settings import FORMATS

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
ROUNDS = 150 * SWEEP**4


def changed(chosen: random.Random, data: bytes) -> bytes:
    kept = bytearray(data)
    for _ in range(chosen.choice((1, 1, 2, 5))):
        at = chosen.choice((chosen.randrange(len(kept) + 1), chosen.randrange(min(len(kept), 200) + 1)))
        kind = chosen.random()
        if kind < 0.5:
            kept[at : at + chosen.choice((1, 1, 4, 8))] = chosen.choice(
                (b"\0", b"\xff", b"-1", b"9", b"\xff" * 8, b"\x80")
            )
        elif kind < 0.7:
            del kept[at : at + chosen.choice((1, 2, 8))]
        elif kind < 0.8:
            kept[at:at] = chosen.randbytes(chosen.choice((1, 2, 8)))
        elif kind < 0.9:
            kept[at : at + 8] = chosen.randbytes(8)
        else:
            del kept[at:]
    return bytes(kept)


@pytest.mark.parametrize("format", FORMATS)
def test_changed_files(tmp_path, format):
    tok = tokenizer()
    paths, _ = corpus(tmp_path / "sources")
    made = tokenmill.encode_files(tok, paths, tmp_path / "whole" / "t", format=format).path
    names = [path.name for path in made.parent.iterdir()]
    chosen = random.Random(f"{format} {SWEEP}")
    refused = 0
    for _ in range(ROUNDS):
        shutil.rmtree(tmp_path / "t", ignore_errors=True)
        shutil.copytree(made.parent, tmp_path / "t")
        victim = tmp_path / "t" / chosen.choice(names)
        victim.write_bytes(changed(chosen, victim.read_bytes()))
        if chosen.random() < 0.3:
            (tmp_path / "t" / f"{made.name}.json").unlink()
        try:
            tokens = tokenmill.load_tokens(
                tmp_path / "t" / made.name, tok=tok, any_tokenizer=chosen.random() < 0.5, dtype="uint16"
            )
            for ids in tokens:
                tok.decode(ids)
            assert len(tokens.ids) == tokens.offsets[-1] if tokens.offsets is not None else True
            if len(tokens):
                tok.decode(tokens[len(tokens) // 2])
        except TokenmillError as error:
            assert str(error)
            refused += 1
    assert refused > ROUNDS // 3
