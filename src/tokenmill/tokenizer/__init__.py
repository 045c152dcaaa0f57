"""Text to ids and back."""

from .offsets import Offsets
from .stream import StreamDecoder
from .tokenizer import Tokenizer

__all__ = ["Offsets", "StreamDecoder", "Tokenizer"]
