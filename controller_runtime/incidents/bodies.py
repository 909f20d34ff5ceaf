# SPDX-License-Identifier: Apache-2.0
"""The bodies of one record, each once, and its texts, bounded."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from apimachinery.objects import Cached
from apimachinery.texts import bounded

_any = msgspec.json.Decoder()


class Bodies:
    """Collects the bodies of the objects that an attempt read, each once. Threads: one.

    Args:
        replaced: Replaces confidential values in a text by stand-ins.

    Attributes:
        kept: The bodies, in the order of their indices.
    """

    def __init__(self, replaced: Callable[[bytes], bytes]) -> None:
        self._replaced = replaced
        self.kept: list[msgspec.Raw] = []
        self._places: dict[bytes, int] = {}

    def place(self, cached: Cached) -> int:
        """Return the index of an object's body in the record; add the body if it is new."""
        place = self._places.setdefault(cached.raw, len(self.kept))
        if place == len(self.kept):
            self.kept.append(msgspec.Raw(cached.raw))
        return place

    def replaced_text(self, text: str) -> str:
        """Return a text in which confidential values are replaced by stand-ins."""
        return self._replaced(text.encode(errors="replace")).decode(errors="replace")

    def text(self, text: str) -> str:
        """Return a text with stand-ins for confidential values, shortened to the longest text that a record keeps."""
        return bounded(self.replaced_text(text))


def raw_json(text: bytes) -> msgspec.Raw | None:
    """Return JSON text for embedding in a document; None if it is empty or not JSON."""
    if not text:
        return None
    try:
        _any.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return msgspec.Raw(text)
