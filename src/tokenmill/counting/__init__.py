"""Pretokens to word counts."""

from .adding import add_up
from .local import Summary, count, count_iterator, count_to_folder
from .word_counts import WordCounts

__all__ = ["Summary", "WordCounts", "add_up", "count", "count_iterator", "count_to_folder"]
