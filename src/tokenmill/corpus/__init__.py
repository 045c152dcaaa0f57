"""Corpora: find dumps, stream their documents, clean them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..sources.blocks import Document
from ..sources.documents import read_documents
from ..sources.find import Skip, find_sources

if TYPE_CHECKING:
    from .cleaning import CleaningReport, CleanOptions, clean

__all__ = [
    "CleanOptions",
    "CleaningReport",
    "Document",
    "Skip",
    "clean",
    "find_sources",
    "read_documents",
]


def __getattr__(name: str) -> Any:
    """The cleaners are loaded when they are first used: counting and encoding do without them."""
    if name in ("CleanOptions", "CleaningReport", "clean"):
        from . import cleaning

        return getattr(cleaning, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
