"""Judging vocabularies: IoS and junk, tokens no text gives, compression, comparison; prune and extend."""

from .comparison import Comparison, compare
from .extending import extend
from .inspection import Inspection, inspect
from .pruning import Pruned, prune
from .tables import Column, Table, Token

__all__ = ["Column", "Comparison", "Inspection", "Pruned", "Table", "Token", "compare", "extend", "inspect", "prune"]
