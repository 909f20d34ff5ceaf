# SPDX-License-Identifier: Apache-2.0
"""The hash by which an API server shards its lists, and the text that asks for ranges of it."""

from __future__ import annotations

from collections.abc import Iterable

_OFFSET, _PRIME = 0xCBF29CE484222325, 0x100000001B3
_WORD = (1 << 64) - 1

UID, NAMESPACE = "object.metadata.uid", "object.metadata.namespace"
"""The fields whose hash can be selected by."""


def fnv1a64(text: str) -> int:
    """Return the 64-bit FNV-1a hash of the text's UTF-8 bytes. An API server shards lists by this hash of a field."""
    value = _OFFSET
    for byte in text.encode():
        value = ((value ^ byte) * _PRIME) & _WORD
    return value


def shard_selector(field: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Return the value of the parameter `shardSelector` for objects whose hash of `field` lies in one of `ranges`.

    Args:
        field: `UID` or `NAMESPACE`.
        ranges: The first hash of each range, and the first hash after it.
    """
    return " || ".join(f"shardRange({field}, '0x{low:016x}', '0x{high:016x}')" for low, high in ranges)
