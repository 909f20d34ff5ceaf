# SPDX-License-Identifier: Apache-2.0
"""Compressed caches that are small enough for a test."""

from __future__ import annotations

import importlib.util
import random
from typing import Any

import pytest

from controller_runtime.cache.compression import Compression
from kit.nodes import node, packed

needs_zstandard = pytest.mark.skipif(
    importlib.util.find_spec("zstandard") is None, reason="zstandard is not installed: the extra `lean`"
)

SMALL = Compression(size=0, samples=8, window=20, tolerance=1.05)
"""Compresses from the eighth object on, and trains again as soon as objects grow by a twentieth."""


def small_in_half(seed: int) -> Compression | None:
    """Return `SMALL` for every second seed, so that both forms of a cache go through the same tests."""
    return SMALL if seed % 2 and importlib.util.find_spec("zstandard") is not None else None


def some_node(seed: int, number: int, version: int = 1) -> dict[str, Any]:
    """Return a node of 700 bytes; those of one seed are alike."""
    words = random.Random(seed)
    filler = {f"label-{words.getrandbits(24):06x}": f"{words.getrandbits(64):016x}" for _ in range(16)}
    return node(f"n{number}", version, **filler)


def some_raw(seed: int, number: int) -> bytes:
    """Return its JSON."""
    return packed(some_node(seed, number))
