"""The memory limit of a count, and sizes as people write them."""

from __future__ import annotations

import re

from ..errors import UsageError
from ..kernels.machine import free_memory

LEAST = 100_000_000  # bytes; Python and its libraries alone take about 70 MB
UNITS = "_KMGT"


def parse_size(text: str | int) -> int:
    """A number of bytes; text such as "4GB" (powers of 1000) or "512MiB" (powers of 1024).

    >>> parse_size("1.5GB"), parse_size("2 MiB"), parse_size(10)
    (1500000000, 2097152, 10)
    """
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)(B?)\s*", text.upper())
    if not match or (match[3] and not match[2]):
        raise UsageError(f"{text!r} is not a size; write it like 4GB, 512MiB or 1.5G")
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** UNITS.index(match[2] or UNITS[0]))


def memory_limit_of(limit: str | int | None) -> int:
    """The bytes that counting can take: what was asked for, or half of what is free."""
    if limit is None:
        return max(LEAST, free_memory() // 2)
    size = parse_size(limit)
    if size < LEAST:
        raise UsageError(f"memory_limit is {limit}; it must be at least {LEAST // 10**6}MB")
    return size
