# SPDX-License-Identifier: Apache-2.0
"""The storage of simulated API servers: it survives when one is killed, and remembers every write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from embedded_apiserver import Stored


class Write(NamedTuple):
    """One write that the disk has taken; `raw` is None for a deletion."""

    collection: str
    key: str
    raw: bytes | None


class Disk:
    """An `apiserver.storage.Journal` in memory, for a server and its successors.

    Attributes:
        writes: All writes so far, in order.

    Threads: any that holds the storage's lock.
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
        """See `storage.Journal.close`; nothing has to be released."""
