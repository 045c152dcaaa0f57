"""Train tokens that span words."""

from .superbpe import SuperwordTraining
from .text import FileText, MemoryText, Text

__all__ = ["FileText", "MemoryText", "SuperwordTraining", "Text"]
