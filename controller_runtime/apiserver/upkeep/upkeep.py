# SPDX-License-Identifier: Apache-2.0
"""What a controller manager does for the objects of a cluster, done for those of the embedded server.

Garbage collection and the end of namespaces, told by cursors on the storage rather than
by watches: nothing is copied, and a write that concerns nobody costs one look at its metadata.
"""

from __future__ import annotations

from functools import partial

from controller_runtime.apiserver.kinds.registry import Kind
from controller_runtime.apiserver.server import APIServer
from controller_runtime.apiserver.storage.history import Compacted
from controller_runtime.apiserver.storage.storage import Cursor
from controller_runtime.apiserver.storage.stored import Stored
from controller_runtime.apiserver.upkeep import garbage, namespaces
from controller_runtime.apiserver.upkeep.internal_client import InternalClient
from controller_runtime.apiserver.upkeep.ownership import Item
from controller_runtime.core.host import Host
from controller_runtime.core.stop import Stop

RETRY_AFTER = 1.0
"""Seconds after which a write that the server failed to do is tried again."""
PACE = 0.1
"""Seconds in which changes gather, so that a busy server is not looked at after every write."""

_BATCH = 256


class Upkeep:
    """Keeps house in one server.

    Args:
        host: Of the server.
        server: Whose objects they are; it outlives this.
        token: The bearer token that `server` takes, if it takes one.

    Threads: `run` and `settle` on one thread.
    """

    def __init__(self, host: Host, server: APIServer, token: str | None = None) -> None:
        self._host = host
        self._server = server
        self._storage = server.storage
        self._collecting = InternalClient(server, garbage.USER_AGENT, token)
        self._cleaning = InternalClient(server, namespaces.USER_AGENT, token)
        # What is kept; kinds that come or go are learned when nothing else is due.
        self._kinds = server.kinds
        self._keepers = self._new_keepers()
        self._cursors: dict[Kind, Cursor] = {}
        # Guards `_ready`: the kinds of which something changed, set by writers.
        self._condition = host.condition("apiserver/upkeep")
        self._ready: dict[Kind, None] = dict.fromkeys(self._kinds.stored)

    def run(self, stop: Stop) -> None:
        """Keep house until `stop`."""
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
        """Do everything that is to be done now; False if some of it failed and is still due."""
        while self._take_all() or self._look_at_all() or self._learn_kinds():
            pass
        return not any(keeper.due for keeper in self._keepers)

    def _look_at_all(self) -> bool:
        """Let everybody act on what is due; whether any of it got done."""
        progress = False
        for keeper in self._keepers:
            due, keeper.due = keeper.due, {}
            keeper.due |= {item: None for item in due if not keeper.look(item)}
            progress = progress or len(keeper.due) < len(due)
        return progress

    def _take_all(self) -> bool:
        """Let everybody see what changed; whether anything did."""
        with self._condition:
            ready, self._ready = self._ready, {}
        try:
            return sum(self._take(kind) for kind in ready) > 0
        except Compacted:  # too much at once: what is there now tells as much, to somebody who knows nothing yet
            self._begin_anew()
            return True

    def _learn_kinds(self) -> bool:
        """Begin anew if other kinds are served by now; whether they are.

        Last of all: what was owned by objects of a kind that is gone is still known for it.
        """
        if self._server.kinds is self._kinds:
            return False
        self._kinds = self._server.kinds
        self._begin_anew()
        return True

    def _begin_anew(self) -> None:
        self._close()
        self._keepers = self._new_keepers()
        self._wake(*self._kinds.stored)

    def _new_keepers(self) -> tuple[garbage.GarbageCollector, namespaces.NamespaceCleaner]:
        return (
            garbage.GarbageCollector(self._storage, self._kinds, self._collecting),
            namespaces.NamespaceCleaner(self._server, self._cleaning),
        )

    def _take(self, kind: Kind) -> int:
        """Let everybody see what changed of one kind; how many changes those were."""
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
        for keeper in self._keepers:
            keeper.see(item, old, new)

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
