"""Rows of a batch: encoded texts, cut to a length, with control tokens around them and padding, as lists or as NumPy arrays.

A row consists of columns: a text, control tokens, and one column of padding, which may be empty.

    ids  [310, 402, 417]                      two texts [310] and [402, 417]
    row  <s> [310] pad:      sizes 1 1 1
    row  <s> [402, 417]:     sizes 1 2 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ..vocabulary.lazy import lazy


class Texts(NamedTuple):
    """The encoded texts of a batch. spans: the start and the end of each id in its text, in characters, or None."""

    ids: np.ndarray
    spans: np.ndarray | None
    starts: np.ndarray
    lengths: np.ndarray

    def cut(self, room: int, from_left: bool) -> Texts:
        """The texts with at most `room` ids each."""
        kept = np.minimum(self.lengths, room)
        return self._replace(starts=self.starts + (self.lengths - kept) * from_left, lengths=kept)

    def windows(self, room: int, stride: int, from_left: bool) -> tuple[Texts, np.ndarray]:
        """Divide each text into rows of at most `room` ids, which share `stride` ids with the next. Return the rows and their texts."""
        lengths = self.lengths
        if (lengths <= room).all():
            return self, np.arange(len(lengths))
        if room < 1:
            raise ValueError(
                "the special tokens of a row fill max_length, which leaves no room for the text. Raise it."
            )
        if stride >= room:
            raise ValueError(f"stride is {stride}; it must be less than {room}, which max_length leaves for the text")
        counts = 1 - (-np.maximum(lengths - room, 0) // (room - stride))
        text = np.repeat(np.arange(len(lengths)), counts)
        first = (np.arange(len(text)) - np.repeat(counts.cumsum() - counts, counts)) * (room - stride)
        size = np.minimum(room, lengths[text] - first)
        starts = self.starts[text] + (lengths[text] - first - size if from_left else first)
        return self._replace(starts=starts, lengths=size), text


class Rows:
    """The rows of a batch.

    columns: the id of a control token, or None for the text, for each column but that of padding.
    width: the length to pad to, "longest", or 0 for no padding. multiple: rows are padded to a multiple of it.
    as_lists: results are lists, not arrays. Results of rows with different lengths are always lists.
    """

    def __init__(
        self,
        texts: Texts,
        columns: Sequence[int | None],
        width: int | str,
        multiple: int | None,
        pad_left: bool,
        as_lists: bool,
    ):
        self.texts, self.columns, n = texts, columns, len(texts.lengths)
        sizes = np.ones((n, len(columns) + 1), np.int64)
        sizes[:, [column for column, id in enumerate(columns) if id is None]] = texts.lengths[:, None]
        content = sizes[:, :-1].sum(1)
        target = int(content.max(initial=0)) if width == "longest" else int(width)
        target += -target % (multiple or 1)
        sizes[:, -1] = np.maximum(target - content, 0) if width else 0
        order = range(len(columns) + 1)
        self.order = [*order[-1:], *order[:-1]] if pad_left else [*order]
        self.sizes = sizes[:, self.order]
        self.lengths = self.sizes.sum(1).tolist()
        self.ends = [0, *accumulate(self.lengths)]
        self.borders = (sizes[:, -1] if pad_left else content).tolist()  # between text and padding
        self.as_lists = as_lists or len(set(self.lengths)) != 1

    def ids(self, pad: int) -> np.ndarray:
        """The ids of all rows in one array. pad: the id of padding."""
        return np.concatenate([self.texts.ids, [id or 0 for id in self.columns], [pad]]).astype(np.int64)[self._indices]

    def spans(self) -> np.ndarray:
        """The span of each id of all rows in its text; 0 and 0 for control tokens and padding."""
        assert self.texts.spans is not None
        return np.concatenate([self.texts.spans, np.zeros((len(self.order), 2), np.int64)])[self._indices]

    def by_column(self, values: Sequence[int], padding_value: int) -> Any:
        """The value of each id's column, for each row."""
        if self.as_lists and len(set(values)) == 1:  # each row is a slice of the longest text with the longest padding
            n = max(self.lengths, default=0)
            padding, content = [padding_value] * n, [values[0]] * n
            line = padding + content if self.order[0] else content + padding
            bounds = zip(self.borders, self.lengths, strict=True)
            return [line[n - border : n - border + length] for border, length in bounds]
        in_order = np.array([*values, padding_value], np.int64)[self.order]
        return self.divided(np.repeat(np.tile(in_order, len(self.sizes)), self.sizes.ravel()))

    def divided(self, values: np.ndarray, to_list: Callable[[np.ndarray], list[Any]] = np.ndarray.tolist) -> Any:
        """The values of all rows by row, as an array or as lists. to_list: converts an array to a list."""
        if not self.as_lists:
            return values.reshape(len(self.lengths), self.lengths[0], *values.shape[1:])
        flat = to_list(values)
        return [flat[start:end] for start, end in pairwise(self.ends)]

    @lazy
    def _indices(self) -> np.ndarray:
        """The index of each id of all rows in the texts' ids. Each column has an index after them."""
        n_ids, sizes = len(self.texts.ids), self.sizes.ravel()
        starts = np.empty_like(self.sizes)
        for position, column in enumerate(self.order):
            is_text = column < len(self.columns) and self.columns[column] is None
            starts[:, position] = self.texts.starts if is_text else n_ids + column
        indices = np.arange(self.ends[-1]) + np.repeat(starts.ravel() - (sizes.cumsum() - sizes), sizes)
        return np.minimum(indices, n_ids + len(self.columns))  # padding has the last index
