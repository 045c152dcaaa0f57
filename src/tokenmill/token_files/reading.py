"""Open token files: the ids as a mapped array, the documents one by one, and the check of the tokenizer."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FormatError, UsageError, require
from .megatron import read_index
from .settings import Metadata, index_path, metadata_path, offsets_path

if TYPE_CHECKING:
    import numpy as np

    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["TokenFile", "is_token_file", "load_tokens"]

BLOCK = 1 << 20


class TokenFile:
    """The documents of a token file, as arrays of ids; made by `load_tokens`.

    path: the file with the ids.
    metadata: what the JSON beside it says; None for a foreign file.
    ids: all ids in one array, mapped from the file (of Parquet: read into memory when it is first asked for).
    offsets: int64, one more than there are documents: document i is ids[offsets[i]:offsets[i + 1]], with the end-of-text
        token that follows it. None where they are not known: then all is one document.

    >>> tokens = load_tokens("train.bin", tok)
    >>> len(tokens), tokens.ids.dtype, tok.decode(tokens[0])
    (1073, dtype('uint16'), 'The first document.')
    """

    def __init__(self, path: Path, metadata: Metadata | None, contents: _Arrays | _Rows):
        self.path, self.metadata, self._contents = path, metadata, contents

    @property
    def ids(self) -> np.ndarray:
        return self._contents.ids

    @property
    def offsets(self) -> np.ndarray | None:
        return self._contents.offsets

    @property
    def end_of_text(self) -> int | None:
        """The id that follows each document, if there is one."""
        return self.metadata.end_of_text if self.metadata else None

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self._contents)

    def __getitem__(self, number: int) -> np.ndarray:
        """The ids of a document, without the end-of-text token that follows it."""
        if not -len(self) <= number < len(self):
            raise IndexError(f"document {number} of {self.path}, which has {len(self):,}")
        return self._text_of(self._contents.document(number % len(self)))

    def __iter__(self) -> Iterator[np.ndarray]:
        """The ids of each document in order, without the end-of-text token; of Parquet, batch by batch."""
        return map(self._text_of, self._contents)

    def _text_of(self, ids: np.ndarray) -> np.ndarray:
        return ids[:-1] if self.end_of_text is not None and len(ids) and ids[-1] == self.end_of_text else ids

    def __repr__(self) -> str:
        return f"<TokenFile {str(self.path)!r}, {len(self):,} documents>"


def load_tokens(
    path: str | os.PathLike, tok: Tokenizer | None = None, *, any_tokenizer: bool = False, dtype: str | None = None
) -> TokenFile:
    """Open a token file: .bin, .npy, Megatron's .bin and .idx, or .parquet.

    tok: the tokenizer it must have been made with; a FormatError if its hash in the metadata is another's, or if there is
        no metadata.
    any_tokenizer: open it all the same.
    dtype: the type of an id, for a .bin of other makers without metadata.
    """
    place = Path(path)
    if place.suffix == ".idx" and place.with_suffix(".bin").exists():
        place = place.with_suffix(".bin")
    if not place.is_file():
        raise FormatError(f"{place}: no such file")
    beside = metadata_path(place)
    metadata = Metadata.load(beside) if beside.exists() else None
    if metadata is not None:
        _check_sizes(place, metadata)
    if tok is not None and not any_tokenizer:
        _check_tokenizer(place, metadata, tok)
    format = metadata.format if metadata else _format(place)
    contents: _Arrays | _Rows
    if format == "parquet":
        contents = _Rows(place, metadata)
    elif format == "megatron":
        found, offsets = read_index(index_path(place))
        contents = _Arrays(_raw(place, metadata.dtype if metadata else found), offsets)
    elif format == "npy":
        contents = _Arrays(_npy(place), _npy(offsets_path(place)) if metadata else None)
    else:
        if metadata is None and dtype is None:
            raise FormatError(
                f"{place}: there is no metadata ({beside.name}) beside it, and raw ids do not tell their type. Name it: "
                'dtype="uint16" (--dtype uint16) or "uint32".'
            )
        contents = _Arrays(
            _raw(place, metadata.dtype if metadata else dtype), _npy(offsets_path(place)) if metadata else None
        )
    contents.check(place)
    return TokenFile(place, metadata, contents)


def is_token_file(path: str | os.PathLike) -> bool:
    """Whether the file at `path` is a token file, by its metadata, its first bytes, or its name."""
    place = Path(path)
    return place.is_file() and (
        metadata_path(place).exists() or place.suffix in (".bin", ".idx") or _format(place) != "bin"
    )


class _Arrays:
    """Ids and offsets as arrays."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray | None):
        self.ids, self.offsets = ids, offsets

    def check(self, path: Path) -> None:
        """Raise FormatError where the offsets are not those of the ids."""
        import numpy as np

        bounds = self.offsets
        if bounds is None:
            return
        if bounds.dtype != np.int64 or not len(bounds) or bounds[0] != 0 or bounds[-1] != len(self.ids):
            raise FormatError(f"{path}: it has {len(self.ids):,} ids, and its documents do not end there")
        for start in range(0, len(bounds), BLOCK):
            if (np.diff(bounds[start : start + BLOCK + 1]) < 0).any():
                raise FormatError(f"{path}: a document ends before it begins")

    def __len__(self) -> int:
        return 1 if self.offsets is None else len(self.offsets) - 1

    def document(self, number: int) -> np.ndarray:
        if self.offsets is None:
            return self.ids
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.document(number) for number in range(len(self)))


class _Rows:
    """The column `ids` of a Parquet file."""

    def __init__(self, path: Path, metadata: Metadata | None):
        require("pyarrow", "corpus", "reading Parquet")
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = path
        self._documents = metadata.documents if metadata else None
        try:
            self._file = pq.ParquetFile(path, pre_buffer=False)
            kind = self._file.schema_arrow.field("ids").type
            if not pa.types.is_list(kind) or not pa.types.is_integer(kind.value_type):
                raise ValueError(f"the column 'ids' holds {kind}")
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise FormatError(f"{path}: no Parquet file of ids: {error}") from error
        self._type = kind.value_type
        self._offsets: np.ndarray | None = None
        self._ids: np.ndarray | None = None
        self._group: tuple[int, Any] | None = None

    def check(self, path: Path) -> None:
        """Raise FormatError where the metadata tells of other documents."""
        if self._documents is not None and self._documents != len(self):
            raise FormatError(f"{path}: {len(self):,} rows; its metadata says {self._documents:,} documents")

    def __len__(self) -> int:
        return self._file.metadata.num_rows

    def document(self, number: int) -> np.ndarray:
        first = 0
        for group in range(self._file.num_row_groups):
            rows = self._file.metadata.row_group(group).num_rows
            if number < first + rows:
                break
            first += rows
        if self._group is None or self._group[0] != group:
            self._group = group, self._read(lambda: self._file.read_row_group(group, columns=["ids"]))
        ids, bounds = self._flat(self._group[1].column("ids").slice(number - first, 1).combine_chunks())
        return ids[bounds[0] : bounds[1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        batches = self._file.iter_batches(1024, columns=["ids"])
        while (batch := self._read(lambda: next(batches, None))) is not None:
            ids, bounds = self._flat(batch.column("ids"))
            for begin, end in itertools.pairwise(bounds):
                yield ids[begin:end]

    @property
    def ids(self) -> np.ndarray:
        return self._whole()[0]

    @property
    def offsets(self) -> np.ndarray:
        return self._whole()[1]

    def _whole(self) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        if self._ids is None or self._offsets is None:
            documents = list(self)
            self._ids = np.concatenate([np.zeros(0, self._type.to_pandas_dtype()), *documents])
            self._offsets = np.cumsum([0, *map(len, documents)], dtype=np.int64)
        return self._ids, self._offsets

    def _flat(self, lists: Any) -> tuple[np.ndarray, np.ndarray]:
        """The ids of several rows in one array, and where each row begins and ends in it."""
        if not len(lists) or lists.values.null_count:
            raise FormatError(f"{self._path}: damaged: a row that is said to be there, or an id in it, is missing")
        return lists.values.to_numpy(zero_copy_only=False), lists.offsets.to_numpy()

    def _read(self, read: Any) -> Any:
        import pyarrow as pa

        try:
            return read()
        except (pa.ArrowException, OSError) as error:
            raise FormatError(f"{self._path}: damaged: {error}") from error


def _format(path: Path) -> str:
    """The format of a file without metadata."""
    try:
        with open(path, "rb") as file:
            head = file.read(6)
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    if head == b"\x93NUMPY":
        return "npy"
    if head.startswith(b"PAR1"):
        return "parquet"
    return "megatron" if path.suffix == ".bin" and index_path(path).exists() else "bin"


def _check_sizes(path: Path, metadata: Metadata) -> None:
    for name, size in metadata.files.items():
        file = path.with_name(Path(name).name)
        found = file.stat().st_size if file.is_file() else None
        if found != size:
            there = "is missing" if found is None else f"has {found:,} bytes"
            raise FormatError(f"{path}: {file.name} {there}; {metadata_path(path).name} says {size:,} bytes")


def _check_tokenizer(path: Path, metadata: Metadata | None, tok: Tokenizer) -> None:
    ways = "Use the tokenizer it was made with, or say that this one will do: any_tokenizer=True (--any-tokenizer)."
    if metadata is None:
        raise FormatError(
            f"{path}: there is no metadata ({metadata_path(path).name}) beside it that tells its tokenizer. {ways}"
        )
    own = tok.vocabulary.fingerprint()
    if metadata.tokenizer != own:
        raise FormatError(
            f"{path} was made with another tokenizer: its hash is {metadata.tokenizer[:16]}..., this one's "
            f"{own[:16]}.... {ways}"
        )


def _raw(path: Path, dtype: Any) -> np.ndarray:
    import numpy as np

    try:
        width = np.dtype(dtype)
    except TypeError as error:
        raise UsageError(f"dtype is {dtype!r}; give uint16 or uint32") from error
    size = path.stat().st_size
    if size % width.itemsize:
        raise FormatError(f"{path}: {size:,} bytes are no whole number of {width.name} ids. Is it cut off?")
    if not size:
        return np.zeros(0, width)
    return np.memmap(path, width.newbyteorder("<"), "r")


def _npy(path: Path) -> np.ndarray:
    import numpy as np

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy parses the header as Python, and raises whatever that raises
        raise FormatError(f"{path}: no readable .npy file: {error}") from error
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise FormatError(f"{path}: an array of {array.dtype} with shape {array.shape}, not one of ids in a row")
    return array
