"""What a token file is: its format, the width of an id, the token after each document; and its metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..errors import FormatError, OptionName, UsageError
from ..jobs.outputs import is_device
from ..jobs.work import OUTPUT
from ..options import Option, Options
from ..sources.blocks import ReadOptions

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

FORMATS = ("bin", "npy", "megatron", "parquet")
VERSION = 1
KIND = "tokenmill token file"
SUFFIXES = {"bin": ".bin", "npy": ".npy", "megatron": ".bin", "parquet": ".parquet"}
ROLES = ("ids", "bounds")  # of the files of a token file: the second says where documents begin, and Parquet has none


@dataclass(frozen=True)
class EncodeOptions(Options):
    """What is encoded, and how.

    end_of_text: the special token that follows each document, by its text. True means <|endoftext|> (none in Parquet,
        where the rows separate the documents), False none.
    """

    # fmt: off
    end_of_text: Annotated[str | bool, Option("Token files: the token after each document. [default: <|endoftext|>, in Parquet none]", off="--no-end-of-text", section=OUTPUT)] = True
    # fmt: on
    special: Annotated[bool, Option("Treat special tokens in the text as special tokens.", "--special")] = False
    read: ReadOptions = field(default_factory=ReadOptions)


@dataclass(frozen=True)
class EncodeSummary:
    """What was written.

    path: the file with the ids.
    resumed_bytes: how much of the text had been encoded by an earlier, interrupted call.
    """

    path: Path
    dtype: str
    documents: int
    tokens: int
    text_bytes: int
    skipped: int = 0
    resumed_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Settings:
    """What decides the bytes of a token file, beside the text and the tokenizer.

    format: "bin" (the ids, nothing else), "npy" (NumPy's), "megatron" (Megatron-LM's .bin and .idx), or "parquet" (a row
        for each document).
    dtype: "uint16" or "uint32".
    end_of_text: the id that follows each document; None for none.
    special: whether text that spells a special token becomes that token.
    read: what a document is, and which field or column holds its text.
    """

    format: str
    dtype: str
    end_of_text: int | None = None
    special: bool = False
    read: ReadOptions = field(default_factory=ReadOptions)

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise UsageError(f"the token file format {self.format!r} is not known; known are {', '.join(FORMATS)}")

    @property
    def width(self) -> int:
        """The bytes of an id."""
        return 2 if self.dtype == "uint16" else 4


@dataclass(frozen=True)
class Metadata:
    """What the JSON beside a token file says.

    tokenizer: the fingerprint of the vocabulary: `tok.vocabulary.fingerprint()`.
    files: the sizes in bytes of the other files, by their roles, so that all of them may be renamed.
    documents, tokens, text_bytes: how many there are; the end-of-text tokens count as tokens.
    """

    format: str
    dtype: str
    tokenizer: str
    n_vocab: int
    end_of_text: int | None
    documents: int
    tokens: int
    text_bytes: int
    files: Mapping[str, int]

    def dumps(self) -> str:
        return json.dumps({"kind": KIND, "version": VERSION, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def load(cls, path: Path) -> Metadata:
        """Read the JSON at `path`. Raises FormatError if it is not the metadata of a token file, or has another version."""
        try:
            values = json.loads(path.read_bytes())
            if not isinstance(values, dict) or values.pop("kind", None) != KIND:
                raise FormatError(f"{path}: this is not the metadata of a token file")
            version = values.pop("version", None)
            if version != VERSION:
                raise FormatError(f"{path}: version {version!r} of the metadata; this tokenmill reads {VERSION}")
            loaded = cls(**values)
            counts = (loaded.documents, loaded.tokens, loaded.text_bytes, loaded.n_vocab, *loaded.files.values())
            if not all(type(count) is int and count >= 0 for count in counts):
                raise FormatError(f"{path}: a count is not a whole number")
            if loaded.format not in FORMATS or loaded.dtype not in ("uint16", "uint32"):
                raise FormatError(f"{path}: the format {loaded.format!r} of {loaded.dtype!r} is not known")
            if loaded.end_of_text is not None and type(loaded.end_of_text) is not int:
                raise FormatError(f"{path}: end_of_text is {loaded.end_of_text!r}, not an id")
        except OSError as error:
            raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError(f"{path}: damaged metadata ({error})") from error
        return loaded


def dtype_for(n_vocab: int) -> str:
    """The narrowest type that holds every id below `n_vocab`.

    >>> dtype_for(65_536), dtype_for(65_537)
    ('uint16', 'uint32')
    """
    return "uint16" if n_vocab <= 1 << 16 else "uint32"


def end_of_text_id(tok: Tokenizer, text: str | None) -> int:
    """The id of the special token `text` (None: <|endoftext|>), or a UsageError that names those there are."""
    specials = tok.vocabulary.special_tokens
    wanted = "<|endoftext|>" if text is None else text
    if wanted in specials:
        return specials[wanted]
    there = ", ".join(map(repr, list(specials)[:12])) or "none"
    raise UsageError(
        f"the tokenizer has no special token {wanted!r} to put after each document; its special tokens are: {there}. "
        "Name one of them (",
        OptionName("end_of_text", ...),
        "), or encode without one (",
        OptionName("end_of_text", False),
        ").",
    )


def output_path(output: Path, format: str) -> Path:
    """The file with the ids: `output`, for Megatron with its suffix. UsageError for the suffix of another format.

    format: one of FORMATS, or "text".
    """
    suffix = SUFFIXES.get(format, "")
    if is_device(output) or (suffix and output.name.endswith(suffix)):
        return output
    if output.suffix in (*SUFFIXES.values(), ".idx") and (format, output.suffix) != ("megatron", ".idx"):
        raise UsageError(f"{output} has the suffix of another format than {format}. Name the output NAME{suffix}")
    if format == "megatron":
        return output.with_suffix(suffix) if output.suffix == ".idx" else output.with_name(output.name + suffix)
    return output


def metadata_path(path: Path) -> Path:
    """The metadata of the token file at `path`."""
    return path.with_name(path.name + ".json")


def offsets_path(path: Path) -> Path:
    """Where the documents of a "bin" or "npy" begin and end."""
    return path.with_name(path.name + ".offsets.npy")


def index_path(path: Path) -> Path:
    """The index of a Megatron .bin."""
    return path.with_suffix(".idx")


def bounds_path(path: Path, format: str) -> Path:
    """The file that says where the documents of the token file at `path` begin."""
    return index_path(path) if format == "megatron" else offsets_path(path)
