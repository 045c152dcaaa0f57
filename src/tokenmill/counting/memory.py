"""How much memory there is, and sizes as people write them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import UsageError

__all__ = ["LEAST", "free_memory", "memory_limit_of", "parse_size"]

LEAST = 32 << 20  # below this, counting would be all spilling
UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}


def parse_size(text: str | int) -> int:
    """A number of bytes; text such as "4GB" (powers of 1000) or "512MiB" (powers of 1024).

    >>> parse_size("1.5GB"), parse_size("2 MiB"), parse_size(10)
    (1500000000, 2097152, 10)
    """
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)(B?)\s*", text.upper())
    if not match or (match[3] and not match[2]):
        raise UsageError(f"{text!r} is no size; write it like 4GB, 512MiB or 1.5G")
    unit = 1024 ** "_KMGT".index(match[2]) if match[3] else UNITS[match[2]]
    return int(float(match[1]) * unit)


def memory_limit_of(limit: str | int | None) -> int:
    """The bytes that tables may take: what was asked for, or half of what is free."""
    if limit is None:
        return max(LEAST, free_memory() // 2)
    size = parse_size(limit)
    if size < LEAST:
        raise UsageError(f"memory_limit is {limit}; it must be at least {LEAST >> 20}MiB")
    return size


def free_memory() -> int:
    """Bytes of memory that can still be had without swapping, within the limits of a container."""
    free = []
    try:
        text = Path("/proc/meminfo").read_text()
        free.append(int(text.split("MemAvailable:")[1].split()[0]) * 1024)
    except (OSError, IndexError, ValueError):
        free.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)  # no Linux: half of all there is
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            root = Path("/sys/fs/cgroup")
            free.append(int((root / limit).read_text()) - int((root / used).read_text()))
        except (OSError, ValueError):  # no such control group, or "max"
            continue
    return max(0, min(free))
