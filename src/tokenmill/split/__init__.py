"""Split patterns: text to pieces."""

from .splitter import Splitter

__all__ = ["Splitter"]
