"""Pretokens to word counts.

`count_to_folder` (count_jobs.py) and `add_up` (sum_saved.py) are not imported here: training does not need them.
"""

from .count_files import count, count_each
from .count_texts import count_iterator
from .options import CountOptions, Summary
from .word_counts import WordCounts

__all__ = ["CountOptions", "Summary", "WordCounts", "count", "count_each", "count_iterator"]
