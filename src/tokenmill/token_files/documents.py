"""From sources to stretches of text: a document, or a part of a long one that is cut where no pretoken crosses.

Every stretch comes with the place behind it, from which a later run can go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InputError
from ..sources.documents import Record, read_records
from ..sources.find import Skip, Source, open_source, suffix_of
from ..sources.streams import SourceStream
from .settings import Settings

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["Cut", "Place", "Stretch", "certain_cut", "read_stretches"]

STRETCH = 1 << 20  # bytes that are read before a long document is cut

Cut = Callable[[bytearray], int]


class Place(NamedTuple):
    """Between two stretches: in the source of this number, behind `done` of its records (bytes of a text file)."""

    source: int = 0
    done: int = 0


class Stretch(NamedTuple):
    """record: a document or a part of one; a Skip where there is something that cannot be read.

    last: whether the document ends with it.
    """

    record: Record | Skip
    last: bool


def certain_cut(tok: Tokenizer, special: bool) -> Cut | None:
    """What finds a place in text at which it may be cut, whatever follows, with the same ids; 0 where it finds none.

    None where no place is safe: a pattern that is no automaton, or tokens and normalisations that look across pretokens.
    """
    scanner, added = tok._encoder.scanner, tok._added
    if scanner is None or not added.simple or added.always or (special and added.special):
        return None
    from ..counting._count_cy import cut

    return lambda data: cut(scanner, data, 0, len(data))


def read_stretches(
    sources: Sequence[Source],
    settings: Settings,
    cut: Cut | None,
    start: Place,
    opened: Callable[[int, SourceStream], None],
) -> Iterator[tuple[Stretch, Place]]:
    """The stretches of `sources` from `start` on, in order. A .jsonl has a document in each line, Parquet in each row.

    opened: called with the number of a source and its stream when it is opened.
    """
    for number in range(start.source, len(sources)):
        source = sources[number]
        done = start.done if number == start.source else 0
        kind = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}.get(suffix_of(source), "text")
        tell = partial(opened, number)
        if kind == "text" and settings.read.unit == "file":
            for stretch, position in _file(source, cut, done, tell):
                yield stretch, Place(number + 1) if stretch.last else Place(number, position)
        else:
            records = read_records(source, kind, settings.read, tell)
            for position, record in enumerate(records, 1):
                if position > done:
                    yield Stretch(record, True), Place(number, position)


def _file(
    source: Source, cut: Cut | None, done: int, opened: Callable[[SourceStream], None]
) -> Iterator[tuple[Stretch, int]]:
    """A text file that is one document, from the byte `done` on."""
    name = os.fspath(source)
    try:
        with open_source(source) as stream:
            opened(stream)
            _pass_over(stream, done)
            id, data, enough = os.path.basename(name), bytearray(), STRETCH
            while chunk := stream.read(STRETCH):
                data += chunk
                if cut is None or len(data) < enough:
                    continue
                if at := cut(data):
                    yield Stretch(_part(name, done, memoryview(data)[:at], id), False), done + at
                    del data[:at]
                    done += at
                enough = max(STRETCH, 2 * len(data))  # so that text without such places is not searched again and again
            yield Stretch(_part(name, done, data, id), True), done + len(data)
    except InputError as error:
        yield Stretch(Skip(name, "", str(error).removeprefix(f"{name}: ")), True), done


def _part(name: str, start: int, data: bytearray | memoryview, id: str) -> Record:
    return Record("text", name, f"from byte {start:,} on" if start else "", bytes(data), id)


def _pass_over(stream: SourceStream, size: int) -> None:
    if size and stream.seekable():
        stream.seek(size)
        return
    while size:
        passed = len(stream.read(min(size, STRETCH)))
        if not passed:
            return
        size -= passed
