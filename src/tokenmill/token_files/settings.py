"""The settings of a token file: its format, the type of an id, the tokens around documents; and its metadata."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..errors import FormatError, OptionName, UsageError, refuse_wrong_types
from ..formats.merges_txt import TOKEN_ROLES
from ..jobs.outputs import is_device, named
from ..jobs.work import OUTPUT
from ..options import Option, Options
from ..sources.blocks import ReadOptions
from .formats import FORMAT_OF, FORMATS, TokenFileFormat, read_errors

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

COPY = 1 << 20  # bytes to copy at a time: they stay in the cache
VERSION = 1
MOST_PARTS = 100_000
MOST_SHARDS = 1_000_000  # their numbers have six digits
KIND = "tokenmill token file"
Row = list[Any]  # [bytes, SHA-256] of a block, as JSON has it
SHARD = ("number", "of", "first_document", "ids_before")  # of a numbered file
ROLES = ("ids", "bounds", "summary")  # of the files of a token file, in the order of TokenFileFormat.paths
# fmt: off
IdType = Annotated[Literal["uint16", "uint32"] | None, Option("uint16 or uint32, for a .bin without metadata.")]
ShardTokens = Annotated[int | None, Option("Token files: write numbered files of this many tokens, e.g. 100M.", min=1, section=OUTPUT)]
ValShard = Annotated[bool, Option("Name the first numbered file val, and the others train.", "--val-shard", section=OUTPUT)]
# fmt: on


@dataclass(frozen=True)
class EncodeOptions(Options):
    """Encoding options.

    end_of_text, begin_of_text: the special tokens after and before each document, by their texts. False means none. True
        is the format's default: most have the tokenizer's own (<|endoftext|>, </s> and so on) after each document, "llmc" has
        it before, "parquet" has none.
    shard_tokens: the number of tokens of each numbered file: exact for "llmc", else a maximum, in whole documents.
    val_shard: whether the first of them is named val, for validation, and the others train.
    part: such as "3/64": encode only the third of 64 parts of the sources, to a file named after it.
    """

    # fmt: off
    end_of_text: Annotated[str | bool, Option("Token files: the token after each document. [default: the tokenizer's, such as <|endoftext|>; none in llmc and parquet]", off="--no-end-of-text", section=OUTPUT)] = True
    begin_of_text: Annotated[str | bool, Option("Token files: the token before each document. [default: none; in llmc the tokenizer's, else its end-of-text token]", off="--no-begin-of-text", section=OUTPUT)] = True
    shard_tokens: ShardTokens = None
    val_shard: ValShard = False
    part: Annotated[str | None, Option("Encode only one part of the sources, such as 3/64: `join` makes one file of all parts.", metavar="K/N", section=OUTPUT)] = None
    special: Annotated[bool, Option("Treat special tokens in the text as special tokens.", "--special")] = False
    # fmt: on
    read: ReadOptions = field(default_factory=ReadOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.val_shard and self.shard_tokens is None:
            raise UsageError(OptionName("val_shard", True), " needs ", OptionName("shard_tokens", ...))
        number, num_parts = self.part_number or (1, 1)
        if not 1 <= number <= num_parts <= MOST_PARTS:
            raise UsageError(
                OptionName("part", self.part), f": parts are numbered from 1 to their number, at most {MOST_PARTS:,}"
            )

    @property
    def part_number(self) -> tuple[int, int] | None:
        """The number of the part, and the number of parts."""
        if self.part is None:
            return None
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", self.part)
        if match is None:
            raise UsageError(
                OptionName("part"), f" is {self.part!r}; give the number of a part and of all, such as 3/64"
            )
        return int(match[1]), int(match[2])


@dataclass(frozen=True)
class EncodeSummary:
    """Result of encoding to a token file.

    path: the file with the ids, or the first of several.
    separators: the tokens before and after documents, which are part of `tokens`.
    files: how many numbered files there are; 0 if the ids are in one file.
    dropped: characters without a token; see `Tokenizer.count_dropped`.
    resumed_bytes: how much of the text had been encoded by an earlier, interrupted call.
    """

    path: Path
    dtype: str
    documents: int
    tokens: int
    text_bytes: int
    skipped: int = 0
    dropped: int = 0
    resumed_bytes: int = 0
    files: int = 0
    seconds: float = 0.0
    separators: int = 0

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of text per token of text, so without separators; None if there is no text."""
        return self.text_bytes / (self.tokens - self.separators) if self.text_bytes else None


@dataclass(frozen=True)
class Settings:
    """The settings that decide the bytes of a token file, in addition to the text and the tokenizer.

    format: one of FORMATS.
    dtype: "uint16" or "uint32".
    begin_of_text, end_of_text: the ids before and after each document; None for none.
    """

    format: str
    dtype: str
    begin_of_text: int | None = None
    end_of_text: int | None = None
    options: EncodeOptions = field(default_factory=EncodeOptions)

    @property
    def width(self) -> int:
        return 2 if self.dtype == "uint16" else 4

    @property
    def header(self) -> int:
        """The number of bytes before the ids."""
        return len(FORMATS[self.format].header(self.dtype, 0))

    def check_tokens(self, tokens: int) -> None:
        """Raise UsageError for more tokens in a file than the format allows."""
        most = FORMATS[self.format].most_tokens
        if most is not None and min(tokens, self.options.shard_tokens or tokens) > most:
            raise UsageError(
                f"a file of the format {self.format} has at most {most:,} tokens. Write several: ",
                OptionName("shard_tokens", min(100_000_000, most)),
            )


class BlockHashes:
    """Rows [bytes, SHA-256] of blocks of data. They locate damage, and a resumed job hashes at most one block again.

    rows: of the blocks before. sizes: of the next blocks; after them, and by default, a block has 16 MiB.
    whole: the rows of the whole blocks.
    """

    SIZE = 1 << 24

    def __init__(self, rows: Iterable[Row] = (), sizes: Iterable[int] = ()) -> None:
        self.whole, self._sizes = [*rows], chain(sizes, repeat(self.SIZE))
        self._start_block()

    def _start_block(self) -> None:
        self._hash, self._size, self._full = hashlib.sha256(), 0, next(self._sizes)

    def update(self, data: Any) -> None:
        view = memoryview(data)
        view = view.cast("B") if view.nbytes else view[:0]
        while len(view):
            block, view = view[: self._full - self._size], view[self._full - self._size :]
            self._hash.update(block)
            self._size += len(block)
            if self._size == self._full:
                self.whole = self.rows()
                self._start_block()

    def rows(self) -> list[Row]:
        """Return the rows of the whole blocks, and of the rest if there is one."""
        return [*self.whole, [self._size, self._hash.hexdigest()]] if self._size else self.whole


@dataclass(frozen=True)
class Metadata:
    """The content of the JSON next to a token file.

    tokenizer: the fingerprint of the vocabulary: `tok.vocabulary.fingerprint()`.
    files: the sizes in bytes of the other files, by their roles, so that all of them may be renamed.
    documents, tokens, text_bytes: the totals, with the tokens before and after documents. text_bytes is unknown for a
        numbered file.
    hashes: of the ids, without a header, and of the lengths of the documents as int64: [bytes, SHA-256] of each block.
        A block has 16 MiB, the last one less; the ids of a joined file have the blocks of its files.
    sources: their number, their bytes, and a hash of their names and sizes in order.
    options: the reading options, and whether special tokens in the text were encoded as such.
    part: of a file of a part: its number, and the number of parts, which have the same `sources`.
    shard: of a numbered file: its number, the number of files, the number of its first document among all, from 0 on,
        and the number of ids of that document in the files before.
    """

    format: str
    dtype: str
    tokenizer: str
    n_vocab: int
    begin_of_text: int | None
    end_of_text: int | None
    documents: int
    tokens: int
    text_bytes: int | None
    files: Mapping[str, int]
    hashes: Mapping[str, Sequence[Row]]
    sources: Mapping[str, Any]
    options: Mapping[str, Any]
    part: Mapping[str, int] | None = None
    shard: Mapping[str, int] | None = None

    def dumps(self) -> str:
        return json.dumps({"kind": KIND, "version": VERSION, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def load(cls, path: Path) -> Metadata:
        """Read the JSON at `path`. Raises FormatError if it is not the metadata of a token file, or has another version."""
        with read_errors(path):
            data = path.read_bytes()
        try:
            values = json.loads(data)
            if not isinstance(values, dict) or values.pop("kind", None) != KIND:
                raise FormatError(f"{path}: this is not the metadata of a token file")
            version = values.pop("version", None)
            if type(version) is int and version > VERSION:
                raise FormatError(
                    f"{path} was made by a newer version of tokenmill (format {version}; this one reads {VERSION}). Update tokenmill."
                )
            if version != VERSION:
                raise FormatError(f"{path}: version {version!r} of the metadata; this tokenmill reads {VERSION}")
            required = {field.name: field.default is MISSING for field in fields(cls)}
            if wrong := sorted({*filter(required.get, required)} - values.keys() | values.keys() - required.keys()):
                raise ValueError(f"the field {wrong[0]!r} is {'unknown' if wrong[0] in values else 'missing'}")
            loaded = cls(**values)
            loaded._refuse_impossible()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise FormatError(f"{path}: damaged metadata ({error})") from error
        return loaded

    def _refuse_impossible(self) -> None:
        """Raise ValueError, TypeError or KeyError for impossible values."""
        refuse_wrong_types(vars(self), type(self).__annotations__, globals())
        part, shard = self.part or {"number": 1, "of": 1}, self.shard or dict.fromkeys(SHARD, 0)
        counts = [self.documents, self.tokens, self.text_bytes, self.n_vocab, self.begin_of_text, self.end_of_text]
        counts += [*self.files.values(), *part.values(), *shard.values(), self.sources["number"], self.sources["bytes"]]
        for size, digest in chain(*self.hashes.values()):
            if type(size) is not int or size < 1 or type(digest) is not str:
                raise ValueError(f"{size!r} and {digest!r} are not the bytes of a block and its hash")
        if (
            min(count for count in counts if count is not None) < 0
            or not (part.keys() == {"number", "of"} and 1 <= part["number"] <= part["of"] <= MOST_PARTS)
            or not (shard.keys() == {*SHARD} and shard["of"] <= MOST_SHARDS and "hash" in self.sources)
            or not self.hashes.keys() == {"ids", "lengths"}
        ):
            raise ValueError("its values are not those of a token file")
        if self.format not in FORMATS or self.dtype not in ("uint16", "uint32"):
            raise ValueError(f"the format {self.format!r} of {self.dtype!r} is not known")


def dtype_for(n_vocab: int, format: str = "bin") -> str:
    """Return the type of the ids in a file: the narrowest for `n_vocab`, or the one that the framework expects.

    >>> dtype_for(65_536), dtype_for(65_537), dtype_for(65_500, "megatron")
    ('uint16', 'uint32', 'uint32')
    """
    properties = format_named(format)
    if n_vocab <= properties.narrow:
        return "uint16"
    if not properties.wide:
        raise UsageError(
            f"{format} reads ids of 16 bits, and the tokenizer has {n_vocab:,} of them. Write 32 bits (",
            OptionName("format", "bin"),
            ") and let the training script map them as uint32, or use a smaller vocabulary.",
        )
    return "uint32"


def format_named(name: str) -> TokenFileFormat:
    """Return the format of this name. UsageError for an unknown one."""
    if name not in FORMATS:
        raise UsageError(f"the token file format {name!r} is not known; known are {', '.join(FORMATS)}")
    return FORMATS[name]


def special_id(tok: Tokenizer, option: str, text: str | bool) -> int:
    """Return the id of the special token `text`, or for True of the tokenizer's own. UsageError if there is none.

    The token after a document is that of the tokenizer's family, before the eos_token of its configuration: chat models
    set that to the end of a turn. The token before a document is by default the one after it.
    """
    specials, config = tok.vocabulary.special_tokens, tok.vocabulary.config
    names: list[Any] = [text]
    if text is True:
        names = [*TOKEN_ROLES["eos_token"], config.get("eos_token")]
        if option == "begin_of_text":
            names = [config.get("bos_token"), *TOKEN_ROLES["bos_token"], *names]
    if (name := next((name for name in names if name in specials), None)) is not None:
        return specials[name]
    purpose = f"to put {'after' if option == 'end_of_text' else 'before'} each document"
    without = "or encode without one (", OptionName(option, False), ")."
    if not specials:
        problem = f"the tokenizer has no special token {purpose}"
        raise UsageError(problem, ". Add one (tokenmill extend --special-token), ", *without)
    problem = "no token is known" if text is True else f"the tokenizer has no special token {text!r}"
    known = ", ".join(map(repr, list(specials)[:12]))
    others = f" {purpose}; its special tokens are: {known}. Name one of them ("
    raise UsageError(problem, others, OptionName(option, ...), "), ", *without)


def output_path(output: str | os.PathLike[str], format: str, part: tuple[int, int] | None = None) -> Path:
    """Return the path of the ids: `output`, with the suffix where training frameworks need it; "train" in a folder.

    part: the number of the part and of all, which are added to the name.
    format: one of FORMATS, or "text". UsageError for the suffix of another format, and for lines of ids in a folder.
    """
    path, properties = named(output), FORMATS.get(format)
    suffix = properties.suffix if properties else ""
    if os.fspath(output).endswith((os.sep, "/")) or path.is_dir():
        if properties is None:
            raise UsageError(
                f"{path} is a folder, and lines of ids go to one file. Name a file in it, or the format of token files: ",
                OptionName("format", ...),
            )
        path = path / f"train{suffix}"
    elif is_device(path):
        return path
    elif format == "megatron" and path.suffix == ".idx":
        path = path.with_suffix(suffix)
    elif not (suffix and path.name.endswith(suffix)):
        if path.suffix in (*FORMAT_OF, ".idx"):
            name = path.with_suffix(suffix or ".txt")
            raise UsageError(f"{path} has the suffix of another format than {format}. Name the output {name}")
        path = path.with_name(path.name + suffix * (properties is not None and properties.fixed))
    if part is not None:
        end = path.suffix if path.suffix in FORMAT_OF else ""
        path = path.with_name(f"{path.name.removesuffix(end)}-{part[0]:05}-of-{part[1]:05}{end}")
    return path


def shard_path(path: Path, format: str, number: int, val: bool) -> Path:
    """Return the path of a numbered file of the output `path`. val: name the first one val, and the others train.

    >>> shard_path(Path("web.bin"), "llmc", 7, False).name, shard_path(Path("web.bin"), "llmc", 0, True).name
    ('web_000007.bin', 'web_val_000000.bin')
    >>> shard_path(Path("train.bin"), "llmc", 0, True).name
    'val_000000.bin'
    """
    suffix = FORMATS[format].suffix
    stem = path.name.removesuffix(suffix)
    if val:
        split = "train" if number else "val"
        stem = split if stem == "train" else f"{stem}_{split}"
    return path.with_name(f"{stem}_{number:06}{suffix}")


def shards_of(path: Path, format: str, val: bool) -> list[Path]:
    """Return the existing numbered files of the output `path`. val: also those named train, and the one named val."""
    suffix, first = FORMATS[format].suffix, shard_path(path, format, 0, val).name
    stems = {shard_path(path, format, 1, v).name.removesuffix(f"_000001{suffix}") for v in (False, val)}
    name = rf"{re.escape(first)}|({'|'.join(map(re.escape, stems))})_\d{{6}}{re.escape(suffix)}"
    return sorted(file for file in path.parent.glob("*") if re.fullmatch(name, file.name))


def metadata_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")
