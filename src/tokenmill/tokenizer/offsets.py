"""The span of text that each id stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from ..vocabulary import Vocabulary
    from .core import Core


class Offsets(NamedTuple):
    """The ids of a text and the span of text that each stands for.

    ids: the ids, as `encode` returns them.
    bytes: int64 array of shape (n, 2): token i is text.encode()[bytes[i, 0]:bytes[i, 1]].
    characters: the same in characters; a character that several tokens share is in the span of each.
    text: what the spans refer to: the text given, after normalisation and the replacement of lone surrogates.
    """

    ids: list[int]
    bytes: np.ndarray
    characters: np.ndarray
    text: str


def encode_offsets(core: Core, text: str, allowed: frozenset[str]) -> Offsets:
    """The ids of `text` with their spans. The control tokens in `allowed` are found in it."""
    import numpy as np

    ids: list[int] = []
    found: list[np.ndarray] = [np.zeros((0, 2), np.int64)]
    whole: list[str] = []
    start = 0
    for section, token, prefix in core.sections(text, allowed):
        data = section.encode()
        if token is not None:
            ids.append(token.id)
            found.append(np.array([[start, start + len(data)]]))
        else:
            here = core.encode_section(prefix + data)
            sizes = np.array(token_sizes(here, prefix + data, core.vocabulary), np.int64)
            bounds = np.concatenate([[0], np.maximum(np.cumsum(sizes) - len(prefix), 0)]) + start
            found.append(np.stack([bounds[:-1], bounds[1:]], axis=1))
            ids += here
        whole.append(section)
        start += len(data)
    joined = "".join(whole)
    spans = np.concatenate(found)
    leads = (np.frombuffer(joined.encode(), np.uint8) & 0xC0) != 0x80
    before = np.concatenate([[0], np.cumsum(leads)])  # the number of characters that begin before each byte
    characters = before[spans]
    filled = spans[:, 0] < spans[:, 1]
    characters[filled, 0] = before[spans[filled, 0] + 1] - 1
    return Offsets(ids, spans, characters, joined)


def token_sizes(ids: list[int], data: bytes, vocabulary: Vocabulary) -> list[int]:
    """The number of bytes that each of `ids` stands for. The ids are the first of the encoding of `data`."""
    tokens, unknown = vocabulary.tokens, vocabulary.unknown
    if unknown is None or unknown not in ids:
        return [len(tokens[id]) for id in ids]  # type: ignore[arg-type]
    sizes, at = [], 0
    for id in ids:
        size = len(tokens[id] or b"") if id < len(tokens) else 0
        if id == unknown and not (size and data.startswith(tokens[id], at)):  # type: ignore[arg-type]
            size = 1  # it stands for a byte or a character
            while vocabulary.alphabet == "characters" and at + size < len(data) and 0x80 <= data[at + size] < 0xC0:
                size += 1
        sizes.append(size)
        at += size
    return sizes
