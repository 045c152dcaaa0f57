"""What Python code asks of the operating system: memory and processors."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import UsageError


def available_cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_for(num_threads: int | None) -> int:
    """The number of threads that `num_threads` asks for; None means all cores this process may use."""
    if num_threads is None:
        return available_cores()
    if num_threads < 1:
        raise UsageError(f"num_threads is {num_threads}; it must be at least 1, or None for all cores")
    return num_threads


def free_memory() -> int:
    """Bytes of memory that are left without swapping, within the limits of a container."""
    free = []
    try:
        text = Path("/proc/meminfo").read_text()
        free.append(int(text.split("MemAvailable:")[1].split()[0]) * 1024)
    except (OSError, IndexError, ValueError):
        free.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)  # not Linux: half of all there is
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
