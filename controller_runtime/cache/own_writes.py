# SPDX-License-Identifier: Apache-2.0
"""What reconciles wrote and the caches have yet to show, for reconcilers that must not decide on less."""

from __future__ import annotations

from typing import Any

import attrs

from controller_runtime.api.objects import ObjectKey
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.lister import Lister
from controller_runtime.core.errors import StaleCache
from controller_runtime.core.host import Host


@attrs.frozen
class _Write:
    version: str
    resets: int  # of the lister: after another one the version means nothing


@attrs.frozen
class _Record:
    uid: str
    writes: dict[Lister[Any], _Write] = attrs.field(factory=dict)


class OwnWrites:
    """Remembers the last version written for each owner, until the caches have it.

    A reconcile that creates or deletes by counting does it twice if it looks at a cache
    that lacks its own last write. So it calls `wrote` after each write, and `check` before
    it looks: that raises as long as a cache is behind, and the reconcile is retried with
    backoff. Nothing waits, and no other owner is held up.

    Threads: any, for every method.

    Args:
        host: For the lock.
    """

    def __init__(self, host: Host) -> None:
        # Guards the records; of each write the newest is kept.
        self._lock = host.lock("own writes")
        self._records: dict[ObjectKey, _Record] = {}

    def __len__(self) -> int:
        return len(self._records)

    def wrote(self, owner: ObjectKey, uid: str, lister: Lister[Any], version: str) -> None:
        """A write for `owner` was answered with `version`, which `lister` is to reach.

        Args:
            owner: What is reconciled.
            uid: Its own; a record of another object of that name is dropped.
            lister: Reads the collection that was written to.
            version: As answered; one that is no number is ignored, rather than waited for in vain.
        """
        if not version.isdecimal():
            return
        with self._lock:
            record = self._records.get(owner)
            if record is None or record.uid != uid:
                record = self._records[owner] = _Record(uid)
            before = record.writes.get(lister)
            if before is None or compare_versions(before.version, version) < 0 or before.resets != lister.resets:
                record.writes[lister] = _Write(version, lister.resets)

    def check(self, owner: ObjectKey) -> None:
        """Return if the caches show all that was written for `owner`; then it is forgotten.

        Raises:
            StaleCache: One of them does not yet; the message names it and both versions.
        """
        with self._lock:
            record = self._records.get(owner)
            writes = list(record.writes.items()) if record is not None else []
        for lister, write in writes:
            if _is_behind(lister, write):
                raise StaleCache(
                    f"{owner}: the cache of {lister.resource} is at {lister.version}, the own write at {write.version}"
                )
        with self._lock:
            if record is not None and self._records.get(owner) is record and list(record.writes.items()) == writes:
                del self._records[owner]

    def forget(self, owner: ObjectKey, uid: str = "") -> None:
        """Drop what is remembered for `owner`, such as when it was deleted; with `uid`, only if it is of that one."""
        with self._lock:
            record = self._records.get(owner)
            if record is not None and uid in ("", record.uid):
                del self._records[owner]


def _is_behind(lister: Lister[Any], write: _Write) -> bool:
    # A cache that was never filled is not asked: whoever waits for it does so elsewhere.
    return lister.version != "" and lister.resets == write.resets and lister.behind(write.version)
