# SPDX-License-Identifier: Apache-2.0
"""Adds up the changes that a listener of a cache receives, and checks that they are consistent."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.objects import Cached, ObjectKey
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.store import Delta, Store
from kit.fault_runs.invariants import Violated
from kit.fault_runs.restorable import RestorableDisk


class Ledger:
    """A handler that checks each change: it must begin where the last one of the object ended, and go forwards.

    Args:
        name: Names the listener in messages.
        disk: The server's disk. Only if it has lost writes may an object become
            older, or a deleted one return.
        pause: Called with each change, to be a slow subscriber.

    Attributes:
        violated: The first violation; None as long as there is none.
    """

    def __init__(self, name: str, disk: RestorableDisk, pause: Callable[[], object] = lambda: None) -> None:
        self.violated: Violated | None = None
        self._name = name
        self._disk = disk
        self._pause = pause
        self._copy: dict[ObjectKey, Cached] = {}
        self._gone: set[str] = set()  # uids of deleted objects

    def __call__(self, delta: Delta) -> None:
        """Take one change. A violation is kept rather than raised, as it would end the cache's thread."""
        self._pause()
        wrong = self._wrong(delta)
        if wrong and self.violated is None:
            self.violated = Violated(wrong, f"{self._name} received that {delta.old} became {delta.new}")
        if delta.new is not None:
            self._copy[delta.key] = delta.new
        if delta.old is not None and (delta.new is None or delta.new.uid != delta.old.uid):
            self._gone.add(delta.old.uid)
        if delta.new is None:
            self._copy.pop(delta.key, None)

    def check_against(self, store: Store) -> None:
        """Raise `Violated` unless the changes add up to the objects in `store`."""
        held = {cached.key: cached for cached in store.list()}
        if {key: _content(each) for key, each in self._copy.items()} != {
            key: _content(each) for key, each in held.items()
        }:
            raise Violated("the changes add up", f"{self._name}: they make {self._copy}, the store holds {held}")

    def _wrong(self, delta: Delta) -> str:
        old, new = delta.old, delta.new
        if _content(self._copy.get(delta.key)) != _content(old):
            return "no gap, no repetition"
        if new is None:
            return ""
        if old is not None and old.uid == new.uid and compare_versions(new.resource_version, old.resource_version) < 0:
            return "" if self._disk.has_lost(old.resource_version) else "never back"
        return "never back" if new.uid in self._gone and not self._disk.lost else ""


def _content(cached: Cached | None) -> tuple[str, str, bytes] | None:
    """Return what two states of an object share if they are the same, in whatever form a store keeps them."""
    return None if cached is None else (cached.uid, cached.resource_version, cached.head)
