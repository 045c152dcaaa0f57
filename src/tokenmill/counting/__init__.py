"""Pretokens to word counts.

`count_to_folder` (count_jobs.py) and `add_up` (sum_saved.py) are imported from their modules.
"""

from typing import TYPE_CHECKING

from ..errors import lazy_names

if TYPE_CHECKING:
    from .count_files import count, count_each
    from .count_texts import count_iterator
    from .options import CountOptions, CountSummary
    from .word_counts import WordCounts

__all__ = ["CountOptions", "CountSummary", "WordCounts", "count", "count_each", "count_iterator"]
__getattr__ = lazy_names(
    __name__,
    count_files="count count_each",
    count_texts="count_iterator",
    options="CountOptions CountSummary",
    word_counts="WordCounts",
)
