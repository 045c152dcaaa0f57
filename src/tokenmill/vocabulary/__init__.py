"""Vocabularies and their changes."""

from ..split.patterns import PATTERNS
from .library_model import LibraryModel
from .normalization import NORMALIZERS, Normalization
from .validation import MAX_ID
from .vocabulary import AddedToken, Event, Order, Template, Vocabulary

__all__ = [
    "MAX_ID",
    "NORMALIZERS",
    "PATTERNS",
    "AddedToken",
    "Event",
    "LibraryModel",
    "Normalization",
    "Order",
    "Template",
    "Vocabulary",
]
