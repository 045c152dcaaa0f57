"""Corpora: find dumps, stream their documents, clean them."""

from .documents import Document, read_documents
from .sources import Skip, find_sources, open_source

__all__ = ["Document", "Skip", "find_sources", "open_source", "read_documents"]
