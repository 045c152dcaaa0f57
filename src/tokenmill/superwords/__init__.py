"""Train tokens that span words."""

from .superbpe import train_superbpe
from .text import FileText, MemoryText, Text

__all__ = ["FileText", "MemoryText", "Text", "train_superbpe"]
