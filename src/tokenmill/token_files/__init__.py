"""Token files: documents encoded once, to be read by trainers as arrays of ids.

settings.py says what a token file is, and what is written beside it. encoding.py makes one: worker threads encode the
documents (documents.py) to parts (parts.py), and output.py turns these into the files. reading.py opens them.
"""

from .encoding import EncodeOptions, Summary, encode_files
from .reading import TokenFile, is_token_file, load_tokens
from .settings import FORMATS

__all__ = [
    "FORMATS",
    "EncodeOptions",
    "Summary",
    "TokenFile",
    "encode_files",
    "is_token_file",
    "load_tokens",
]
