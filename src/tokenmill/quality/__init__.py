"""Judge and change vocabularies: IoS and junk, unreachable tokens, compression, comparison; prune and extend."""

from .comparison import Comparison, compare, report
from .extending import extend
from .findings import Finding
from .inspection import Inspection, InspectionOptions, inspect
from .pruning import Pruned, prune, shrink
from .replacing import Replaced, replace
from .reporting import Report
from .tables import Column, Table, Token

__all__ = [
    "Column",
    "Comparison",
    "Finding",
    "Inspection",
    "InspectionOptions",
    "Pruned",
    "Replaced",
    "Report",
    "Table",
    "Token",
    "compare",
    "extend",
    "inspect",
    "prune",
    "replace",
    "report",
    "shrink",
]
