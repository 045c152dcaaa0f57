"""Pieces to word counts."""

from .word_counts import WordCounts

__all__ = ["WordCounts"]
