"""Pretokens to word counts, in four steps.

Read: `reading` opens sources, `workers` shares them among `threads`. Count: `to_memory`, `to_folder` and `from_texts`.
Merge: `rows` (the one merge), `spill` (sorted runs on disk), `add_saved` (sums of saved counts). Store: `word_counts` in
memory, `store` as Parquet, `ddfreq_tsv` for other programs. `count_to_folder` (to_folder.py) and `add_up` (add_saved.py)
are imported from their modules.
"""

from typing import TYPE_CHECKING

from ..errors import lazy_names

if TYPE_CHECKING:
    from .from_texts import count_iterator
    from .options import CountOptions, CountSummary
    from .to_memory import count, count_each
    from .word_counts import WordCounts

__all__ = ["CountOptions", "CountSummary", "WordCounts", "count", "count_each", "count_iterator"]
__getattr__ = lazy_names(
    __name__,
    to_memory="count count_each",
    from_texts="count_iterator",
    options="CountOptions CountSummary",
    word_counts="WordCounts",
)
