"""Characters for tests that go through Unicode."""

import functools
import os
import unicodedata


@functools.cache
def code_points() -> list[str]:
    """All characters; but with TOKENMILL_SWEEP unset, of those far inside a stretch of one category every 61st."""
    everyone = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    if "TOKENMILL_SWEEP" in os.environ:
        return everyone
    categories = list(map(unicodedata.category, everyone))
    return [
        char
        for i, char in enumerate(everyone)
        if i % 61 == 0
        or i < 0x600
        or i + 9 >= len(everyone)
        or not categories[i - 8] == categories[i] == categories[i + 8]
    ]
