"""The content of a vocabulary file: its bytes, decompressed; its lines; its JSON; its tokens by id.

All damage is a FormatError that names the file, the line or JSON path, and the mistake.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ..errors import FormatError, InputError
from ..sources.packed import PACKED, PACKED_BYTES
from ..vocabulary.validation import MAX_FILE_ID as MAX_ID
from ..vocabulary.validation import show

BLANK = b"\xef\xbb\xbf \t\r\n"  # may come before the content of a text file
_MAX_BYTES = 1 << 30  # vocabulary files have some megabytes; a larger one is another file, or a decompression bomb
_GGUF_BYTES = 1 << 28  # of a model file, whose tokenizer is at the front
_STEP = 1 << 20

Token = TypeVar("Token", bytes, str)


class Unsupported(FormatError):
    """A file that this reader does not support, but another one may."""


def fail(file: str, where: str, what: str) -> NoReturn:
    """Raise FormatError."""
    raise FormatError(f"{file}: {where}: {what}" if where else f"{file}: {what}")


def read_bytes(path: str | os.PathLike) -> bytes:
    """Return the content of `path`, decompressed if it begins like gzip, bzip2, xz or Zstandard."""
    name = os.fspath(path)
    if os.path.isfile(name):  # a pipe is opened only once, since its bytes can be read only once
        with suppress(OSError), open(name, "rb") as file:  # the error of ByteStream says what to do
            if not PACKED.match(head := file.read(PACKED_BYTES)):
                file.seek(0)
                most = _GGUF_BYTES if head.startswith(b"GGUF") else _MAX_BYTES + 1
                # read() allocates the requested size. The size of the file is 0 if it is not known.
                size = os.fstat(file.fileno()).st_size
                return _checked_size(name, file.read(min(most, size or most)))
    from ..sources.streams import ByteStream  # late: it imports all decompressors

    data = bytearray()
    with ByteStream(name, text=False, suffix="") as stream:
        try:
            while len(data) <= _MAX_BYTES and (chunk := stream.read(_STEP)):
                data += chunk
                if data.startswith(b"GGUF") and len(data) >= _GGUF_BYTES:
                    break  # the weights
        except InputError as error:
            raise FormatError(str(error)) from error
    return _checked_size(name, bytes(data))


def _checked_size(name: str, data: bytes) -> bytes:
    if len(data) > _MAX_BYTES:
        raise FormatError(f"{name}: contains more than {_MAX_BYTES >> 20} MiB, too much for a vocabulary")
    return data


def read_beside(path: Path) -> bytes | None:
    """Return the content of a file; None if it is missing."""
    return read_bytes(path) if path.is_file() else None


def starts_object(data: bytes) -> bool:
    return data[:64].lstrip(BLANK).startswith(b"{")


def decode_utf8(data: bytes, file: str) -> str:
    """Return the text of `data` without a byte order mark. FormatError names the line of the first invalid byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8 ({error.reason})"
        fail(file, f"line {line}", what)


def lines_of(text: str) -> list[str]:
    """Return the lines of `text`, cut at LF and CR LF only: other separators may be in tokens."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def parse_json(data: bytes, file: str) -> Json:
    """Return the JSON document in `data`. FormatError for invalid JSON, and for a key that occurs twice in one object."""
    import json  # late: binary files need none

    text = decode_utf8(data, file)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in members if keys.count(key) > 1)
            literal = json.dumps(twice, ensure_ascii=False)
            line = text.count("\n", 0, text.find(literal, text.find(literal) + 1)) + 1
            fail(file, f"line {line}", f"the key {show(twice)} occurs twice in one object")
        return members

    def constant(name: str) -> NoReturn:
        fail(file, "", f"contains {name}, which is not JSON")

    try:
        return Json(json.loads(text, object_pairs_hook=unique, parse_constant=constant), file)
    except json.JSONDecodeError as error:
        fail(file, f"line {error.lineno} column {error.colno}", f"not JSON: {error.msg}")
    except RecursionError:
        fail(file, "", "not a tokenizer: its JSON is nested too deep")
    except ValueError as error:  # an integer of more digits than Python converts
        fail(file, "", f"not a tokenizer: {error}")


_KINDS = {dict: "an object", list: "a list", str: "a string", int: "an integer", bool: "true or false"}


class Json:
    """A value in a JSON file with its file and JSON path, which errors name."""

    __slots__ = ("file", "value", "where")

    def __init__(self, value: Any, file: str, where: str = "$"):
        self.value, self.file, self.where = value, file, where

    def fail(self, what: str) -> NoReturn:
        fail(self.file, f"at {self.where}", what)

    def unsupported(self, what: str) -> NoReturn:
        raise Unsupported(f"{self.file}: at {self.where}: {what}")

    def expect(self, kind: type) -> Any:
        """Return the value, which must be of `kind` (True is not an integer)."""
        value: Any = self.value
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            self.fail(f"expected {_KINDS.get(kind, 'a list of texts')}, found {show(value)}")
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                self.fail(f"{show(value)} is not Unicode text: it contains a lone surrogate")
        return value

    def __getitem__(self, key: str) -> Json:
        """Return the member `key` of an object; an absent member is a null."""
        return Json(self.expect(dict).get(key), self.file, f"{self.where}.{key}")

    def __iter__(self) -> Iterator[Json]:
        """Yield the members of a list; none of a null."""
        for i, value in enumerate([] if self.absent else self.expect(list)):
            yield Json(value, self.file, f"{self.where}[{i}]")

    def items(self) -> Iterator[tuple[str, Json]]:
        """Yield the members of an object by key; none of a null."""
        for key, value in ({} if self.absent else self.expect(dict)).items():
            yield key, Json(value, self.file, f"{self.where}.{key}")

    @property
    def absent(self) -> bool:
        return self.value is None

    def get(self, key: str, kind: type, default: Any) -> Any:
        """Return the value of the member `key`, which must be of `kind`; `default` if it is absent or null."""
        member = self[key]
        return default if member.absent else member.expect(kind)


def tokens_by_id(tokens: Sequence[Token], ids: list[int], file: str, at: Callable[[int], str]) -> list[Token | None]:
    """Return tokens by id, None for unused ids. FormatError for an invalid or repeated one. at(n): the location of the nth."""
    by_id: dict[int, int] = {}
    by_token: dict[Token, int] = {}
    for n, (token, id) in enumerate(zip(tokens, ids, strict=True)):
        if type(id) is not int or not 0 <= id <= MAX_ID:
            fail(file, at(n), f"the id {show(id)} of {show(token)} is not an integer from 0 to {MAX_ID}")
        if token == b"":
            fail(file, at(n), "the token is empty")
        if (first := by_token.setdefault(token, n)) != n:
            what = f"the token {show(token)} occurs twice, with the ids {ids[first]} ({at(first)}) and {id}"
            fail(file, at(n), what)
        if (first := by_id.setdefault(id, n)) != n:
            fail(file, at(n), f"the id {id} of {show(token)} is that of {show(tokens[first])} already ({at(first)})")
    return [tokens[by_id[id]] if id in by_id else None for id in range(max(ids, default=-1) + 1)]
