# SPDX-License-Identifier: Apache-2.0
"""A disk whose past can be had back, as from a backup."""

from __future__ import annotations

from controller_runtime.apiserver.storage.stored import Stored
from controller_runtime.testing.fault_runs.disk import Disk


class RestorableDisk(Disk):
    """A `Disk` that keeps a backup of each of its states.

    Attributes:
        lost: What was lost each time it went back: the versions after the first and up to the second.
    """

    def __init__(self) -> None:
        super().__init__()
        self._backups: list[tuple[int, dict[tuple[str, str], Stored]]] = []
        self.lost: list[tuple[int, int]] = []

    def write(self, collection: str, key: str, version: int, raw: bytes | None) -> None:
        """See `storage.Journal.write`."""
        super().write(collection, key, version, raw)
        self._backups.append((version, dict(self._objects)))

    def restore(self, writes: int) -> bool:
        """Forget the last `writes` of them, the server being down; False if there were no more than that."""
        if len(self._backups) <= writes:
            return False
        del self._backups[-writes:]
        version, objects = self._backups[-1]
        self.lost.append((version, self._version))
        self._version, self._objects = version, dict(objects)
        return True

    def has_lost(self, version: str) -> bool:
        """Whether what was written at `version` was lost at some time."""
        return any(kept < int(version) <= lost for kept, lost in self.lost)
