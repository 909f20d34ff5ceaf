# SPDX-License-Identifier: Apache-2.0
"""What somebody was told of a collection, added up, and whether it can be true."""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.api.objects import Cached, ObjectKey
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.store import Delta, Store
from controller_runtime.testing.fault_runs.invariants import Violated
from controller_runtime.testing.fault_runs.restorable import RestorableDisk


class Ledger:
    """A handler that believes nobody: each change must begin where the last one ended, and lead forwards.

    Args:
        name: Whose it is, for the message.
        disk: The server's: if it lost something, then, and only then, an object may become
            older, and a deleted one return.
        pause: Called with each change, for a subscriber that takes its time.

    Attributes:
        violated: The first thing that cannot be true; None if all can.
        told: How many changes it heard of.
    """

    def __init__(self, name: str, disk: RestorableDisk, pause: Callable[[], object] = lambda: None) -> None:
        self.violated: Violated | None = None
        self.told = 0
        self._name = name
        self._disk = disk
        self._pause = pause
        self._copy: dict[ObjectKey, Cached] = {}
        self._gone: set[str] = set()  # uids

    def __call__(self, delta: Delta) -> None:
        """One change."""
        self.told += 1
        self._pause()
        wrong = self._wrong(delta)
        if wrong and self.violated is None:
            self.violated = Violated(wrong, f"{self._name} was told that {delta.old} became {delta.new}")
        if delta.new is not None:
            self._copy[delta.key] = delta.new
        if delta.old is not None and (delta.new is None or delta.new.uid != delta.old.uid):
            self._gone.add(delta.old.uid)
        if delta.new is None:
            self._copy.pop(delta.key, None)

    def check_against(self, store: Store) -> None:
        """Raise `Violated` unless it all adds up to what `store` holds."""
        held = {cached.key: cached for cached in store.list()}
        if self._copy != held:
            raise Violated("the changes add up", f"{self._name}: they make {self._copy}, the store holds {held}")

    def _wrong(self, delta: Delta) -> str:
        old, new = delta.old, delta.new
        if self._copy.get(delta.key) is not old:
            return "no gap, no repetition"
        if new is None:
            return ""
        if old is not None and old.uid == new.uid and compare_versions(new.resource_version, old.resource_version) < 0:
            return "" if self._disk.has_lost(old.resource_version) else "never back"
        return "never back" if new.uid in self._gone and not self._disk.lost else ""
