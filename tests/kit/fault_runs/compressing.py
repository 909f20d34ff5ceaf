# SPDX-License-Identifier: Apache-2.0
"""Compressed caches in fault runs: so early, and with new dictionaries so often, that a few objects show it."""

from __future__ import annotations

import importlib.util

from controller_runtime.cache.compression import Compression

EARLY = Compression(size=0, samples=8, window=20, tolerance=1.05)


def compress(chosen: bool) -> Compression | bool:
    """Return the `compress` of a cache: early, if it is chosen and the extra `lean` is installed; else not at all."""
    return EARLY if chosen and importlib.util.find_spec("zstandard") is not None else False


def is_chosen(host: str) -> bool:
    """Return whether the caches of a replica are compressed: of every second one, by the last digit of its name."""
    return host.partition("#")[0][-1:] in tuple("02468")
