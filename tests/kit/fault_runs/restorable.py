# SPDX-License-Identifier: Apache-2.0
"""A disk that can be restored to an earlier state, as from a backup."""

from __future__ import annotations

from embedded_apiserver import Stored
from kit.fault_runs.disk import Disk


class RestorableDisk(Disk):
    """A `Disk` that keeps a backup of each of its states.

    Attributes:
        lost: For each restoration, the versions that it lost: those after the first number and up to the second.
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
        """Undo the last `writes` writes and return True; return False if there are not more than that.

        No server may run on the disk meanwhile.
        """
        if len(self._backups) <= writes:
            return False
        del self._backups[-writes:]
        version, objects = self._backups[-1]
        self.lost.append((version, self._version))
        self._version, self._objects = version, dict(objects)
        return True

    def has_lost(self, version: str) -> bool:
        """Return whether the write of `version` was ever lost when the disk was restored."""
        return any(kept < int(version) <= lost for kept, lost in self.lost)
