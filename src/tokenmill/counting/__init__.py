"""Pretokens to word counts."""

from .local import Summary, count, count_iterator, count_to_folder
from .sum_saved import add_up
from .word_counts import WordCounts

__all__ = ["Summary", "WordCounts", "add_up", "count", "count_iterator", "count_to_folder"]
