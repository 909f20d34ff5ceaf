# SPDX-License-Identifier: Apache-2.0
"""Cleanup of deleted namespaces: their objects are deleted, and once none are left, the namespaces are released."""

from __future__ import annotations

from apimachinery.host import Clock
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.upkeep.internal_client import InternalClient
from embedded_apiserver.upkeep.ownership import Item, meta_of
from embedded_apiserver.upkeep.remnants import with_remnants

USER_AGENT = "namespace-controller"
_FINALIZER = "kubernetes"


class NamespaceCleaner:
    """Deletes the objects in terminating namespaces, and then removes the finalizer of the namespaces.

    It is used in the same way as `garbage.GarbageCollector`.

    Args:
        server: The server whose namespaces are cleaned up.
        client: Sends the writes.
        clock: The clock of the server.

    Attributes:
        due: The namespaces to check.

    Threads: one.
    """

    def __init__(self, server: APIServer, client: InternalClient, clock: Clock) -> None:
        self._server = server
        self._storage = server.storage
        self._client = client
        self._clock = clock
        self._terminating: set[str] = set()
        self.due: dict[Item, None] = {}

    def see(self, item: Item, old: Stored | None, new: Stored | None) -> None:
        """Record a change of an object. Only terminating namespaces, and the objects in them, are relevant."""
        if item.kind != NAMESPACE:
            namespace = item.key.rpartition("/")[0]
            if namespace in self._terminating:
                self.due[Item(NAMESPACE, namespace)] = None
        elif new is not None and meta_of(new).deletion_timestamp:
            self._terminating.add(item.key)
            self.due[item] = None
        else:
            self._terminating.discard(item.key)

    def look(self, item: Item) -> bool:
        """Delete the objects in a terminating namespace, or finalize it if it is empty; return False if it must be
        checked again.
        """
        found = self._storage.get(NAMESPACE.resource, item.key)
        if found is None or not meta_of(found).deletion_timestamp:
            return True
        # The kinds are read now, not when the cleaner was made: a custom kind may have come since.
        kinds = [kind for kind in self._server.kinds.stored if kind.namespaced]
        filled = [kind for kind in kinds if self._storage.read(kind.resource, f"{item.key}/").items]
        emptied = [self._client.empty(kind, item.key) for kind in filled]  # each of them, whatever becomes of others
        done = all(emptied)
        left = {kind: self._storage.read(kind.resource, f"{item.key}/").items for kind in filled}
        left = {kind: items for kind, items in left.items() if items}
        namespace = found.decode()
        conditions = with_remnants(namespace, left, self._clock.now())
        status = {**namespace.get("status", {}), "conditions": conditions}
        if conditions != namespace.get("status", {}).get("conditions"):
            # The change brings the namespace back here.
            return self._client.show({**namespace, "status": status}, item.key) and done
        if left:
            return done
        finalizers = [one for one in namespace.get("spec", {}).get("finalizers", ()) if one != _FINALIZER]
        return self._client.finalize({**namespace, "spec": {"finalizers": finalizers}}, item.key)
