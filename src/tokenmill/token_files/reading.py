"""Opens token files: the ids as a mapped array, the documents one by one, and a check of the tokenizer."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

import numpy as np

from ..errors import FormatError, OptionName, UsageError, plural, require, suggests_options
from ..jobs.in_order import map_in_order
from ..vocabulary.lazy import lazy
from .bounds import READERS, Bounds, read_npy
from .formats import AHEAD, BLOCK, FORMATS, check_magic, mapped, read_errors
from .settings import COPY, ROLES, BlockHashes, Metadata, metadata_path

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

T = TypeVar("T")


class TokenFile:
    """The documents of a token file, as arrays of ids; made by `load_tokens`.

    path: the file with the ids.
    metadata: the contents of the JSON file next to it; None for a foreign file.
    ids: all ids in one array, mapped from the file. Those of Parquet are in memory.
    offsets: int64, one more than there are documents. Document i is ids[offsets[i]:offsets[i + 1]], the tokens before and
        after it included. If no file records them, all ids are one document.
    A pickle contains the path, not the ids: the file is opened again on first use.

    >>> tokens = load_tokens("train.bin", tok=tok)
    >>> len(tokens), tokens.ids.dtype, tok.decode(tokens[0])
    (1073, dtype('uint16'), 'The first document.')
    """

    def __init__(self, path: Path, metadata: Metadata | None, dtype: str | None = None):
        self.path, self.metadata, self._dtype = path, metadata, dtype

    @lazy
    def _contents(self) -> tuple[np.ndarray, Bounds | None]:
        if self.metadata is not None:
            _check_sizes(self.path, self.metadata)
        ids, bounds = _opened(self.path, self.metadata, self._dtype)
        if bounds is not None:
            _check_offsets(FORMATS[self.format].paths(self.path)[:2][-1], ids, bounds.offsets)
            if self.metadata is not None:
                _check_counts(self.path, self.metadata, document=len(bounds.offsets) - 1, token=len(ids))
        return ids, bounds

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path.absolute(), "metadata": self.metadata, "_dtype": self._dtype}

    @property
    def ids(self) -> np.ndarray:
        return self._contents[0]

    @property
    def _divided(self) -> bool:
        """Return whether the ends of the documents are known."""
        return self._contents[1] is not None

    @property
    def offsets(self) -> np.ndarray:
        ids, bounds = self._contents
        return np.array([0, len(ids)]) if bounds is None else bounds.offsets

    def _offset_blocks(self, first: int, last: int) -> Iterator[np.ndarray]:
        """Yield the offsets of documents first to last - 1 in blocks, each with the end of its last document."""
        return (self.offsets[start : min(start + BLOCK, last) + 1] for start in range(first, last, BLOCK))

    @property
    def format(self) -> str:
        """The name of the format, such as "bin"."""
        return self.metadata.format if self.metadata else _format(self.path)[0]

    def id_blocks(self) -> Iterator[Any]:
        """Yield the bytes of the ids in blocks of whole ids. A block is valid until four more are drawn.

        Raises FormatError if the file is truncated meanwhile, and after the last block if a hash is wrong.
        """
        return self._hashed("ids", self._id_blocks())

    def _id_blocks(self) -> Iterator[Any]:
        offset, left = getattr(self.ids, "offset", None), self.ids.nbytes
        if offset is None:  # they are in memory
            yield from (self.ids[start : start + COPY].tobytes() for start in range(0, len(self.ids), COPY))
            return
        buffers = itertools.cycle([memoryview(bytearray(COPY)) for _ in range(2 * AHEAD)])  # half wait for their hash
        with open(self.path, "rb") as file:
            file.seek(offset)
            while left:
                data = next(buffers)[:left]
                if file.readinto(data) < len(data):
                    raise FormatError(f"{self.path}: the file was cut off while it was read")
                left -= len(data)
                yield data

    def length_blocks(self) -> Iterator[np.ndarray]:
        """Yield the number of ids of each document, with the tokens before and after, in blocks of int64.

        Raises FormatError after the last block if a hash is wrong.
        """
        return self._hashed("lengths", map(np.diff, self._offset_blocks(0, len(self))))

    def _hashed(self, name: str, blocks: Iterator[T]) -> Iterator[T]:
        """Yield the blocks, which another thread hashes ahead of the caller."""
        if self.metadata is None:
            yield from blocks
            return
        rows = self.metadata.hashes[name]
        hashes = BlockHashes(sizes=(size for size, _ in rows))

        def hashed(block: T) -> T:
            hashes.update(block)
            return block

        with ThreadPoolExecutor(1, "tokenmill-hash") as pool:
            yield from map_in_order(pool, hashed, blocks, AHEAD)
        first = 0
        for old, new in zip_longest(rows, hashes.rows()):
            size = (new or old)[0]
            if old != new:
                damage = f"the {size:,} bytes of ids from byte {first + getattr(self.ids, 'offset', 0):,} on"
                if name == "lengths":
                    damage = f"the lengths of documents from document {first // 8:,} on"
                raise FormatError(
                    f"{self.path}: {damage} are not those that were written, by the SHA-256 in its metadata"
                )
            first += size

    @property
    def end_of_text(self) -> int | None:
        """The id that follows each document, if there is one."""
        return self.metadata.end_of_text if self.metadata else None

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, number: SupportsIndex) -> np.ndarray: ...
    @overload
    def __getitem__(self, number: slice) -> list[np.ndarray]: ...
    def __getitem__(self, number: SupportsIndex | slice) -> np.ndarray | list[np.ndarray]:
        """The ids of a document without the tokens before and after it; for a slice, a list of them."""
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        try:
            index = operator.index(number)
        except TypeError:
            raise UsageError(f"the number of a document is {number!r}; give a whole number or a slice") from None
        if not -len(self) <= index < len(self):
            raise IndexError(f"document {index} of {self.path}, which has {len(self):,}")
        begin, end = self.offsets[index % len(self) :][:2]
        return self._text_of(self.ids[begin:end])

    def __iter__(self) -> Iterator[np.ndarray]:
        """The ids of each document in order, without the tokens before and after."""
        for block in self._offset_blocks(0, len(self)):
            for begin, end in itertools.pairwise(block.tolist()):
                yield self._text_of(self.ids[begin:end])

    def _text_of(self, ids: np.ndarray) -> np.ndarray:
        begin = self.metadata.begin_of_text if self.metadata else None
        if begin is not None and len(ids) and ids[0] == begin:
            ids = ids[1:]
        return ids[:-1] if self.end_of_text is not None and len(ids) and ids[-1] == self.end_of_text else ids

    def __repr__(self) -> str:
        return f"<TokenFile {str(self.path)!r}, {plural(len(self), 'document')}>"


@suggests_options
def load_tokens(
    path: str | os.PathLike[str],
    *,
    tok: Tokenizer | None = None,
    any_tokenizer: bool = False,
    dtype: str | type | np.dtype | None = None,
) -> TokenFile:
    """Open a token file in any format that tokenmill writes, including files from other programs.

    tok: the tokenizer the file must have been made with. A FormatError is raised if the metadata contains another hash, or
        if there is no metadata.
    any_tokenizer: skip that check.
    dtype: the type of an id in a file of raw ids without metadata: "uint16" or "uint32", or NumPy's. A UsageError if the
        file records another.
    """
    file = Path(path)
    if file.suffix == ".idx" and file.with_suffix(".bin").exists():
        file = file.with_suffix(".bin")
    if file.is_dir():
        raise FormatError(f"{file}: is a folder. Give a token file in it.")
    if not file.is_file():
        raise FormatError(f"{file}: no such file")
    id_type = None if dtype is None else dtype.__name__ if isinstance(dtype, type) else str(dtype)
    if id_type not in (None, "uint16", "uint32"):
        raise UsageError(f'dtype is {dtype!r}; give "uint16" or "uint32"')
    metadata_file = metadata_path(file)
    metadata = Metadata.load(metadata_file) if metadata_file.exists() else None
    tokens = TokenFile(file, metadata, id_type)
    if tok is not None and not any_tokenizer:
        check_tokenizer(file, metadata, tok)
    tokens._contents  # noqa: B018  opened now, so that a damaged file is an error here
    return tokens


def _opened(path: Path, metadata: Metadata | None, dtype: str | None) -> tuple[np.ndarray, Bounds | None]:
    name, recorded = (metadata.format, metadata.dtype) if metadata else _format(path)
    if name == "parquet":
        return _read_parquet(path)
    format = FORMATS[name]
    _, index, *_ = format.paths(path)
    bounds = READERS[format.other_files[0]](index) if metadata or index.exists() else None
    if name == "npy":
        return read_npy(path), bounds
    id_type = recorded or (bounds and bounds.dtype) or dtype
    if dtype is not None and id_type != dtype:
        raise UsageError(f"{path}: its ids are {id_type}, as it records: leave out ", OptionName("dtype"))
    if id_type is None:
        raise FormatError(
            f"{path} is not a known kind of token file, and there is no metadata ({metadata_path(path).name}) next to it. "
            "If it contains raw ids, name their type: ",
            OptionName("dtype", "uint16"),
            " or ",
            OptionName("dtype", "uint32"),
            ".",
        )
    return _raw(path, np.dtype(id_type), format.header), bounds


def is_token_file(path: str | os.PathLike) -> bool:
    """Return whether `path` is a token file, by its metadata, its first bytes, or its name."""
    file = Path(path)
    return file.is_file() and (
        metadata_path(file).exists() or file.suffix in (".bin", ".idx") or _format(file)[0] != "bin"
    )


def _check_offsets(path: Path, ids: np.ndarray, offsets: np.ndarray) -> None:
    """Raise FormatError if the offsets, from the file `path`, do not fit the ids."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(ids):
        raise FormatError(f"{path}: there are {len(ids):,} ids, and its offsets do not begin at 0 and end there")
    if (wrong := offsets[1:] < offsets[:-1]).any():
        raise FormatError(f"{path}: document {int(wrong.argmax()):,} ends before it starts")


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file of ids. FormatError for damage, and for a wrong checksum of a page that has one."""
    require("pyarrow", "corpus", "reading Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_magic(path, "parquet")
    try:
        stored = pa.OSFile(os.fsencode(path))  # a str must be UTF-8
        with stored, pq.ParquetFile(stored, page_checksum_verification=True) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise FormatError(f"{path}: damaged, or not a Parquet file of ids: {error}") from error


def _read_parquet(path: Path) -> tuple[np.ndarray, Bounds]:
    """Read the column `ids` of a Parquet file."""
    with open_parquet(path) as file:
        if "ids" not in (names := file.schema_arrow.names):
            raise FormatError(
                f"{path}: not a Parquet file of ids: no column 'ids'; the columns are {', '.join(names[:20])}"
            )
        column = file.read(columns=["ids"]).column("ids")
    import pyarrow as pa

    dtype, chunks = column.type, column.chunks
    if not (pa.types.is_list(dtype) or pa.types.is_large_list(dtype)) or not pa.types.is_integer(dtype.value_type):
        raise FormatError(f"{path}: not a Parquet file of ids: the column 'ids' contains {dtype}")
    if any(chunk.null_count or chunk.values.null_count for chunk in chunks):
        raise FormatError(f"{path}: damaged: a row or an id is missing")
    ids = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in chunks] or [np.zeros(0, str(dtype.value_type))]
    lengths = [np.zeros(1, np.int64), *(np.diff(chunk.offsets.to_numpy()) for chunk in chunks)]
    return np.concatenate(ids), Bounds(np.cumsum(np.concatenate(lengths)))


def _format(path: Path) -> tuple[str, str | None]:
    """Return the format of a file without metadata, and the type of its ids if the first bytes record it."""
    with read_errors(path), open(path, "rb") as file:
        head = file.read(8)
    for name, format in FORMATS.items():
        for dtype, magic in format.magic.items():
            if head.startswith(magic):
                return name, dtype or None
    for name, format in FORMATS.items():
        if format.fixed and path.suffix == format.suffix and format.paths(path)[1].exists():
            return name, None
    return "bin", None


def _check_sizes(path: Path, metadata: Metadata) -> None:
    for role, file in zip(ROLES, FORMATS[metadata.format].paths(path), strict=False):
        size = metadata.files.get(role)
        actual = file.stat().st_size if file.is_file() else None
        if actual != size:
            state = "is missing" if actual is None else f"has {actual:,} bytes"
            raise FormatError(f"{path}: {file.name} {state}; {metadata_path(path).name} says {size or 0:,} bytes")


def _check_counts(path: Path, metadata: Metadata, **counts: int) -> None:
    for name, count in counts.items():
        if count != (recorded := getattr(metadata, f"{name}s")):
            raise FormatError(f"{path}: it has {plural(count, name)}; {metadata_path(path).name} says {recorded:,}")


def check_tokenizer(path: Path, metadata: Metadata | None, tok: Tokenizer, *, can_skip: bool = True) -> None:
    """Raise FormatError for the file of another tokenizer. can_skip: the caller has the option any_tokenizer."""
    skip = OptionName("any_tokenizer", True)
    if metadata is None:
        raise FormatError(
            f"{path}: there is no metadata ({metadata_path(path).name}) next to it, and the file does not record its "
            "tokenizer. To use this one, pass ",
            skip,
            ".",
        )
    own = tok.vocabulary.fingerprint()
    if metadata.tokenizer != own:
        raise FormatError(
            f"{path} was made with another tokenizer: the hash of that one is {metadata.tokenizer[:16]}..., the hash of "
            f"this one {own[:16]}.... Use the tokenizer it was made with",
            *([", or skip this check with ", skip] if can_skip else []),
            ".",
        )


def _raw(path: Path, dtype: np.dtype, header: Callable[[str, int], bytes]) -> np.ndarray:
    begin, size = len(header(dtype.name, 0)), path.stat().st_size
    tokens, rest = divmod(size - begin, dtype.itemsize)
    if rest or tokens < 0:
        raise FormatError(f"{path}: {size:,} bytes are not a whole number of {dtype.name} ids. Was the file cut off?")
    with open(path, "rb") as file:
        if file.read(begin) != header(dtype.name, tokens):
            raise FormatError(f"{path}: the header is damaged, or does not say {tokens:,} ids, which the file has")
    return mapped(path, dtype, tokens, begin)
