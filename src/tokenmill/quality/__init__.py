"""Judging vocabularies: IoS and junk, tokens no text gives, compression, comparison; prune and extend."""

from .comparison import Comparison, compare
from .inspection import Inspection, inspect
from .tables import Column, Table, Token

__all__ = ["Column", "Comparison", "Inspection", "Table", "Token", "compare", "inspect"]
