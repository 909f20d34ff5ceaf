# SPDX-License-Identifier: Apache-2.0
"""The contract between a storage and what keeps its writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from embedded_apiserver.storage.stored import Stored


class Journal(Protocol):
    """Stores the writes that a storage acknowledges; called under the storage's lock, so it must not call back."""

    def load(self) -> tuple[int, Iterable[tuple[str, Stored]]]:
        """Return a version that no version handed out before exceeds, and each object with its collection."""

    def write(self, collection: str, key: str, version: int, raw: bytes | None) -> None:
        """Store a write; `raw` is None for a deletion. Once this returns, the write survives the process.

        An error means that nothing was stored; it reaches the client whose write it was.
        """

    def close(self) -> None:
        """Close the files. Idempotent."""
