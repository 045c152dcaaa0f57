"""Text to ids and back.

tokenizer.py, the public class, is built on core.py, its inner interface. merging/ has the kernels that merge one pretoken,
encoding/ those that encode text, decoding/ the one that decodes ids.
"""

from .tokenizer import Tokenizer

__all__ = ["Tokenizer"]
