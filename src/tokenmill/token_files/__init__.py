"""Token files: documents encoded once, to be read by trainers as arrays of ids.

settings.py says what a token file is and what is written beside it; encoding.py makes one from documents (documents.py),
which worker threads encode to a part (parts.py) that output.py turns into the files; reading.py opens them.
"""

from .encoding import Summary, encode_files, join_parts, settings_for
from .parts import Part, encode_part
from .reading import TokenFile, is_token_file, load_tokens
from .settings import LAYOUTS, Settings

__all__ = [
    "LAYOUTS",
    "Part",
    "Settings",
    "Summary",
    "TokenFile",
    "encode_files",
    "encode_part",
    "is_token_file",
    "join_parts",
    "load_tokens",
    "settings_for",
]
