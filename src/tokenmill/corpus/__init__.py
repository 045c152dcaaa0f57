"""Corpora: find dumps, stream their documents, clean them."""

from ..sources.blocks import Document
from ..sources.documents import read_documents
from ..sources.find import Skip, find_sources
from .cleaning import CleaningReport, clean
from .options import CleanOptions

__all__ = [
    "CleanOptions",
    "CleaningReport",
    "Document",
    "Skip",
    "clean",
    "find_sources",
    "read_documents",
]
