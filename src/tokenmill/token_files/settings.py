"""What a token file is: its format, the width of an id, the token after each document; and its metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import FormatError, OptionName, UsageError
from ..jobs.outputs import is_device
from ..jobs.work import OUTPUT
from ..options import Option, Options
from ..sources.blocks import ReadOptions
from .formats import FORMATS, TokenFileFormat

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

BEGIN_OF_TEXT = ("<|begin_of_text|>", "<bos>", "<s>")
VERSION = 1
KIND = "tokenmill token file"
ROLES = ("ids", "bounds", "summary")  # of the files of a token file, in the order of TokenFileFormat.paths


@dataclass(frozen=True)
class EncodeOptions(Options):
    """What is encoded, and how.

    end_of_text, begin_of_text: the special tokens after and before each document, by their texts. False means none. True
        is the way of the format: most have the tokenizer's own (<|endoftext|>, </s> and so on) after each document, "llmc" has
        it before, "parquet" has none.
    """

    # fmt: off
    end_of_text: Annotated[str | bool, Option("Token files: the token after each document. [default: the tokenizer's, such as <|endoftext|>; none in llmc and parquet]", off="--no-end-of-text", section=OUTPUT)] = True
    begin_of_text: Annotated[str | bool, Option("Token files: the token before each document. [default: none; in llmc the tokenizer's, or that after]", off="--no-begin-of-text", section=OUTPUT)] = True
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

    format: one of FORMATS.
    dtype: "uint16" or "uint32".
    begin_of_text, end_of_text: the ids before and after each document; None for none.
    special: whether text that spells a special token becomes that token.
    read: what a document is, and which field or column holds its text.
    """

    format: str
    dtype: str
    begin_of_text: int | None = None
    end_of_text: int | None = None
    special: bool = False
    read: ReadOptions = field(default_factory=ReadOptions)

    @property
    def width(self) -> int:
        """The bytes of an id."""
        return 2 if self.dtype == "uint16" else 4

    @property
    def front(self) -> bytes:
        """What is before the first document: room for the header, and the token that begins it."""
        begin = b"" if self.begin_of_text is None else self.begin_of_text.to_bytes(self.width, "little")
        return bytes(len(FORMATS[self.format].header(self.dtype, 0))) + begin

    def check_tokens(self, tokens: int) -> None:
        """Raise UsageError if a file of the format cannot have so many."""
        most = FORMATS[self.format].most_tokens
        if most is not None and tokens > most:
            raise UsageError(
                f"a file of the format {self.format} has at most {most:,} tokens. Encode fewer sources at a time."
            )


@dataclass(frozen=True)
class Metadata:
    """What the JSON beside a token file says.

    tokenizer: the fingerprint of the vocabulary: `tok.vocabulary.fingerprint()`.
    files: the sizes in bytes of the other files, by their roles, so that all of them may be renamed.
    documents, tokens, text_bytes: how many there are; the tokens before and after documents count too.
    """

    format: str
    dtype: str
    tokenizer: str
    n_vocab: int
    begin_of_text: int | None
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
            for id in (loaded.begin_of_text, loaded.end_of_text):
                if id is not None and type(id) is not int:
                    raise FormatError(f"{path}: a token before or after documents is {id!r}, not an id")
        except OSError as error:
            raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError(f"{path}: damaged metadata ({error})") from error
        return loaded


def dtype_for(n_vocab: int, format: str = "bin") -> str:
    """The type of an id below `n_vocab` in a file of this format: the narrowest that holds it, or what the trainer expects.

    >>> dtype_for(65_536), dtype_for(65_537), dtype_for(65_500, "megatron")
    ('uint16', 'uint32', 'uint32')
    """
    known = format_named(format)
    if n_vocab <= known.narrow:
        return "uint16"
    if not known.wide:
        raise UsageError(
            f"{format} reads ids of 16 bits, and the tokenizer has {n_vocab:,} of them. Write 32 bits (",
            OptionName("format", "bin"),
            ") and let the training script map them as uint32, or use a smaller vocabulary.",
        )
    return "uint32"


def format_named(name: str) -> TokenFileFormat:
    """The format of this name, or a UsageError that names those there are."""
    if name not in FORMATS:
        raise UsageError(f"the token file format {name!r} is not known; known are {', '.join(FORMATS)}")
    return FORMATS[name]


def special_id(tok: Tokenizer, option: str, text: str | bool) -> int:
    """The id of the special token `text`, or a UsageError that names those there are.

    True: the tokenizer's own. A document ends with the token of its family rather than with the end of a chat turn, which
    the configuration of a chat model names. Without a token of its own it begins with the one that ends documents.
    """
    from ..formats.huggingface import END_OF_TEXT

    specials, config = tok.vocabulary.special_tokens, tok.vocabulary.config
    names: list[Any] = [text]
    if text is True:
        names = [*END_OF_TEXT, config.get("eos_token")]
        if option == "begin_of_text":
            names = [config.get("bos_token"), *BEGIN_OF_TEXT, *names]
    if (name := next((name for name in names if name in specials), None)) is not None:
        return specials[name]
    known = ", ".join(map(repr, list(specials)[:12])) or "none"
    raise UsageError(
        "no token is known" if text is True else f"the tokenizer has no special token {text!r}",
        f" to put {'after' if option == 'end_of_text' else 'before'} each document; its special tokens are: {known}. ",
        "Name one of them (",
        OptionName(option, ...),
        "), or encode without one (",
        OptionName(option, False),
        ").",
    )


def output_path(output: Path, format: str) -> Path:
    """The file with the ids: `output`, with its suffix where trainers need it. UsageError for the suffix of another format.

    format: one of FORMATS, or "text".
    """
    known = FORMATS.get(format)
    suffix = known.suffix if known else ""
    if is_device(output) or (suffix and output.name.endswith(suffix)):
        return output
    if format == "megatron" and output.suffix == ".idx":
        return output.with_suffix(suffix)
    if output.suffix in (*(each.suffix for each in FORMATS.values()), ".idx"):
        raise UsageError(f"{output} has the suffix of another format than {format}. Name the output NAME{suffix}")
    return output.with_name(output.name + suffix) if known and known.fixed else output


def metadata_path(path: Path) -> Path:
    """The metadata of the token file at `path`."""
    return path.with_name(path.name + ".json")
