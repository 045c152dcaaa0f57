"""Replay of events, merges and removals in training order, for encoding and for judging."""

from .table import event_table

__all__ = ["event_table"]
