"""Pretokens to word counts."""

from .count_files import count, count_to_folder
from .count_texts import count_iterator
from .options import CountOptions, Summary
from .sum_saved import add_up
from .word_counts import WordCounts

__all__ = ["CountOptions", "Summary", "WordCounts", "add_up", "count", "count_iterator", "count_to_folder"]
