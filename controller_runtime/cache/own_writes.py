# SPDX-License-Identifier: Apache-2.0
"""Writes that the caches have yet to show, for reconcilers that must not decide without them."""

from __future__ import annotations

from typing import Any

import attrs

from apimachinery.errors import StaleCache
from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.lister import Lister
from controller_runtime.core.attempts import current_attempt, unobserved


@attrs.frozen
class _Write:
    version: str
    resets: int  # those of the lister at the write; if there are more, `version` means nothing any more


@attrs.frozen
class _OwnWriteRecord:
    uid: str
    writes: dict[Lister[Any], _Write] = attrs.field(factory=dict)


class OwnWrites:
    """Remembers the resourceVersion of the last write for each owner, until the caches have reached it.

    A reconciler that counts objects creates or deletes one too many if the cache lacks its last write. So it calls
    `wrote` after each write, and `check` before it reads. `check` raises while a cache is behind, and the reconcile is
    retried with backoff. No thread waits, and the reconciles of other owners are not delayed.

    A recorded reconcile (`Manager(incidents=…)`) keeps the result of its first `check` for an owner, and its replay has
    the same result.

    Args:
        host: Creates the lock.
        name: Tells apart several instances that one reconciler uses for the same owner, in records of reconciles.

    Threads: any, for every method.
    """

    def __init__(self, host: Host, name: str = "") -> None:
        self._name = f"own writes {name}".rstrip()
        # Guards the records, which hold the newest write to each collection.
        self._lock = host.lock("own writes")
        self._records: dict[ObjectKey, _OwnWriteRecord] = {}

    def __len__(self) -> int:
        return len(self._records)  # one number, so whole without the lock

    def wrote(self, owner: ObjectKey, uid: str, lister: Lister[Any], version: str) -> None:
        """Record that a write for `owner` was answered with the resourceVersion `version`, which `lister` must reach.

        Args:
            owner: The key of the object that is reconciled.
            uid: The owner's uid. Writes for an earlier object of that name, with another uid, are forgotten.
            lister: Reads the collection that was written to.
            version: The resourceVersion in the answer. If it is not a number, the write is not recorded, because it
                could not be compared with the cache.
        """
        if not version.isdecimal():
            return
        with self._lock:
            record = self._records.get(owner)
            if record is None or record.uid != uid:
                record = self._records[owner] = _OwnWriteRecord(uid)
            before = record.writes.get(lister)
            if before is None or compare_versions(before.version, version) < 0 or before.resets != lister.resets:
                record.writes[lister] = _Write(version, lister.resets)

    def check(self, owner: ObjectKey) -> None:
        """Raise an error if a cache does not show the last write for `owner` yet; otherwise forget its writes.

        A cache is not compared before its first list, nor after the server's data was restored from a backup.

        Raises:
            StaleCache: A cache is behind; the message names the cache and both resourceVersions.
        """
        if why := self._checked(owner):
            raise StaleCache(why)

    def _checked(self, owner: ObjectKey) -> str:
        """Return the message of `check`; empty if no cache is behind. A replay returns the recorded one."""
        attempt, found = current_attempt(), list[str]()
        if attempt is not None:

            def snapshot() -> str:
                with unobserved():  # the record has the result, and not the versions that led to it
                    found.append(self._look(owner))
                return found[0]

            attempt.state(f"{self._name} of {owner}", snapshot, found.append)
        return found[0] if found else self._look(owner)

    def _look(self, owner: ObjectKey) -> str:
        with self._lock:
            record = self._records.get(owner)
            writes = list(record.writes.items()) if record is not None else []
        for lister, write in writes:
            if _is_behind(lister, write):
                return (
                    f"{owner}: the cache of {lister.resource} is at {lister.version}, our last write at {write.version}"
                )
        with self._lock:
            # Only if no other thread has written for the owner since we looked.
            if record is not None and self._records.get(owner) is record and list(record.writes.items()) == writes:
                del self._records[owner]
        return ""

    def forget(self, owner: ObjectKey, uid: str = "") -> None:
        """Forget the writes for `owner`, for example after its deletion; with `uid`, only for an owner
        with that uid.
        """
        with self._lock:
            record = self._records.get(owner)
            if record is not None and uid in ("", record.uid):
                del self._records[owner]


def _is_behind(lister: Lister[Any], write: _Write) -> bool:
    # A cache that was never filled is not compared: waiting for the first list is not the task of a reconcile.
    return lister.version != "" and lister.resets == write.resets and lister.behind(write.version)
