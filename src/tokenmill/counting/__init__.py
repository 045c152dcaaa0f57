"""Pieces to word counts."""

from .local import count, count_iterator
from .word_counts import WordCounts

__all__ = ["WordCounts", "count", "count_iterator"]
