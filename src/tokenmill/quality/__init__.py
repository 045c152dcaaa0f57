"""Judge and change vocabularies: IoS and junk, unreachable tokens, compression, comparison; prune and extend."""

from .comparison import Comparison, compare
from .extending import extend
from .inspection import Inspection, InspectionOptions, inspect
from .pruning import Pruned, prune, shrink
from .replacing import Replaced, replace
from .tables import Column, Table, Token

__all__ = [
    "Column",
    "Comparison",
    "Inspection",
    "InspectionOptions",
    "Pruned",
    "Replaced",
    "Table",
    "Token",
    "compare",
    "extend",
    "inspect",
    "prune",
    "replace",
    "shrink",
]
