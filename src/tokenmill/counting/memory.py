"""The memory limit of a count."""

from __future__ import annotations

from ..errors import OptionName, UsageError
from ..kernels.machine import free_memory
from ..options import parse_size

LEAST = 100_000_000  # bytes; Python and its libraries alone take about 70 MB


def memory_limit_of(limit: str | int | None) -> int:
    """The bytes that counting can take: what was asked for, or half of what is free."""
    if limit is None:
        return max(LEAST, free_memory() // 2)
    try:
        size = parse_size(limit)
    except UsageError as error:
        raise UsageError(OptionName("memory_limit"), f": {error}") from None
    if size < LEAST:
        raise UsageError(OptionName("memory_limit"), f" is {limit}; it must be at least {LEAST // 10**6}MB")
    return size
