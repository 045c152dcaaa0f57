"""Text to ids and back."""

from .stream import StreamDecoder
from .tokenizer import Offsets, Tokenizer

__all__ = ["Offsets", "StreamDecoder", "Tokenizer"]
