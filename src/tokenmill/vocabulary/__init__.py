"""The vocabulary: what training makes, what files hold, and what everything else reads."""

from ..split.patterns import PATTERNS
from .library_model import LibraryModel
from .normalization import NORMALIZERS, Normalization
from .template import Template
from .validation import MAX_ID
from .vocabulary import AddedToken, Event, Order, Vocabulary

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
