# SPDX-License-Identifier: Apache-2.0
"""What survives when a simulated API server is killed, and every write that it ever kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from controller_runtime.apiserver.storage.stored import Stored


class Write(NamedTuple):
    """One write that was kept; `raw` is None for a deletion."""

    collection: str
    key: str
    raw: bytes | None


class Disk:
    """An `apiserver.storage.Journal` in memory, for one server after another.

    Attributes:
        writes: All of them, in the order in which they were kept.

    Threads: whoever holds the storage's lock.
    """

    def __init__(self) -> None:
        self.writes: list[Write] = []
        self._version = 0
        self._objects: dict[tuple[str, str], Stored] = {}

    def load(self) -> tuple[int, Iterable[tuple[str, Stored]]]:
        """See `storage.Journal.load`."""
        found = sorted(self._objects.items(), key=lambda item: item[0])
        return self._version, [(collection, stored) for (collection, _), stored in found]

    def write(self, collection: str, key: str, version: int, raw: bytes | None) -> None:
        """See `storage.Journal.write`."""
        self._version = version
        self.writes.append(Write(collection, key, raw))
        if raw is None:
            self._objects.pop((collection, key), None)
        else:
            self._objects[collection, key] = Stored(key, version, raw)

    def close(self) -> None:
        """See `storage.Journal.close`; there is nothing to let go of."""
