"""The options of `clean`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from ..errors import OptionName, UsageError
from ..jobs.work import EXECUTION, OUTPUT
from ..options import Option, Options, listed_names
from ..sources.blocks import MAX_DOCUMENT_BYTES, ReadOptions
from .filters import chosen_filters

OUTPUT_FORMATS = {"jsonl": ".jsonl.zst", "parquet": ".parquet", "text": ".txt"}
FILES = ReadOptions(max_document_bytes=MAX_DOCUMENT_BYTES)


@dataclass(frozen=True)
class CleanOptions(Options):
    """Options for reading, cleaning and writing documents.

    filters: the names of filters and of sets of filters to apply: see docs/reference/filters.md.
    time_limit, document_memory: a document that needs more counts as unreadable.
    read: how to cut sources into documents. By default a text file is one. A long file is cut into documents of about
        half of max_document_bytes, at blank lines if it has any; other documents longer than the limit cannot be read.
        A document that cannot be read raises InputError, or with skip_damaged is skipped and counted.
    """

    # fmt: off
    format: Annotated[Literal["jsonl", "parquet", "text"], Option("jsonl: shards of JSON lines (.jsonl.zst); parquet: of rows; text: of plain text, two blank lines after each document.")] = "jsonl"
    filters: Annotated[tuple[str, ...] | None, Option("Filters and sets of filters, with commas between; '' for none. ddtokens is the stricter set of a published recipe. [default: careful for wikipedia and stackexchange, else minimal]", metavar="NAME[,...]", parse=listed_names)] = None
    min_chars: Annotated[int | None, Option("Drop shorter documents. [default: 100 for wikipedia, stackexchange and the filters ddtokens, else 1]", min=0)] = None
    keep_code: Annotated[bool, Option("Keep code blocks, exactly as they are.")] = True
    time_limit: Annotated[float, Option("Seconds of processor time for one document.", section=EXECUTION)] = 30.0
    document_memory: Annotated[int, Option("Bytes of memory for one document, e.g. 512MiB.", section=EXECUTION)] = 1 << 30
    shard_bytes: Annotated[int, Option("Close a shard after this much text.", "--shard-size", section=OUTPUT)] = 256 << 20
    # fmt: on
    no_filter: Annotated[Sequence[str], Option("A filter not to apply. Repeatable.")] = ()
    read: ReadOptions = FILES

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("time_limit", "document_memory", "shard_bytes"):
            if getattr(self, name) <= 0:
                raise UsageError(OptionName(name), f" is {getattr(self, name)}; it must be above 0")

    def for_kind(self, kind: str) -> CleanOptions:
        """Replace None by the defaults for a kind of corpus. Raises UsageError for unknown filters."""
        pages = kind in ("wikipedia", "stackexchange")
        filters = ("careful" if pages else "minimal",) if self.filters is None else self.filters
        min_chars = (100 if pages or "ddtokens" in filters else 1) if self.min_chars is None else self.min_chars
        unwanted = chosen_filters(self.no_filter)
        chosen = tuple(name for name in chosen_filters(filters) if name not in unwanted)
        return replace(self, filters=chosen, min_chars=min_chars, no_filter=())
