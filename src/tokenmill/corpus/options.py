"""The options of `clean`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..errors import UsageError
from ..sources.blocks import MAX_DOCUMENT_BYTES, ReadOptions
from .filters import chosen_filters

OUTPUT_FORMATS = {"jsonl": ".jsonl.zst", "text": ".txt"}
SHARD_BYTES = 256 << 20
FILES = ReadOptions(max_document_bytes=MAX_DOCUMENT_BYTES)


@dataclass(frozen=True)
class CleanOptions:
    """How documents are read, cleaned and written.

    format: "jsonl" for lines of JSON, compressed by zstandard; "text" for plain text, two blank lines after each document.
    filters: the names of filters and of sets of filters to apply (see `filters`). None: "careful" for wikipedia and
        stackexchange, "minimal" for fineweb and text.
    min_chars: documents that are shorter after cleaning are dropped. None: 100 for wikipedia and stackexchange, else 1.
    keep_code: whether code blocks stay, exactly as they are.
    strict: stop at the first document that cannot be read. Otherwise it is skipped and counted.
    time_limit, document_memory: the seconds of processor time and the bytes of memory that one document may take. A
        document that takes more is skipped and counted.
    shard_bytes: a shard is closed once it holds this much text.
    read: what a document is, and which field or column holds its text. By default a text file is one. A file longer than
        half of max_document_bytes is cut into several, at blank lines if it has any; other documents are skipped if they
        are longer than that limit.
    """

    format: str = "jsonl"
    filters: tuple[str, ...] | None = None
    min_chars: int | None = None
    keep_code: bool = True
    strict: bool = False
    time_limit: float = 30.0
    document_memory: int = 1 << 30
    shard_bytes: int = SHARD_BYTES
    read: ReadOptions = field(default_factory=lambda: FILES)

    def __post_init__(self) -> None:
        if self.format not in OUTPUT_FORMATS:
            raise UsageError(f"the output format {self.format!r} is not known; known are {', '.join(OUTPUT_FORMATS)}")
        if self.min_chars is not None and self.min_chars < 0:
            raise UsageError(f"min_chars is {self.min_chars}; it must not be negative")
        for name in ("time_limit", "document_memory", "shard_bytes"):
            if getattr(self, name) <= 0:
                raise UsageError(f"{name} is {getattr(self, name)}; it must be above 0")

    def for_kind(self, kind: str) -> CleanOptions:
        """These options with the defaults of a kind of corpus in place of None. Raises UsageError for unknown filters."""
        pages = kind in ("wikipedia", "stackexchange")
        filters = ("careful" if pages else "minimal",) if self.filters is None else self.filters
        min_chars = (100 if pages else 1) if self.min_chars is None else self.min_chars
        return replace(self, filters=chosen_filters(filters), min_chars=min_chars)
