"""The formats of token files. All but Parquet are the concatenated ids of the documents; see FORMATS."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..errors import FormatError, OptionName, UsageError, reason_of

if TYPE_CHECKING:
    import numpy as np

BLOCK = 1 << 16  # numbers to read at a time: they stay in the cache
AHEAD = 4  # blocks that may wait for a thread
MEGATRON = struct.Struct("<9sQBQQ")  # magic, version, type of an id, sequences, document boundaries
MEGATRON_MAGIC = b"MMIDIDX\0\0"
MEGATRON_TYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}
NPY_TYPES = {"uint16": "<u2", "uint32": "<u4"}
LLMC_MAGIC = {"uint16": struct.pack("<2i", 20240520, 1), "uint32": struct.pack("<2i", 20240801, 7)}


def npy_header(dtype: str, n: int) -> bytes:
    """The 128 bytes before an array of n numbers: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html"""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({n},), }}"
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n"


def summary_of(tokenizer: str, dtype: str, tokens: int) -> bytes:
    """Return three lines: the tokenizer and the bytes of an id; the tokens; and these for people, as in 7.04 MT."""
    power = len(str(tokens)) - 1
    short = f"{tokens / 1000 ** (power // 3):.{2 - power % 3}f} {['', *'kMGTPE'][power // 3]}T"
    return f"{tokenizer}|{2 if dtype == 'uint16' else 4}\n{tokens}\n{short}".encode()


def refuse_long(lengths: Sequence[int], first: int, where: str) -> None:
    """Raise UsageError for a document that is too long for 32 bits. first: the number of the first document."""
    if (most := max(lengths)) >= 1 << 31:
        problem = (
            f"document {first + lengths.index(most):,} has {most:,} tokens; {where} allows at most 2,147,483,647. "
        )
        raise UsageError(problem, "Split it (", OptionName("unit"), "), or choose another format.")


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turn an OSError raised while reading `path` into a FormatError."""
    try:
        yield
    except OSError as error:
        raise FormatError(f"cannot read {path}: {reason_of(error)}") from error


def mapped(path: Path, dtype: Any, length: int, offset: int = 0) -> np.ndarray:
    """Map the array of `length` numbers that begins at the byte `offset` of a file."""
    import numpy as np

    return np.memmap(path, dtype, "r", offset, (length,)) if length else np.zeros(0, dtype)


class TokenFileFormat(NamedTuple):
    """The properties of a format.

    suffix: of the file with the ids. fixed: whether it is always added, because training frameworks need it.
    other_files: their suffixes. The first is that of the index with the offsets of the documents: bounds.py has its reader, and
        output.py the writers. A suffix replaces that of the ids if it is fixed, and is added to it otherwise.
    magic: the first bytes of the file by the type of its ids, "" for any.
    header: returns the bytes before the ids, for their type and number.
    narrow: the largest vocabulary whose ids are uint16. wide: whether larger ones are uint32, or refused.
    most_tokens: in a file.
    cut_documents: whether a shard may end inside a document, so that all have the same number of tokens.
    separator: the default token between documents.
    """

    suffix: str
    fixed: bool = False
    other_files: tuple[str, ...] = (".offsets.npy",)
    magic: Mapping[str, bytes] = {}
    header: Callable[[str, int], bytes] = lambda dtype, tokens: b""
    narrow: int = 1 << 16
    wide: bool = True
    most_tokens: int | None = None
    cut_documents: bool = False
    separator: Literal["begin_of_text", "end_of_text"] | None = "end_of_text"

    def paths(self, path: Path) -> list[Path]:
        """Return the files of a token file: `path` with the ids, and the others."""
        stem = path.name.removesuffix(self.suffix) if self.fixed else path.name
        return [path, *(path.with_name(stem + suffix) for suffix in self.other_files)]


FORMATS = {
    "bin": TokenFileFormat(".bin"),
    "npy": TokenFileFormat(
        ".npy", magic={"": b"\x93NUMPY"}, header=lambda dtype, tokens: npy_header(NPY_TYPES[dtype], tokens)
    ),
    "megatron": TokenFileFormat(".bin", True, (".idx",), narrow=65_499),
    "parquet": TokenFileFormat(".parquet", other_files=(), magic={"": b"PAR1"}, separator=None),
    "nanogpt": TokenFileFormat(".bin", wide=False),
    "llmc": TokenFileFormat(
        ".bin",
        magic=LLMC_MAGIC,
        header=lambda dtype, tokens: (LLMC_MAGIC[dtype] + struct.pack("<i", tokens)).ljust(1024, b"\0"),
        most_tokens=(1 << 31) - 1,
        cut_documents=True,
        separator="begin_of_text",
    ),
    "olmo": TokenFileFormat(".npy", True, (".csv.gz",)),
    "datatrove": TokenFileFormat(".ds", True, (".ds.index", ".ds.metadata")),
}
FORMAT_OF = {format.suffix: name for name, format in reversed(FORMATS.items())}  # by the suffix of an output


def check_magic(path: Path, format: str) -> None:
    """Raise FormatError if a file does not begin with the first bytes of its format, which are the same for all ids."""
    magic = FORMATS[format].magic[""]
    with read_errors(path), open(path, "rb") as file:
        if file.read(len(magic)) != magic:
            raise FormatError(f"{path}: not a {FORMATS[format].suffix} file: it does not begin with {magic!r}")
