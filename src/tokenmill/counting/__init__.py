"""Pretokens to word counts, in four steps.

Read: `reading` shares sources among `threads`. Count: `to_memory` and `to_folder`. Merge: `rows` (the only merge), `spill`
(sorted runs on disk), `add_saved` (sums of saved counts). Store: `word_counts` in memory, `store` as Parquet, `ddfreq` for
ddtokens. Import `count_to_folder` and `add_up` from to_folder.py and add_saved.py.
"""

from typing import TYPE_CHECKING

from ..errors import lazy_names

if TYPE_CHECKING:
    from .options import CountOptions, CountSummary
    from .to_memory import count, count_each, count_iterator
    from .word_counts import WordCounts

__all__ = ["CountOptions", "CountSummary", "WordCounts", "count", "count_each", "count_iterator"]
__getattr__ = lazy_names(
    __name__, to_memory="count count_each count_iterator", options="CountOptions CountSummary", word_counts="WordCounts"
)
