# SPDX-License-Identifier: Apache-2.0
"""The memory of the process: its limit, and a call that gives unused memory back to the operating system."""

from __future__ import annotations

import ctypes
import functools
import os
import resource
from collections.abc import Callable
from pathlib import Path


def give_back() -> bool:
    """Return free pages of the heap to the operating system; return True if any were released.

    The allocator of glibc keeps such pages for later use: after many objects are gone, the process would stay as large
    as it was. A page that still holds one object stays. The call takes milliseconds. It does nothing with other
    allocators, among them that of a free-threaded Python.
    """
    trim = _trim()
    return trim is not None and bool(trim(0))


@functools.cache
def _trim() -> Callable[[int], int] | None:
    try:
        trim = ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):  # no glibc
        return None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    return trim


_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_NO_LIMIT = 1 << 60  # the older of the two says so by a number just below 2**63


def memory_limit() -> int | None:
    """Return the limit of this process's memory in bytes; None if no limit is known.

    The limit is the least of the limits of its cgroup, its rlimit and the machine's memory.
    """
    found = [_number_in(path) for path in _CGROUPS]
    found += [resource.getrlimit(resource.RLIMIT_AS)[0], os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    return min((each for each in found if 0 < each < _NO_LIMIT), default=None)


def _number_in(path: str) -> int:
    try:
        text = Path(path).read_text(encoding="ascii").strip()
    except OSError:  # another version of cgroups, or none
        return 0
    return int(text) if text.isdecimal() else 0
