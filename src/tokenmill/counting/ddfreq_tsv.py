"""Word counts from and to other programs: ddtokens' .ddfreq files, and TSV.

.ddfreq: the number of entries, then for each the length of the pretoken, its bytes, and its count. All numbers are 64-bit
and little-endian.

.tsv: a header line `pretoken<TAB>count`, then a line for each pretoken. Nothing is quoted. In a pretoken a backslash
is \\\\, tab, newline and carriage return are \\t, \\n and \\r, and \\xNN is the byte of a control character, or a byte that
is not UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FormatError, UsageError
from ..jobs.outputs import atomic_file
from ..sources.streams import ByteStream
from ._ddfreq_cy import format_entries, parse_entries
from .rows import FrequentRows
from .store import Written

if TYPE_CHECKING:
    import numpy as np

    from .rows import Rows

SUFFIXES = (".ddfreq", ".tsv")
CHUNK = 1 << 22
ESCAPES = {ord("\\"): "\\\\", ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
ESCAPES |= {code: f"\\x{code:02x}" for code in [*range(32), 127] if code not in ESCAPES}
ESCAPES |= {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(128, 256)}  # as surrogateescape decodes a stray byte
HEADER = b"pretoken\tcount"
BACK = {"t": b"\t", "n": b"\n", "r": b"\r", "\\": b"\\"}


def escape(pretoken: bytes) -> str:
    r"""A pretoken as it is written in a TSV file.

    >>> escape(b"a\tb\\ \xff"), escape("é".encode())
    ('a\\tb\\\\ \\xff', 'é')
    """
    return pretoken.decode("utf-8", "surrogateescape").translate(ESCAPES)


def unescape(text: str) -> bytes:
    """The pretoken that `escape` wrote; raises ValueError for an unknown escape.

    >>> unescape(escape(bytes(range(256)))) == bytes(range(256))
    True
    """
    if "\\" not in text:
        return text.encode()

    def one(match: re.Match) -> str:
        code = match[1]
        if code.startswith("x") and len(code) == 3:
            return bytes([int(code[1:], 16)]).decode("latin-1")
        if code not in BACK:
            raise ValueError(f"\\{code} is not an escape; a backslash is written \\\\")
        return BACK[code].decode()

    # Bytes as characters of the same number, so that \xNN can be any byte.
    return re.sub(r"\\(x[0-9a-fA-F]{2}|.|$)", one, text.encode().decode("latin-1")).encode("latin-1")


def is_counts_file(path: Path) -> bool:
    """Whether a file holds word counts: a .ddfreq, or a .tsv with the header that `write_counts_file` writes.

    Raises UsageError for a .tsv without it whose lines are all texts with a number: that may be either.
    """
    if path.suffix not in SUFFIXES or not path.is_file():
        return False
    if path.suffix == ".ddfreq":
        return True
    with ByteStream(path) as stream:
        head = stream.read(1 << 16)
    lines = head.split(b"\n")
    if lines[0] == HEADER:
        return True
    lines = lines[:-1] or lines  # the last one may be cut off
    if head and all(re.fullmatch(rb"[^\t]*\t[0-9]+", line) for line in lines):
        raise UsageError(
            f"{path} may hold word counts: each of its first lines is a text, a tab and a number. If it does, put the "
            f"line {HEADER.decode()!r} first; if it is text, give it the suffix .txt"
        )
    return False


def read_counts_file(path: Path) -> Iterator[Rows]:
    """The rows of a .ddfreq or .tsv file, in the order of the file. Damage raises a FormatError that says where."""
    return (_read_ddfreq if path.suffix == ".ddfreq" else _read_tsv)(path)


def is_split_by_ddtokens(rows: Rows) -> bool:
    """Whether each pretoken can be one of the pattern `ddtokens`: with white space of ASCII at its start alone, or a newline.

    A .ddfreq file does not name its pattern.
    """
    import numpy as np

    arena, offsets, _ = rows
    sizes = np.diff(offsets)
    spaces = (arena == 32) | (arena - np.uint8(9) < 5)
    spaces[offsets[:-1][sizes > 0]] = False
    with_newline = np.searchsorted(offsets, np.flatnonzero(arena == 10), side="right") - 1
    return not spaces.any() and bool((sizes[with_newline] == 1).all())


def write_counts_file(path: Path, batches: Iterable[Rows], min_count: int = 0) -> Written:
    """Write the rows that were seen at least `min_count` times to a .ddfreq or .tsv file."""
    is_ddfreq = path.suffix == ".ddfreq"
    distinct = total = 0
    with atomic_file(path, "wb") as file:
        file.write(bytes(8) if is_ddfreq else HEADER + b"\n")
        frequent = FrequentRows(batches, min_count)
        for rows in frequent:
            file.write(_entries(rows) if is_ddfreq else _tsv_lines(rows))
            distinct += len(rows[2])
            total += int(rows[2].sum())
        if is_ddfreq:
            file.seek(0)
            file.write(distinct.to_bytes(8, "little"))
    return Written(distinct, total, frequent.left_out)


def _read_ddfreq(path: Path) -> Iterator[Rows]:
    import numpy as np

    with ByteStream(path, text=False) as stream:
        header = stream.read(8)
        if len(header) < 8:
            raise FormatError(f"{path} is not a .ddfreq file: it has fewer than 8 bytes")
        left = total = int.from_bytes(header, "little")
        buffer = bytearray(CHUNK)
        filled = 0
        while True:
            filled += stream.readinto(memoryview(buffer)[filled:])
            data = np.frombuffer(buffer, np.uint8)[:filled]
            most = min(left, filled // 16 + 1)
            arena, counts = np.empty(filled, np.uint8), np.empty(most, np.uint64)
            offsets = np.zeros(most + 1, np.uint64)
            used, rows = parse_entries(data, arena, offsets, counts)
            del data  # it holds the buffer
            left -= rows
            if rows:
                yield arena[: int(offsets[rows])], offsets[: rows + 1], counts[:rows]
            at_end = filled < len(buffer)
            if left == 0:
                rest = filled - used
                if rest or not at_end:
                    raise FormatError(f"{path} goes on after its {total:,} entries, at byte {stream.position - rest:,}")
                return
            if at_end:
                raise FormatError(
                    f"{path} ends at byte {stream.position:,} after {total - left:,} of its {total:,} entries. "
                    "It was cut off, or is not a .ddfreq file."
                )
            buffer[: filled - used] = buffer[used:filled]
            filled -= used
            if filled == len(buffer):  # one entry of more than that
                buffer.extend(bytes(len(buffer)))


def _entries(rows: Rows) -> np.ndarray:
    import numpy as np

    arena, offsets, counts = rows
    out = np.empty(16 * len(counts) + int(offsets[-1]) - int(offsets[0]), np.uint8)
    format_entries(arena, offsets, counts, out)
    return out


def _read_tsv(path: Path) -> Iterator[Rows]:
    pretokens: list[bytes] = []
    counts: list[int] = []
    size = 0
    for number, line in enumerate(_lines(path), 1):
        try:
            if number == 1 and line == HEADER:
                continue
            text, _, count = line.decode().rpartition("\t")
            if not count.isascii() or not count.isdecimal() or int(count) >= 2**64:
                raise ValueError(f"{count!r} is not a count")
            pretokens.append(unescape(text))
            counts.append(int(count))
        except ValueError as error:  # UnicodeDecodeError is one
            raise FormatError(f"{path}, line {number}: {error}; a line is a pretoken, a tab and its count") from error
        size += len(pretokens[-1])
        if size > CHUNK or len(pretokens) > 1 << 17:
            yield _rows(pretokens, counts)
            pretokens, counts, size = [], [], 0
    yield _rows(pretokens, counts)


def _tsv_lines(rows: Rows) -> bytes:
    arena, offsets, counts = rows
    data, ends = arena.tobytes(), offsets.tolist()
    lines = [f"{escape(data[ends[i] : ends[i + 1]])}\t{count}\n" for i, count in enumerate(counts.tolist())]
    return "".join(lines).encode()


def _lines(path: Path) -> Iterator[bytes]:
    rest = b""
    with ByteStream(path) as stream:
        while chunk := stream.read(CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
    if rest:
        yield rest


def _rows(pretokens: list[bytes], counts: list[int]) -> Rows:
    import numpy as np

    offsets = np.zeros(len(pretokens) + 1, np.uint64)
    np.cumsum([len(pretoken) for pretoken in pretokens], out=offsets[1:])
    return np.frombuffer(b"".join(pretokens), np.uint8), offsets, np.array(counts, np.uint64)
