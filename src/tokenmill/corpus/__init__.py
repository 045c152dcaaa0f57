"""Corpora: find dumps, stream their documents, clean them."""

from ..sources.blocks import Document
from ..sources.documents import read_documents
from .cleaning import CleaningReport, clean
from .options import CleanOptions

__all__ = ["CleanOptions", "CleaningReport", "Document", "clean", "read_documents"]
