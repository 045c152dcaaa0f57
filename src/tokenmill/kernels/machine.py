"""Calls to the operating system, each with a fallback for systems that lack it: processors, memory, files."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from numbers import Integral
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl
    import resource

from ..errors import UsageError, WrongTypeError

MOST_THREADS = 1 << 16


def available_cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_for(num_threads: int | None) -> int:
    """Return `num_threads`, or for None the number of available cores. Raises UsageError for a number out of range."""
    if num_threads is None:
        return available_cores()
    if isinstance(num_threads, bool) or not isinstance(num_threads, Integral):
        kind = type(num_threads).__name__
        raise WrongTypeError(f"num_threads is {num_threads!r}, of the type {kind}; it must be a whole number or None")
    if not 1 <= num_threads <= MOST_THREADS:
        raise UsageError(
            f"num_threads is {num_threads}; it must be at least 1, at most {MOST_THREADS:,}, or None for all cores"
        )
    return num_threads


def resident_memory() -> int:
    """The resident memory of this process in bytes; its peak on systems that report only that."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, IndexError, ValueError):
        return peak_memory()


def free_memory() -> int:
    """The memory in bytes that is available without swapping, within the limits of a container."""
    free = []
    try:
        text = Path("/proc/meminfo").read_text()
        free.append(int(text.split("MemAvailable:")[1].split()[0]) * 1024)
    except (OSError, IndexError, ValueError):  # not Linux: half of the physical memory
        free.append(physical_memory() // 2)
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


def physical_memory() -> int:
    """The memory of this machine in bytes; 8 GiB if the system does not report it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 8 << 30


def peak_memory() -> int:
    """The peak resident memory of this process in bytes; 0 if the system does not report it."""
    if sys.platform == "win32":
        return 0
    # On Linux, the figure of getrusage begins with that of the parent process.
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status", encoding="ascii") as status:
        return 1024 * int(next(line.split()[1] for line in status if line.startswith("VmHWM:")))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def lock_file(file: IO[bytes]) -> None:
    """Lock an open file for this process until it is closed. Raises OSError if another process has locked it.

    Does nothing on file systems without locks, which some clusters have.
    """
    if sys.platform == "win32":
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK):
            raise


def sync_path(path: str | os.PathLike[str]) -> None:
    """Write a file, or the names in a folder, to the disk."""
    is_folder = os.path.isdir(path)
    if is_folder and sys.platform == "win32":  # Windows opens no folders, and its renames are in a journal
        return
    try:
        descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:  # some file systems sync no folders, and one may be closed to readers
        if not is_folder or error.errno not in (errno.EINVAL, errno.EACCES, errno.ENOTSUP):
            raise


def exchange_paths(one: Path, other: Path) -> bool:
    """Swap two files or folders in one step. Return False if the system cannot do it."""
    import ctypes

    if sys.platform not in ("linux", "darwin"):
        return False
    library = ctypes.CDLL(None)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        return library.renameat2(-100, names[0], -100, names[1], 2) == 0  # AT_FDCWD, RENAME_EXCHANGE
    return hasattr(library, "renamex_np") and library.renamex_np(*names, 2) == 0  # RENAME_SWAP


def limit_memory_growth(extra: int) -> None:
    """Limit the growth of this process's memory to `extra` bytes, if the system has such a limit."""
    if sys.platform == "win32":
        return
    try:
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        now = 1 << 30
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (now + extra, now + extra))
