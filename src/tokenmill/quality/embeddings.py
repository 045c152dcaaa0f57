"""Under-trained tokens, found in the rows of a model's embedding table.

Source: Land and Bartolo 2024, "Fishing for Magikarp: Automatically Detecting Under-trained Tokens in Large Language Models"
(arXiv 2405.05417). A token that training text hardly contains keeps a row near its start, which weight decay makes
shorter. Two indicators find such rows; the lower, the more suspect:

    norm      the L2 norm of the row
    distance  the cosine distance, 1 - cos, of the row and the mean of the rows of tokens that no text has, after the first
              principal component of all rows is taken out of both

The paper calls the 2 % of the tokens with the lowest indicator candidates, and then prompts the model with them. Norms suit input
embeddings, distances those that the model shares between input and output.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FormatError, InputError, UsageError, require
from ..tokenizer import Tokenizer
from .tables import Column, Table
from .usage import Usage, token_cells

CANDIDATES = 0.02  # of the tokens
ROUNDS = 100  # of the power iteration, at most
NAMES = ("embed_tokens", "wte", "tok_embeddings", "word_embeddings", "embed_in", "embeddings")
NOT_UTF8 = {bytes([byte]) for byte in (0xC0, 0xC1, *range(0xF5, 0x100))}  # no UTF-8 text has these


def load_embeddings(path: str | os.PathLike[str], rows: int) -> np.ndarray:
    """The embedding table in a .npy or .safetensors file, with at least `rows` rows: float32 (rows in the file, width).

    Of several tensors that fit, the one with a name that models give to their input embeddings. Needs the extra "embeddings"
    for .safetensors.
    """
    place = Path(path)
    if not place.is_file():
        raise InputError(f"{place}: no such file")
    if place.suffix == ".safetensors":
        found = _from_safetensors(place, rows)
    else:
        try:
            found = np.load(place, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise FormatError(f"{place}: not a .npy file ({error}); give .npy or .safetensors") from error
    if getattr(found, "ndim", 0) != 2 or found.dtype.kind not in "fV" or len(found) < rows:
        shape = getattr(found, "shape", "unknown")
        raise InputError(f"{place}: expected floats of shape ({rows} or more, width), found shape {shape}")
    return found.astype(np.float32)


def _from_safetensors(place: Path, rows: int) -> Any:
    require("ml_dtypes", "embeddings", "reading bfloat16")
    library = require("safetensors", "embeddings", f"reading {place}")
    try:
        with library.safe_open(place, framework="np") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            fit = [name for name, shape in shapes.items() if len(shape) == 2 and shape[0] >= rows]
            named = [name for name in fit if any(f".{known}." in f".{name}." for known in NAMES)]
            chosen = named or fit
            if len(chosen) == 1:
                return file.get_tensor(chosen[0])
    except library.SafetensorError as error:
        raise FormatError(f"{place}: not a safetensors file: {error}") from error
    held = ", ".join(f"{name} {shapes[name]}" for name in chosen or sorted(shapes)[:10]) or "nothing"
    what = "several tensors may be the embeddings" if chosen else f"no tensor has {rows} rows or more, one for each id"
    raise InputError(f"{place}: {what} ({held}). Give the right file, or save the tensor alone as .npy.")


def indicators(matrix: np.ndarray, unused: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """The norm of each row, and its distance from the mean of the rows `unused`: float64; None if there are none.

    A row of zeros has the distance 0.
    """
    norms = np.linalg.norm(matrix, axis=1).astype(np.float64)
    if not len(unused):
        return norms, None
    first = _first_component(matrix)
    along = matrix @ first
    middle = matrix[unused].mean(axis=0) - along[unused].mean() * first
    # (row - (row . first) first) . middle, and the norm of the first factor; `first` is of length 1.
    product = (matrix @ middle - along * (first @ middle)).astype(np.float64)
    lengths = np.sqrt(np.maximum(norms**2 - along.astype(np.float64) ** 2, 0)) * np.linalg.norm(middle)
    cosines = np.divide(product, lengths, out=np.ones(len(matrix)), where=lengths > 1e-6 * norms.max())
    return norms, 1 - np.clip(cosines, -1, 1)


def under_trained_table(tok: Tokenizer, matrix: np.ndarray, usage: Usage | None = None) -> Table:
    """The ordinary tokens whose norm or distance is among the lowest 2 %, the most suspect first."""
    if len(matrix) < tok.n_vocab:
        raise UsageError(f"the embeddings have {len(matrix)} rows, and the tokenizer gives ids up to {tok.n_vocab - 1}")
    vocabulary = tok.vocabulary
    never = [
        id for id in range(len(matrix)) if vocabulary.token_bytes(id) in (None, *NOT_UTF8) or id in vocabulary.removed
    ]
    norms, distances = indicators(matrix, np.array(never, np.int64))
    cells = [cell for cell in token_cells(tok) if cell.content not in NOT_UTF8]
    ids = np.array([cell.id for cell in cells], np.int64)
    shown = [norms] if distances is None else [norms, distances]
    number = max(1, round(CANDIDATES * len(cells)))
    order = [np.argsort(values[ids], kind="stable") for values in shown]
    suspects = sorted({place for places in order for place in places[:number].tolist()})
    ranks = [np.argsort(places) for places in order]
    suspects.sort(key=lambda place: (min(int(rank[place]) for rank in ranks), place))
    rows = [
        (
            cells[place],
            float(norms[ids[place]]),
            None if distances is None else float(distances[ids[place]]),
            None if usage is None else int(usage.by_id[ids[place]]),
        )
        for place in suspects
    ]
    columns = (
        Column("token", "token"),
        Column("norm", "number", "the L2 norm of its row", digits=4),
        Column("distance", "number", "the cosine distance from the rows of tokens that no text has", digits=4),
        Column("used", "count"),
    )
    note = (
        f"Of {len(cells):,} tokens, those whose row has one of the lowest 2 % of the norms"
        + (f" (the median is {np.median(norms[ids]):.4f})" if len(ids) else "")
        + (
            "."
            if distances is None
            else f", or is among the 2 % nearest to the mean of the {len(never):,} rows that no text uses."
        )
        + " They are candidates: a model that has not learnt a token fails to repeat it (Land and Bartolo 2024)."
    )
    return Table("under_trained", "Under-trained tokens, by their embeddings", columns, rows, note, listing=True)


def _first_component(matrix: np.ndarray) -> np.ndarray:
    """The direction in which the rows vary most, float32 of length 1, by power iteration."""
    mean: Any = matrix.mean(axis=0)
    found = np.asarray(np.random.default_rng(0).standard_normal(matrix.shape[1]), np.float32)
    found /= np.linalg.norm(found)
    for _ in range(ROUNDS):
        along = matrix @ found - mean @ found
        better: Any = matrix.T @ along - mean * along.sum()
        length = float(np.linalg.norm(better))
        if length == 0:
            break
        better /= length
        moved = float(np.linalg.norm(better - found))
        found = better
        if moved < 1e-5:
            break
    return found
