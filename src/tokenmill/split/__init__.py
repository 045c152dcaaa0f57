"""Split patterns: text to pretokens."""

from .splitter import Splitter

__all__ = ["Splitter"]
