"""Under-trained tokens are found by their rows of an embedding table."""

import json
import sys

import numpy as np
import pytest
from quality_examples import BYTES, make_vocabulary

from tokenmill import AddedToken, InspectionOptions, Tokenizer, WordCounts, inspect
from tokenmill.errors import FormatError, InputError, MissingExtraError, UsageError
from tokenmill.quality.embeddings import indicators, load_embeddings, under_trained_table

PLANTED = (300, 444, 512, 601)  # tokens whose rows training did not move
SIZE, ROWS, WIDTH = 700, 704, 24


@pytest.fixture(scope="module")
def tok():
    tokens = [*BYTES, *(b"t%03d" % n for n in range(256, SIZE - 1))]
    return Tokenizer(make_vocabulary(tokens, added_tokens=(AddedToken("<end>", SIZE - 1),)))


@pytest.fixture(scope="module")
def matrix():
    """Rows around a strong common direction, and rows that never moved: small, and alike where no text has the token."""
    rng = np.random.default_rng(3)
    common, start = rng.standard_normal((2, WIDTH))
    rows = rng.standard_normal((ROWS, WIDTH)) + np.outer(rng.uniform(2, 6, ROWS), common)
    never = [0xC0, 0xC1, *range(0xF5, 0x100), *range(SIZE, ROWS), *PLANTED]
    rows[never] = 0.3 * start + 0.02 * rng.standard_normal((len(never), WIDTH))
    return rows.astype(np.float32)


def test_indicators_are_those_of_the_definition(matrix):
    unused = np.array([0xC0, 0xC1, SIZE])
    norms, distances = indicators(matrix, unused)
    wide = matrix.astype(np.float64)
    first = np.linalg.svd(wide - wide.mean(axis=0))[2][0]
    without = wide - np.outer(wide @ first, first)
    middle = without[unused].mean(axis=0)
    expected = 1 - without @ middle / (np.linalg.norm(without, axis=1) * np.linalg.norm(middle))
    assert np.allclose(norms, np.linalg.norm(wide, axis=1), rtol=1e-5)
    assert np.allclose(distances, expected, atol=1e-3)
    assert indicators(matrix, np.array([], np.int64))[1] is None
    zeros = matrix.copy()
    zeros[400] = 0
    assert indicators(zeros, unused)[1][400] == 0


def test_planted_tokens_come_first(tok, matrix):
    table = under_trained_table(tok, matrix)
    assert {token.id for token in table.column("token")[: len(PLANTED)]} == set(PLANTED)
    assert len(table.rows) >= 14 and SIZE - 1 not in [token.id for token in table.column("token")]
    assert "17 rows that no text uses" in table.note
    with pytest.raises(UsageError, match="699"):
        under_trained_table(tok, matrix[:600])


def test_without_tokens_that_no_text_has_only_norms_count():
    ascii_only = [bytes([byte]) for byte in range(128)]
    tok = Tokenizer(make_vocabulary(ascii_only))
    matrix = np.ones((128, 4), np.float32)
    matrix[65] = 0.1
    table = under_trained_table(tok, matrix)
    assert table.rows[0][0].id == 65 and table.column("distance") == [None] * len(table.rows)


def test_inspect_reads_the_file(tok, matrix, tmp_path):
    np.save(tmp_path / "rows.npy", matrix.astype(np.float16))
    options = InspectionOptions(embeddings=tmp_path / "rows.npy")
    counts = WordCounts.from_mapping({b"t300": 7})
    rows = inspect(tok, counts, options=options).table("under_trained").rows
    assert {row[0].id for row in rows[: len(PLANTED)]} == set(PLANTED)
    assert {row[0].id: row[3] for row in rows}[300] == 7


@pytest.mark.parametrize("dtype", ["F32", "BF16"])
def test_safetensors(matrix, tmp_path, dtype):
    pytest.importorskip("safetensors")
    pytest.importorskip("ml_dtypes")
    rounded = (matrix.view(np.uint32) >> 16).astype(np.uint16)  # bfloat16: the upper half of float32
    data = matrix.tobytes() if dtype == "F32" else rounded.tobytes()
    expected = matrix if dtype == "F32" else (rounded.astype(np.uint32) << 16).view(np.float32)
    size = len(data)
    head = {
        "lm_head.weight": {"dtype": dtype, "shape": [ROWS, WIDTH], "data_offsets": [0, size]},
        "model.embed_tokens.weight": {"dtype": dtype, "shape": [ROWS, WIDTH], "data_offsets": [size, 2 * size]},
    }

    def write(path, header):
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(size) + data)

    write(tmp_path / "model.safetensors", head)
    assert (load_embeddings(tmp_path / "model.safetensors", SIZE) == expected).all()
    write(tmp_path / "two.safetensors", {"a": head["lm_head.weight"], "b": head["model.embed_tokens.weight"]})
    with pytest.raises(InputError, match="several tensors"):
        load_embeddings(tmp_path / "two.safetensors", SIZE)
    with pytest.raises(InputError, match="no tensor has 9000 rows"):
        load_embeddings(tmp_path / "model.safetensors", 9000)
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "model.safetensors").read_bytes()[:100])
    with pytest.raises(FormatError, match=r"cut\.safetensors"):
        load_embeddings(tmp_path / "cut.safetensors", SIZE)


def test_files_that_are_not_embeddings(matrix, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="no such file"):
        load_embeddings(tmp_path / "none.npy", 5)
    (tmp_path / "text.npy").write_text("low")
    with pytest.raises(FormatError, match=r"text\.npy"):
        load_embeddings(tmp_path / "text.npy", 5)
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(FormatError, match=r"objects\.npy"):
        load_embeddings(tmp_path / "objects.npy", 1)
    for wrong in (np.zeros(5), np.zeros((3, 3)), np.zeros((5, 3), np.int64)):
        np.save(tmp_path / "wrong.npy", wrong)
        with pytest.raises(InputError, match="expected floats of shape"):
            load_embeddings(tmp_path / "wrong.npy", 5)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(MissingExtraError, match="the extra 'embeddings'"):
        load_embeddings(tmp_path / "model.safetensors", 5)
