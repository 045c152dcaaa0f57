"""Judging vocabularies: IoS and junk, tokens no text gives, compression, comparison; prune."""

from .comparison import Comparison, compare
from .inspection import Inspection, inspect
from .pruning import Pruned, prune
from .tables import Column, Table, Token

__all__ = ["Column", "Comparison", "Inspection", "Pruned", "Table", "Token", "compare", "inspect", "prune"]
