"""Pieces to word counts."""

from .local import Summary, count, count_iterator, count_to_folder
from .word_counts import WordCounts

__all__ = ["Summary", "WordCounts", "count", "count_iterator", "count_to_folder"]
