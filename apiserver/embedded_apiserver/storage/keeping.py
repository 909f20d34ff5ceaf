# SPDX-License-Identifier: Apache-2.0
"""The contract between a storage and what keeps its writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from embedded_apiserver.storage.stored import Stored


class Journal(Protocol):
    """Stores the writes that a storage acknowledges. The storage calls it under its lock, so it must not call the
    storage.
    """

    def load(self) -> tuple[int, Iterable[tuple[str, Stored]]]:
        """Return an upper bound of all resourceVersions issued before, and each object with its collection."""

    def write(self, collection: str, key: str, version: int, raw: bytes | None) -> None:
        """Store a write; `raw` is None for a deletion. After this returns, the write survives the process.

        If it raises an error, nothing was stored, and the client of the write gets the error.
        """

    def close(self) -> None:
        """Close the files. Idempotent."""
