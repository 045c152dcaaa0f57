"""Rows of a batch: encoded texts, cut to a length, with control tokens around them and padding, as NumPy arrays.

A row is a list of segments: a text, control tokens, and one segment of padding, which may be empty. All segments are in one
array of ids, so a batch is a table of where each segment starts and how long it is.

    ids  [310, 402, 417, | 1, | 2]            two texts [310] and [402, 417], <s>, padding
    row  <s> [310] pad:      starts 3 0 4     lengths 1 1 1
    row  <s> [402, 417]:     starts 3 1 4     lengths 1 2 0
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..vocabulary.template import Items


class Texts(NamedTuple):
    """The encoded texts of a batch.

    spans: for each id, where it begins and ends in its text, in characters; None if nobody asks for it.
    starts, lengths: where the ids of each text are.
    """

    ids: np.ndarray
    spans: np.ndarray | None
    starts: np.ndarray
    lengths: np.ndarray

    def cut(self, room: int, from_left: bool) -> Texts:
        """The texts with at most `room` ids each."""
        kept = np.minimum(self.lengths, room)
        return self._replace(starts=self.starts + (self.lengths - kept) * from_left, lengths=kept)

    def windows(self, room: int, stride: int, from_left: bool) -> tuple[Texts, np.ndarray]:
        """All of each text in rows of at most `room` ids, which share `stride` ids with the next; and the text of each row."""
        lengths = self.lengths
        if (lengths <= room).all():
            return self, np.arange(len(lengths))
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

    items: what a row consists of; see `Template`. control_ids: the ids of the control tokens among them.
    width: the length to pad to, "longest", or 0 for no padding. multiple: padding goes on to a multiple of it.
    """

    def __init__(
        self,
        texts: Texts,
        items: Items,
        control_ids: list[int],
        width: int | str = 0,
        multiple: int | None = None,
        pad_left: bool = False,
    ):
        self.items, self.texts, self.control_ids = items, texts, control_ids
        n, n_ids = len(texts.lengths), len(texts.ids)
        lengths = np.ones((n, len(items) + 1), np.int64)
        starts = np.empty_like(lengths)
        self.pad_place = n_ids + len(control_ids)
        controls = iter(range(n_ids, self.pad_place))
        for column, (item, _) in enumerate(items):
            if isinstance(item, str):
                starts[:, column] = next(controls)
            else:
                starts[:, column], lengths[:, column] = texts.starts, texts.lengths
        content = lengths[:, :-1].sum(1)
        to = int(content.max(initial=0)) if width == "longest" else int(width)
        to += -to % (multiple or 1)
        starts[:, -1], lengths[:, -1] = self.pad_place, np.maximum(to - content, 0) if width else 0
        order = [*range(len(items) + 1)]
        columns = np.array([len(items), *order[:-1]] if pad_left else order)
        sizes = lengths[:, columns].ravel()
        self.ends = [0, *lengths.sum(1).cumsum().tolist()]
        # For each id of the result: the column of its segment, and its place in the ids.
        self.column = np.repeat(np.tile(columns.astype(np.int8), n), sizes)
        self.places = np.arange(self.ends[-1]) + np.repeat(starts[:, columns].ravel() - (sizes.cumsum() - sizes), sizes)
        self.places[self.column == len(items)] = self.pad_place
        self.width = self.ends[1] if n and self.ends == [*range(0, n * self.ends[1] + 1, self.ends[1] or 1)] else None

    def lengths(self) -> list[int]:
        """The length of each row."""
        return [end - start for start, end in pairwise(self.ends)]

    def ids(self, pad: int) -> np.ndarray:
        """The ids of all rows. pad: that of padding."""
        return np.concatenate([self.texts.ids, [*self.control_ids, pad]]).astype(np.int64)[self.places]

    def spans(self) -> np.ndarray:
        """The span of each id in its text; 0 and 0 for control tokens and padding."""
        assert self.texts.spans is not None
        nothing = np.zeros((1 + len(self.control_ids), 2), np.int64)
        return np.concatenate([self.texts.spans, nothing])[self.places]

    def of_items(self, values: list[int], of_padding: int) -> np.ndarray:
        """For each id, the value of its item."""
        return np.array([*values, of_padding], np.int64)[self.column]

    def nested(self, values: np.ndarray, as_array: bool) -> Any:
        """The values of all rows as an array of rows if it is asked for and all are equally long, otherwise as lists."""
        if self.width is not None:
            rows = values.reshape(len(self.ends) - 1, self.width, *values.shape[1:])
            return rows if as_array else rows.tolist()
        flat = values.tolist()
        return [flat[start:end] for start, end in pairwise(self.ends)]
