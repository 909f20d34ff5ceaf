# SPDX-License-Identifier: Apache-2.0
"""Gives memory that nothing uses back to the operating system."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable


def give_back() -> bool:
    """Give the pages of the heap that have become free back to the system; return whether any were.

    The allocator of glibc keeps them for later: after many objects are gone, the process would stay as large as it was.
    A page that still has one object on it stays. It takes milliseconds. Other allocators are left alone, among them
    that of a free-threaded Python, which keeps all objects elsewhere.
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
