"""What loading makes of a tokenizer file, saved in the user's cache folder: the next load neither parses nor builds it.

    <cache folder>/tables/<key>: MAGIC, the SHA-256 of what follows, the size of the head, the head (JSON), the blocks

The key is the SHA-256 of the content of the file, of the options, and of this build of tokenmill. The head also names the files
that were read beside it, with their SHA-256. A file that belongs to somebody else, or whose SHA-256 is wrong, is not used.
TOKENMILL_CACHE set to nothing turns this off.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from array import array
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import OutputError
from ..formats.file_content import noting_reads, read_bytes
from ..formats.finding import Found, find
from ..formats.published_encodings import our_folder
from ..jobs.outputs import atomic_file
from ..split.splitter import ANYTHING, remember, tables_of
from ..split.tables import SimdTables, Tables
from ..vocabulary import AddedToken, Pipeline, Vocabulary
from ..vocabulary.lazy import lazy
from ..vocabulary.packed import LATER, PackedVocabulary, rows
from .encoding._cutter_cy import Cutter
from .merging._saved_cy import packed_cache, restore_merger

if TYPE_CHECKING:
    from .core import Core
    from .encoding._cache_cy import PretokenCache
    from .merging._merger_cy import Merger

MAGIC = b"tokenmill tables 1\n"
FEWEST_TOKENS = 8192  # smaller tokenizers load fast enough
MOST_BYTES = 1 << 30  # of all saved files together; the least recently used go first
_FIELDS = [field.name for field in fields(Vocabulary) if field.init and field.name not in LATER]


class SavedVocabulary(PackedVocabulary):
    """A vocabulary that was checked before it was saved.

    tables: the merger and the cutter as numbers and blocks, or None where they must be built.
    """

    counts: bytes
    n_ids: int
    tables: tuple[list[int], list[bytes], list[bytes]] | None = None

    event_counts = lazy(lambda self: rows(self.counts, "uint64", 2))  # type: ignore[assignment]

    @staticmethod
    def of(head: dict[str, Any], blocks: list[bytes]) -> SavedVocabulary:
        """The vocabulary of a saved file. Nothing is checked again."""
        made = object.__new__(SavedVocabulary)
        made.__dict__.update(
            {name: _decode(value) for name, value in head["fields"].items()},
            removed=frozenset(head["removed"]),
            n_vocab=head["n_vocab"],
        )
        blob, sizes, events, counts, ascii, pairs = blocks[:6]
        made.__dict__.update(packed=(blob, sizes), event_numbers=memoryview(events).cast("i"), counts=counts)
        made.__dict__["n_ids"] = max(len(sizes) // 4, made.n_vocab)
        if head["numbers"]:
            made.__dict__["tables"] = head["numbers"], blocks[6:], [ascii, pairs]
        made.__dict__["_fingerprint"] = head["fingerprint"]
        for pattern, tables in head["patterns"].items():
            remember(pattern, _tables(_decode(tables)))
        return made

    def merger_and_cache(self) -> tuple[Merger, PretokenCache]:
        """The saved merger, and the cache that its encoder begins with. Only where there are `tables`."""
        assert self.tables is not None
        merger = restore_merger(*self.tables[:2])
        return merger, packed_cache(merger, *(self.packed if self.whole_pretokens else (b"", b"")))

    def cutter(self) -> Cutter | None:
        """The saved cutter. Only where there are `tables`."""
        assert self.tables is not None
        ascii, wide = self.tables[2]
        if not ascii:
            return None
        cutter = Cutter()
        cutter.restore(ascii, wide)
        return cutter


class Saved:
    """The saved form of one tokenizer, which may not be there yet. Arguments as for `Tokenizer.from_file`."""

    def __init__(
        self,
        path: str | os.PathLike,
        split: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        download: bool = False,
    ):
        self.found: Found = find(path, download)
        self.origin = self.found.origin()
        self.options = split, special_tokens
        self.path: Path | None = None
        if folder := our_folder():
            place, name, contents, _ = self.found
            parts = [__version__, _build(), name or place.name, split, special_tokens and list(special_tokens.items())]
            parts += [self.origin.sha256, list(map(len, contents))]
            self.path = folder / "tables" / hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def vocabulary(self) -> Vocabulary:
        """The saved vocabulary, or the one that the file holds."""
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            if (content := _own_content(self.path)) is not None:
                return self._read(content)
        from ..formats.reading import parse

        with noting_reads() as self.reads:
            return parse(self.found, *self.options)

    def _read(self, content: bytes) -> Vocabulary:
        """The saved vocabulary. Raises ValueError for damage, or if a file beside has changed."""
        start = len(MAGIC) + 40
        size = int.from_bytes(content[start - 8 : start], "little")
        if (
            content[: len(MAGIC)] != MAGIC
            or hashlib.sha256(memoryview(content)[start - 8 :]).digest() != content[len(MAGIC) : start - 8]
        ):
            raise ValueError
        head = json.loads(content[start : start + size])
        folder = self.found.place.parent
        for name, digest in head["reads"].items():
            beside = folder / name
            found = hashlib.sha256(read_bytes(beside)).hexdigest() if beside.is_file() else None
            if found != digest:
                raise ValueError
        blocks, at = [], start + size
        for length in head["blocks"]:
            blocks.append(content[at : at + length])
            at += length
        return SavedVocabulary.of(head, blocks)

    def save(self, core: Core) -> None:
        """Save a tokenizer that was just loaded, if that is worth it. No error: the next load then takes longer."""
        vocabulary, folder = core.vocabulary, self.found.place.parent
        if (
            self.path is None
            or isinstance(vocabulary, SavedVocabulary)
            or vocabulary.has_superwords
            or len(vocabulary.packed[1]) < 4 * FEWEST_TOKENS
        ):
            return
        with contextlib.suppress(OSError, OutputError, ValueError, TypeError):
            reads = {os.path.relpath(path, folder): digest for path, digest in self.reads.items()}
            head, blocks = _packed(vocabulary, None if vocabulary.pipeline else core.kernel.saved())
            head |= {"reads": reads, "blocks": list(map(len, blocks))}
            text = json.dumps(head, ensure_ascii=False).encode("utf-8", "surrogatepass")  # escapes are slow to read
            body = b"".join([len(text).to_bytes(8, "little"), text, *blocks])
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with atomic_file(self.path) as file:
                if hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), 0o600)
                file.write(MAGIC + hashlib.sha256(body).digest())
                file.write(body)
            _remove_oldest(self.path.parent)


def _packed(vocabulary: Vocabulary, kernel: tuple[Any, Any] | None) -> tuple[dict[str, Any], list[bytes]]:
    """A vocabulary and its kernel as a head, in JSON, and blocks."""
    (numbers, tables), cutter = kernel or ((None, []), [b"", b""])
    head = {
        "fields": {name: _encode(getattr(vocabulary, name)) for name in _FIELDS},
        "removed": sorted(vocabulary.removed),
        "n_vocab": vocabulary.n_vocab,
        "fingerprint": vocabulary.fingerprint(),
        "numbers": numbers,
        "patterns": {pattern: _encode(tables_of(pattern)) for pattern in _patterns(vocabulary)},
    }
    counts = b"" if "event_counts" not in vocabulary.__dict__ else vocabulary.event_counts.tobytes()
    return head, [*vocabulary.packed, vocabulary.event_numbers.tobytes(), counts, *cutter, *tables]


def _patterns(vocabulary: Vocabulary) -> list[str]:
    """The regular expressions that encoding runs."""
    replaced = [step[1] for step in vocabulary.normalizers if step[0] == "ReplaceRegex"]
    if vocabulary.pipeline is None:
        return [*(vocabulary.split_patterns or (ANYTHING,)), *replaced]
    from .pipeline.pre_tokenizers import patterns_of

    return [*patterns_of(vocabulary.pipeline.pre_tokenizer), *replaced]


def _encode(value: Any) -> Any:
    """A field of a vocabulary for JSON. Raises TypeError for what is not known here."""
    if isinstance(value, tuple):
        return {"tuple": list(map(_encode, value))}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, AddedToken):
        return {"added": [getattr(value, field.name) for field in fields(AddedToken)]}
    if isinstance(value, Pipeline):
        scores = array("d", value.scores).tobytes().hex()
        return {"pipeline": [value.texts, dict(value.model), value.pre_tokenizer, value.decoder, scores]}
    if isinstance(value, Mapping):
        return {"plain": dict(value)}
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} is not saved")


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    [(kind, inner)] = value.items()
    if kind == "tuple":
        return tuple(map(_decode, inner))
    if kind == "plain":
        return inner
    if kind == "pipeline":
        texts, *sections, scores = inner
        return Pipeline(tuple(texts), *sections, tuple(memoryview(bytes.fromhex(scores)).cast("d")))
    return bytes.fromhex(inner) if kind == "bytes" else AddedToken(*inner)


def _tables(fields: tuple[Any, ...] | str) -> Tables | str:
    if isinstance(fields, str):
        return fields
    *others, simd = fields
    return Tables(*others, simd and SimdTables(*simd))


def _own_content(path: Path | None) -> bytes | None:
    """The content of a saved file, or None if nobody but its owner could be sure of it."""
    if path is None:
        return None
    with open(path, "rb") as file:
        found = os.fstat(file.fileno())
        if hasattr(os, "geteuid") and (found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # it was used
        return file.read()


def _build() -> list[tuple[str, int, int]]:
    """The modules that decide what is saved, with their sizes and dates: another build saves and finds other files."""
    package = Path(__file__).parents[1]
    folders = [
        package / name
        for name in (
            "kernels",
            "vocabulary",
            "split",
            "events",
            "formats",
            "tokenizer",
            "tokenizer/merging",
            "tokenizer/encoding",
            "tokenizer/pipeline",
        )
    ]
    entries = sorted((entry for folder in folders for entry in os.scandir(folder)), key=lambda entry: entry.path)
    return [(entry.name, (found := entry.stat()).st_size, found.st_mtime_ns) for entry in entries if entry.is_file()]


def _remove_oldest(folder: Path) -> None:
    """Remove the saved files that were not used for longest, until all together are small enough."""
    files = sorted(((found := path.stat()).st_mtime, found.st_size, path) for path in folder.iterdir())
    held = sum(size for _, size, _ in files)
    for _, size, path in files:
        if held <= MOST_BYTES:
            break
        path.unlink(missing_ok=True)
        held -= size
