# SPDX-License-Identifier: Apache-2.0
"""Garbage collection, the cleanup of namespaces, the release of unused storage, and the status of policies.

In a real cluster they are the controller manager's work. The repair of the records of addresses is a real API server's
own.

Changes are read through cursors on the storage rather than by watches: no object is copied into a cache, and a write
that matters to neither costs the decoding of its metadata.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

from apimachinery.host import Host
from apimachinery.stop import Stop
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import Compacted
from embedded_apiserver.storage.storage import Cursor
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.upkeep import addresses, garbage, namespaces, policies, protection
from embedded_apiserver.upkeep.internal_client import InternalClient
from embedded_apiserver.upkeep.ownership import Item

RETRY_AFTER = 1.0
"""Seconds after which a failed write is tried again."""
PACE = 0.1
"""Seconds between two rounds, so that on a busy server many changes are handled in one."""

# The most changes to take from a cursor at a time.
_BATCH = 256


class _Controller(Protocol):
    """A controller that the upkeep runs."""

    due: dict[Item, None]

    def see(self, item: Item, old: Stored | None, new: Stored | None) -> None:
        """Take note of a change."""

    def look(self, item: Item) -> bool:
        """Act on an object; return False if it must be looked at again."""


class Upkeep:
    """Runs the controllers in the server's process.

    They collect garbage, finish the deletion of namespaces, release deleted storage that is not in use, write the
    status of policies, and, if the server has them, repair the `IPAddress` objects of services.

    Args:
        host: The host of the server.
        server: The server; close it only after `run` has returned.
        token: The bearer token that `server` requires; None if it requires none.

    Threads: `run` and `settle` on one thread.
    """

    def __init__(self, host: Host, server: APIServer, token: str | None = None) -> None:
        self._host = host
        self._server = server
        self._storage = server.storage
        self._collecting = InternalClient(server, garbage.USER_AGENT, token)
        self._cleaning = InternalClient(server, namespaces.USER_AGENT, token)
        self._protecting = InternalClient(server, protection.USER_AGENT, token)
        self._checking = InternalClient(server, policies.USER_AGENT, token)
        self._repairing = InternalClient(server, addresses.USER_AGENT, token)
        # The kinds that are followed. Others are noticed when nothing else is due; see `_learn_kinds`.
        self._kinds = server.kinds
        self._controllers = self._new_controllers()
        self._cursors: dict[Kind, Cursor] = {}
        # Guards `_ready`: the kinds with changes to take, set by the threads that write.
        self._condition = host.condition("apiserver/upkeep")
        self._ready: dict[Kind, None] = dict.fromkeys(self._kinds.stored)

    def run(self, stop: Stop) -> None:
        """Process changes until `stop` is set."""
        forget = stop.on_set(self._wake)
        try:
            while not stop.is_set():
                deadline = None if self.settle() else self._host.monotonic() + RETRY_AFTER
                with self._condition:
                    while not self._ready and not stop.is_set() and not self._is_past(deadline):
                        self._condition.wait_until(deadline)
                stop.wait(PACE)
        finally:
            forget()
            self._close()

    def settle(self) -> bool:
        """Process all changes so far; return False if a write failed and must be tried again."""
        while self._take_all() or self._look_at_all() or self._learn_kinds():
            pass
        return not any(controller.due for controller in self._controllers)

    def _look_at_all(self) -> bool:
        """Act on all objects that are due; return whether any of them is settled."""
        progress = False
        for controller in self._controllers:
            due, controller.due = controller.due, {}
            controller.due |= {item: None for item in due if not controller.look(item)}
            progress = progress or len(controller.due) < len(due)
        return progress

    def _take_all(self) -> bool:
        """Take note of all changes; return whether there were any."""
        with self._condition:
            ready, self._ready = self._ready, {}
        try:
            return sum(self._take(kind) for kind in ready) > 0
        except (
            Compacted
        ):  # changes were dropped before they were taken; the present state says as much to new controllers
            self._start_again()
            return True

    def _learn_kinds(self) -> bool:
        """Start again if other kinds are served by now; return whether they are.

        This comes last in a round. When a kind has gone, the deletions of its objects must be handled first, with
        the old kinds: for new controllers the kind would be unknown, and its dependents would stay forever.
        """
        if self._server.kinds is self._kinds:
            return False
        self._kinds = self._server.kinds
        self._start_again()
        return True

    def _start_again(self) -> None:
        """Replace the controllers by new ones, which read the present state of all kinds."""
        self._close()
        self._controllers = self._new_controllers()
        self._wake(*self._kinds.stored)

    def _new_controllers(self) -> tuple[_Controller, ...]:
        always: tuple[_Controller, ...] = (
            garbage.GarbageCollector(self._storage, self._kinds, self._collecting),
            namespaces.NamespaceCleaner(self._server, self._cleaning, self._host),
            protection.ProtectionController(self._storage, self._protecting),
            policies.PolicyChecker(self._storage, lambda: self._server.kinds, self._checking),
        )
        if self._server.records is None:
            return always
        return *always, addresses.AddressRepairer(self._host, self._storage, self._repairing)

    def _take(self, kind: Kind) -> int:
        """Take note of the changes of one kind, the first time of all its objects; return the number of changes."""
        cursor = self._cursors.get(kind)
        if cursor is None:
            snapshot = self._storage.read(kind.resource)
            wake = partial(self._wake, kind)
            cursor = self._cursors[kind] = self._storage.follow(kind.resource, snapshot.version, wake)
            for item in snapshot.items:
                self._see(Item(kind, item.key), None, item)
        taken = 0
        while (batch := cursor.take(_BATCH)) is not None and batch.changes:
            taken += len(batch.changes)
            for change in batch.changes:
                self._see(Item(kind, change.key), change.old, change.new)
        return taken

    def _see(self, item: Item, old: Stored | None, new: Stored | None) -> None:
        for controller in self._controllers:
            controller.see(item, old, new)

    def _wake(self, *kinds: Kind) -> None:
        with self._condition:
            self._ready.update(dict.fromkeys(kinds))
            self._condition.notify_all()

    def _is_past(self, deadline: float | None) -> bool:
        return deadline is not None and self._host.monotonic() >= deadline

    def _close(self) -> None:
        for cursor in self._cursors.values():
            cursor.close()
        self._cursors.clear()
