"""Token files changed at random: they load, or are one error of tokenmill's own; never a crash or a foreign exception."""

import functools
import json
import os
import random
import shutil

import pytest
from token_file_examples import corpus, tokenizer

import tokenmill
from tokenmill.errors import TokenmillError
from tokenmill.token_files.joining import Join
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


def places(value, before=()):
    """The places of all values in a value of JSON."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*before, key)
        yield from places(value[key], (*before, key))


@pytest.mark.parametrize("options", [{"shard_tokens": 2000}, {"part": "1/1"}])
def test_changed_metadata(tmp_path, options):
    """With another value in each place of the metadata, files load, are verified and joined, or that is refused."""
    tok, (paths, _) = tokenizer(), corpus(tmp_path / "sources")
    paths = paths[:1]
    made = tokenmill.encode_files(tok, paths, tmp_path / "t.bin", options=tokenmill.EncodeOptions(**options)).path
    files = sorted(tmp_path.glob("*.bin"))
    beside = made.with_name(f"{made.name}.json")
    whole = beside.read_text()
    refused = 0
    for *outer, key in places(json.loads(whole)):
        for new in (..., None, -1, 10**9, 1.5, "x", {}):
            values = json.loads(whole)
            inner = functools.reduce(lambda value, name: value[name], outer, values)
            inner[key] = new if new is not ... else None
            if new is ...:
                del inner[key]
            beside.write_text(json.dumps(values))
            for act in (
                lambda: list(tokenmill.load_tokens(made, tok=tok)),
                lambda: tokenmill.verify(made, tok=tok, sources=paths, num_threads=1),
                lambda: Join(files=files, output=tmp_path / "joined", overwrite=True).run(),
            ):
                try:
                    act()
                except TokenmillError:
                    refused += 1
    assert refused > 200


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
            assert len(tokens.ids) == tokens.offsets[-1]
            if len(tokens):
                tok.decode(tokens[len(tokens) // 2])
        except TokenmillError as error:
            assert str(error)
            refused += 1
    assert refused > ROUNDS // 3
