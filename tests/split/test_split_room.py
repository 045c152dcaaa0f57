"""The kernel's pretokens do not depend on how many ends it is given room for at a time."""

import struct

import pytest

from tokenmill.split import Splitter

# Rewinds (white space before a word) at any distance from the last end that there is room for.
TEXT = (
    ".\n\n\u00a0\n\n\u00a0\n\n2.\u00a0Common Features \u00a0\n\n\u00a0 3.2 it's   we'll\r\n\r\n  x\t\ty 12345 ?!\n " * 5
)


@pytest.mark.parametrize(
    "pattern", ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "nanochat", "whitespace", r"\w+(?!\d)|\s"]
)
@pytest.mark.parametrize("room", [1, 2, 3, 4, 5, 7, 256])
def test_room(pattern, room):
    splitter = Splitter(pattern)
    if splitter.scanner is None:
        pytest.skip("the pattern has no scanner")
    data = TEXT.encode()
    ends: list[int] = []
    while not ends or ends[-1] < len(data):
        packed = splitter.scanner.fill(data, ends[-1] if ends else 0, room)
        assert packed
        ends += struct.unpack(f"<{len(packed) // 8}Q", packed)
    assert ends == list(splitter.ends(data))
