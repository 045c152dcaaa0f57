"""Blocks of documents, and the base classes of the sources that read them.

A block is one buffer of UTF-8 with the ends of its documents, in Arrow's layout. No Python object is created for a
document. A source returns its blocks in order:

- `draw` reads the next block. Several threads may draw from one source: each waits for its turn.
- `finish` does the work that can be done while others read on, such as parsing JSON.
- The block then has in `skips` what could not be read, and in `resume_at` where reading can resume after it, in another
  process too.
"""

from __future__ import annotations

import bisect
import copy
import itertools
import os
import threading
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from ..errors import InputError, OptionName, UsageError, plural
from ..options import Option, Options
from ._cut_cy import not_utf8
from .find import OnSkip, Skip, Source, shown, warn_of_skip
from .remote import RemoteError
from .streams import ByteStream, Pause

BLOCK = 1 << 20  # bytes: a block stays in the processor's cache between the reader and the kernel
MAX_DOCUMENT_BYTES = 16 << 20
MOST_FIELDS = 8  # of a document
FIELD_BREAK = b"\n\n"  # between the texts of several fields
INPUT = "Input"  # the heading of its options in help texts

HEAD = 1 << 16  # bytes from the beginning that are checked for binary data

Binary = Literal["error", "skip", "count"]
Cut = Callable[[Any, int, int], int]
Span = tuple[int, int]


@dataclass(frozen=True)
class ReadOptions(Options):
    """Options for cutting sources into documents.

    >>> ReadOptions(unit="page")
    Traceback (most recent call last):
    tokenmill.errors.UsageError: unit is 'page'; known are file, line, blank, separator
    """

    # fmt: off
    unit: Annotated[Literal["file", "line", "blank", "separator"], Option("A document of a text file: file, line, blank (text between blank lines), or separator.", section=INPUT)] = "file"
    separator: Annotated[str, Option("The text between two documents.", section=INPUT, only=("unit", "separator"))] = ""
    field: Annotated[str | Sequence[str], Option("The JSON field or Parquet column with the text. Repeatable: several become one document, with blank lines between. [default: text]", metavar="TEXT", many=True, section=INPUT)] = "text"
    max_document_bytes: int | None = None  # longer documents are skipped, which bounds the memory
    skip_damaged: Annotated[bool, Option("Leave out lines and rows that cannot be read, and the rest of a truncated file.", "--skip-damaged", section=INPUT)] = False
    # fmt: on

    def __post_init__(self) -> None:
        super().__post_init__()
        fields = self.fields
        if not 0 < len(set(fields)) == len(fields) <= MOST_FIELDS or not all(isinstance(name, str) for name in fields):
            raise UsageError(OptionName("field"), f" is {self.field!r}; give one to {MOST_FIELDS} different names")
        object.__setattr__(self, "field", fields[0] if len(fields) == 1 else fields)
        if self.unit == "separator" and not self.separator:
            raise UsageError(OptionName("unit", "separator"), " needs ", OptionName("separator", ...))
        if self.max_document_bytes is not None and self.max_document_bytes < 1:
            raise UsageError(
                OptionName("max_document_bytes"), f" is {self.max_document_bytes}; it must be at least 1, or None"
            )

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields or columns whose texts make the document."""
        return (self.field,) if isinstance(self.field, str) else tuple(self.field)

    def skipper(self, on_skip: OnSkip | None) -> OnSkip | None:
        """The callback for what cannot be read: `on_skip`, or a warning; None if that is an error."""
        return on_skip or (warn_of_skip if self.skip_damaged else None)


@dataclass(frozen=True, slots=True)
class Document:
    """One text, with its source and its id.

    source: the file or URL it was read from.
    id: its name in that source: a page's id, the number of a line or row, the value of the field or column "id".
    title: a page's title; "" where there is none.
    replaced: how many lone surrogates of its JSON string became U+FFFD.
    """

    text: str
    source: str
    id: str
    title: str = ""
    replaced: int = 0


BY_FIELD = "with --field, or ReadOptions(field=...) in Python"  # end of the messages about a missing field


class Drop(Exception):
    """A record that is left out on purpose. The message is the reason, by which a report counts it."""


class Damaged(Exception):
    """A record that cannot be read as a document. The message is the reason."""


class Column(NamedTuple):
    """One value per document of a block, such as its id.

    data: the bytes of all values. ends: the end of each value, uint64.
    kinds: one byte per value: 1 a string; 2 an integer, true or false; 0 none, which has no bytes.
    """

    data: Any
    ends: Any
    kinds: Any

    @classmethod
    def of(cls, cells: Sequence[bytes | None]) -> Column:
        ends = array("Q", itertools.accumulate(len(cell or b"") for cell in cells))
        return cls(b"".join(filter(None, cells)), ends, bytes(cell is not None for cell in cells))

    @classmethod
    def empty(cls, size: int) -> Column:
        return cls(b"", array("Q", bytes(8 * size)), bytes(size))

    def cell(self, i: int) -> bytes | None:
        return bytes(self.data[self.ends[i - 1] if i else 0 : self.ends[i]]) if self.kinds[i] else None

    def cells(self) -> list[bytes | None]:
        return [self.cell(i) for i in range(len(self.ends))]


class Block:
    """Consecutive documents of one source. `draw` fills the same block again and again.

    data: the bytes; document i is data[ends[i - 1]:ends[i]].
    ends: uint64, an `array`: counting need not wait until NumPy is imported.
    numbers: of the documents in their source. None for a file that is one document.
    names, titles: the ids and titles of the documents, where the source has them and they are read.
    replaced: the number of lone surrogates that became U+FFFD, by the index of the document in the block.
    start: the offset of the data in the source, if its first document began in an earlier block, else 0.
    context: the facts about the whole source that its reader needs for each record.
    goes_on: whether the last document continues in the next block.
    utf8: whether documents that are not UTF-8 are left out.
    skips: what could not be read in this block or before it, in the order of the source.
    drops: the reasons of the documents left out on purpose.
    resume_at: where to resume after this block; a list that JSON can hold.
    parse: replaces the records in `data` by their texts, at `finish`. None where they are texts already.
    """

    def __init__(self, buffer: bytearray | None = None) -> None:
        """buffer: reused for the data, if the source needs a buffer."""
        self.buffer = bytearray() if buffer is None else buffer
        self.reset("", "", "")

    def reset(self, source: str, format: str, label: str) -> None:
        """Empty the block. label: the position of a document in messages, "#" its number, such as "line #"."""
        self.source, self.format, self.label = source, format, label
        self.data: bytes | bytearray | memoryview = b""
        self.ends = array("Q")
        self.numbers: Sequence[int] | None = None
        self.names: Column | None = None
        self.titles: Column | None = None
        self.replaced: dict[int, int] = {}
        self.start = 0
        self.context = ""
        self.goes_on = False
        self.utf8 = True
        self.skips: list[Skip] = []
        self._skipped: list[int] = []  # the numbers of the skipped documents, which come first in `skips`
        self.drops: list[str] = []
        self.resume_at: list[int] = []
        self.parse: Callable[[Block], None] | None = None

    def set_documents(self, documents: Sequence[bytes], numbers: Sequence[int] | None = None) -> None:
        self.data = b"".join(documents)
        self.ends = array("Q", itertools.accumulate(map(len, documents)))
        self.numbers = numbers

    def __getstate__(self) -> dict[str, Any]:
        """Return the block for another process."""
        return vars(self) | {"data": bytes(memoryview(self.data)[: self.nbytes]), "buffer": bytearray()}

    def keep_little(self) -> bytearray:
        """Keep only the data. Return the buffer for the next block: a new one if the data fill this one."""
        free, self.buffer = self.buffer, bytearray()
        if self.data is free:
            if 4 * self.nbytes > len(free):
                return bytearray()
            self.data = bytes(memoryview(free)[: self.nbytes])
        return free

    def finish(self) -> None:
        """Make `data` the texts: parse the records, or leave out the documents that are not UTF-8."""
        parse, self.parse = self.parse, None
        if parse is not None:
            parse(self)
        elif self.utf8 and (bad := not_utf8(self.data, self.ends)):
            start = self.start if self.numbers is None else 0
            for i in bad:
                self.leave_out(i, why_not_utf8(self.data_of(i), start))
            self.keep_others(bad)

    @property
    def nbytes(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def documents(self) -> int:
        """Return the number of documents that begin in this block."""
        return len(self.ends) - (self.start > 0)

    def data_of(self, i: int) -> bytes:
        return bytes(memoryview(self.data)[int(self.ends[i - 1]) if i else 0 : int(self.ends[i])])

    def texts(self) -> Iterator[bytes]:
        """Yield the bytes of each document."""
        return map(self.data_of, range(len(self.ends)))

    def document(self, i: int, errors: str = "strict") -> Document:
        """Return document i of a finished block. errors: see `bytes.decode`."""
        title = ((self.titles and self.titles.cell(i)) or b"").decode()
        text = self.data_of(i).decode(errors=errors)
        return Document(text, self.source, self.name(i), title, self.replaced.get(i, 0))

    def position(self, i: int) -> str:
        """Return the position of document i in its source, for messages."""
        if self.numbers is not None:
            return self.label.replace("#", f"{self.numbers[i]}")
        return f"from byte {self.start:,} on" if self.start else ""

    def name(self, i: int) -> str:
        """Return the id of document i."""
        if self.names is not None and (name := self.names.cell(i)) is not None:
            return name.decode()
        return os.path.basename(self.source) if self.numbers is None else str(self.numbers[i])

    def leave_out(self, i: int, reason: str) -> None:
        """Add a skip for document i."""
        if self.numbers is None:
            self.skips.append(Skip(self.source, self.position(i), reason))
        else:
            self.skip(self.numbers[i], reason)

    def skip(self, number: int, reason: str, left_out: bool = True, position: str = "") -> None:
        """Add a skip for the document with this number, or from it on, before those for the whole source."""
        index = bisect.bisect(self._skipped, number)
        self._skipped.insert(index, number)
        position = position or self.label.replace("#", str(number))
        self.skips.insert(index, Skip(self.source, position, reason, left_out))

    def keep(self, rows: Sequence[int]) -> None:
        """Leave out all documents but these."""
        numbers = self.numbers
        self.set_documents([*map(self.data_of, rows)], numbers and [numbers[i] for i in rows])
        self.names = self.names and Column.of([*map(self.names.cell, rows)])
        self.titles = self.titles and Column.of([*map(self.titles.cell, rows)])
        self.replaced = {new: self.replaced[old] for new, old in enumerate(rows) if old in self.replaced}

    def keep_others(self, gone: Container[int]) -> None:
        """Leave out the documents `gone`."""
        self.keep([i for i in range(len(self.ends)) if i not in gone])

    def set_texts(self, texts: Sequence[bytes], odd: Iterable[int], read: Callable[[Block, int], Document]) -> None:
        """Replace the records by `texts`; `read`, which may raise Drop or Damaged, reads those at `odd`."""
        texts, gone, replaced = list(texts), set(), {}
        names = self.names and self.names.cells()
        titles = self.titles and self.titles.cells()
        for i in odd:
            try:
                document = read(self, i)
            except (Drop, Damaged, UnicodeDecodeError) as error:
                gone.add(i)
                if isinstance(error, Drop):
                    self.drops.append(str(error))
                else:
                    self.leave_out(i, str(error) if isinstance(error, Damaged) else why_not_utf8(error.object))
                continue
            texts[i] = document.text.encode()
            if names and titles:
                names[i], titles[i] = document.id.encode(), document.title.encode()
            if document.replaced:
                replaced[i] = document.replaced
        if replaced and self.numbers:
            surrogates = plural(sum(replaced.values()), "lone surrogate")
            self.skip(self.numbers[min(replaced)], f"{surrogates} in JSON became U+FFFD, from here on", left_out=False)
        self.set_documents(texts, self.numbers)
        self.names = None if names is None else Column.of(names)
        self.titles = None if titles is None else Column.of(titles)
        self.replaced = replaced
        if gone:
            self.keep_others(gone)

    def alone(self) -> list[Block]:
        """Return a block for each document, after one with the skips if there are any."""
        rows: list[list[int]] = [[i] for i in range(len(self.ends))]
        blocks = []
        for kept in [[], *rows] if self.skips else rows:
            blocks.append(block := copy.copy(self))
            block.keep(kept)
            if kept:
                block.skips, block._skipped = [], []
        return blocks


class BlockSource:
    """One source, or a span of it, from which threads draw blocks in turn.

    span: the first and last offset of what is read of a source divided among machines: bytes, or row groups of Parquet.
        Each document is in exactly one of the neighbouring spans.
    ids: whether to read the ids and titles that are stored with the documents.
    resume_at: where the next block begins. Set it before the first block is drawn to resume there.
    number: the index of the source among all.
    stored: the number of stored bytes that were read.
    utf8: the `utf8` of its blocks.
    """

    format = "text"
    label = ""
    has_fields = False
    resume_at: list[int]

    def __init__(self, source: Source, options: ReadOptions, span: Span | None = None, ids: bool = False) -> None:
        self.source = source
        self.name = shown(source)
        self.number = 0
        self.stored = 0
        self.lock = threading.Lock()
        self.done = False
        self._options = options
        self._span = span
        self._ids = ids
        self._opened = False
        self.utf8 = True

    def draw(self, block: Block, pause: Pause = lambda: None) -> bool:
        """Read the next block; return False if there is none. `pause` is called now and then while a pipe is empty.

        A block may have only skips and no documents. Damage ends the source with a skip.
        """
        with self.lock:
            if self.done:
                return False
            block.reset(self.name, self.format, self.label)
            block.utf8 = self.utf8
            try:
                if not self._opened:
                    self._opened = True
                    self._open(pause)
                if not self.done:
                    self._fill(block)
            except BaseException as error:
                if not isinstance(error, InputError) or isinstance(error, RemoteError):
                    self.close()
                    raise
                block.skips.append(Skip(self.name, "", str(error).removeprefix(f"{self.name}: ")))
                self.done = True
            block.resume_at = self.resume_at
            if self.done:
                self.close()
        return True

    def close(self) -> None:
        """Draw no more, and close the file."""
        raise NotImplementedError

    def _open(self, pause: Pause) -> None:
        """Open the source, or set `done` to leave it out; called before the first block, with the lock held."""
        raise NotImplementedError

    def _fill(self, block: Block) -> None:
        """Read the next block, and set `done` with the last; called with the lock held."""
        raise NotImplementedError


class StreamSource(BlockSource):
    """A source that is read as a stream of bytes. `resume_at` begins with a byte offset.

    binary: what to do if its first 64 KiB are not text, as in CountOptions. None does not check them.
    stream: the stream if it is open already, at its beginning.
    """

    def __init__(
        self, source: Source, options: ReadOptions, span: Span | None = None, binary: Binary | None = None
    ) -> None:
        super().__init__(source, options, span)
        self._binary = binary
        self.stream: ByteStream | None = None
        self.resume_at = [0]
        self._span_start = 0
        self._end: int | None = None  # of the span
        self._cut: Cut | None = None
        self._rest = b""  # bytes read after the last block

    def close(self) -> None:
        self.done, self._rest = True, b""
        if self.stream is not None:
            self.stream.close()
            self.stream = None

    def _position(self) -> int:
        """Return the offset of the next block."""
        assert self.stream is not None
        return self.stream.position - len(self._rest)

    def _open(self, pause: Pause) -> None:
        self.stream = self.stream or ByteStream(self.source, pause)
        if self._binary in ("error", "skip") and (reason := _why_binary(self.stream.peek(HEAD))):
            if self._binary == "error":
                raise InputError(f"{self.name}: looks binary: {reason}")
            self.done = True
            return
        if self._span is not None:
            self._span_start, self._end = map(self._boundary, self._span)
        if start := max(self.resume_at[0], self._span_start):
            self.stream.seek(start, pause)

    def _boundary(self, offset: int) -> int:
        """Return the first offset at or after `offset` where the text may be divided: any without `_cut`."""
        size = HEAD
        while offset and self._cut is not None:
            window = bytearray(size)
            with ByteStream(self.source) as stream:
                stream.seek(offset)
                n = stream.readinto(window)
            if (cut := self._cut(window, 0, n)) or n < size:  # the text may be divided at the end of the file
                return offset + (cut or n)
            size *= 2
        return offset

    def _read_on(self, block: Block) -> tuple[int, bool]:
        """Fill the buffer with the rest of the last call and at least as much text again.

        Returns its length, and whether the text ends. Raises InputError at damage, after all text before it.
        """
        stream, length = self.stream, len(self._rest)
        assert stream is not None
        size = max(BLOCK, 2 * length)
        if len(block.buffer) != size:
            block.buffer = bytearray(size)
        block.buffer[:length] = self._rest
        end = size if self._end is None else length + max(0, self._end - stream.position)
        with memoryview(block.buffer)[length:end] as view:
            got = stream.readinto(view)
        self._rest, self.stored = b"", stream.stored_position()
        return length + got, got < size - length and not stream.damaged


def _why_binary(head: bytes) -> str:
    """Return why a file with this beginning is not text; "" for text."""
    nul, bad = head.find(0), head.decode("utf-8", "replace").count("\ufffd")
    if nul < 0 and 3 * bad <= len(head):
        return ""
    reason = f"a NUL byte at offset {nul}" if nul >= 0 else f"{bad:,} of its first {len(head):,} bytes are not UTF-8"
    return f"{reason}; if it is text of another encoding, convert it to UTF-8"


def why_not_utf8(data: bytes, start: int = 0) -> str:
    """Return why `data`, from the byte `start` of a document, cannot be decoded; "" where they can."""
    try:
        data.decode()
        return ""
    except UnicodeDecodeError as error:
        return f"not UTF-8: the byte 0x{data[error.start]:02x} at {start + error.start:,} ({error.reason})"


def too_long(limit: int | None) -> str:
    """Return the reason to skip a document of more than `limit` bytes."""
    return f"longer than {limit:,} bytes; max_document_bytes (--max-document) raises the limit"
