"""Train tokens that span words."""

from .text import FileText, MemoryText, Text
from .training import SuperwordTraining

__all__ = ["FileText", "MemoryText", "SuperwordTraining", "Text"]
