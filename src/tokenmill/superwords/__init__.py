"""Train tokens that span words."""

from .text import FileText, MemoryText, Text
from .trainer import SuperwordTraining

__all__ = ["FileText", "MemoryText", "SuperwordTraining", "Text"]
