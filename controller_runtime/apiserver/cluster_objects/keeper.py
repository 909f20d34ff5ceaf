# SPDX-License-Identifier: Apache-2.0
"""Keeps the objects of a cluster in place: it makes them in each new namespace, and again when they are deleted.

On a cluster the server does it for its own service, and two controllers for the accounts and the authority. Here it
is done on the thread of the write that made it necessary, before the write is answered: a client that has the
answer finds the objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from controller_runtime.apiserver.cluster_objects.wanted import (
    ACCOUNT,
    AUTHORITY,
    FIRST_PORT,
    HOME,
    SERVED,
    SLICES,
    Wanted,
    corrected,
    wanted_in,
)
from controller_runtime.apiserver.kinds.kind import Kind, Kinds
from controller_runtime.apiserver.kinds.registry import CONFIG_MAP, ENDPOINTS, NAMESPACE, SERVICE, SERVICE_ACCOUNT
from controller_runtime.apiserver.routes import Route
from controller_runtime.apiserver.status import StatusError
from controller_runtime.apiserver.storage.history import Compacted
from controller_runtime.apiserver.storage.storage import Cursor, Ended, Storage
from controller_runtime.apiserver.storage.stored import key_of
from controller_runtime.apiserver.writes.content import Content
from controller_runtime.apiserver.writes.objects import Objects
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

_BATCH = 64
_CONFLICT, _NOT_FOUND = 409, 404
_ITS_OWN = f"{HOME}/{SERVED}"
# By collection: the end of the keys of the objects that are kept there. All namespaces matter.
_KEPT = {
    NAMESPACE.resource: "",
    SERVICE_ACCOUNT.resource: f"/{ACCOUNT}",
    CONFIG_MAP.resource: f"/{AUTHORITY}",
    SERVICE.resource: _ITS_OWN,
    ENDPOINTS.resource: _ITS_OWN,
    SLICES: _ITS_OWN,
}


class Keeper:
    """Keeps in one server what `wanted_in` tells for each of its namespaces that is not being deleted.

    Args:
        host: Provides the lock.
        storage: The objects.
        kinds: Returns the kinds that are served; an object whose kind is not is left out.
        authority: The certificate of the authority of the server, PEM; empty if it has none.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, kinds: Callable[[], Kinds], authority: str = "") -> None:
        self._storage = storage
        self._objects = Objects(host, storage)  # which calls no webhooks: this thread may be that of the event loop
        self._kinds = {kind.resource: kind for kind in kinds().stored}
        self._authority = authority
        # Guards the four fields that follow: `_due` if something may have changed, `_busy` while a thread acts on it.
        # That thread also acts on the changes that others report meanwhile, so they need not wait.
        self._lock = host.lock("apiserver/cluster-objects")
        self._due = self._busy = False
        self._port, self._published = FIRST_PORT, False
        # Used by the thread that acts.
        self._cursors: dict[str, Cursor] = {}
        self.settle()

    def publish(self, port: int) -> None:
        """Have the service of the server name the port at which it listens now."""
        with self._lock:
            self._port, self._published = port, True
        self._put(HOME)

    def settle(self) -> None:
        """Make what is missing, unless another thread does; then that one makes it."""
        with self._lock:
            self._due = True
        while self._claim_work():
            try:
                for namespace in self._changed():
                    self._put(namespace)
            finally:
                with self._lock:
                    self._busy = False

    def _claim_work(self) -> bool:
        with self._lock:
            if self._busy or not self._due:
                return False
            self._busy, self._due = True, False
            return True

    def _changed(self) -> Iterator[str]:
        """Return the namespaces in which something may be missing."""
        due: dict[str, None] = {}
        for collection, kept in _KEPT.items():
            if collection not in self._cursors:
                version = self._storage.version
                self._cursors[collection] = self._storage.follow(collection, version, self.settle)
                due |= {item.key: None for item in self._storage.read(NAMESPACE.resource).items}
            try:
                due |= dict.fromkeys(self._taken(self._cursors[collection], kept))
            except Compacted:  # changes were dropped before they were taken; the next round looks at all namespaces
                self._cursors.pop(collection).close()
                with self._lock:
                    self._due = True
        yield from due

    def _taken(self, cursor: Cursor, kept: str) -> Iterator[str]:
        while (batch := cursor.take(_BATCH)) is not None and batch.changes:
            for change in batch.changes:
                if not kept and change.old is None:
                    yield change.key
                elif kept and change.key.endswith(kept):
                    yield change.key.partition("/")[0]

    def _put(self, namespace: str) -> None:
        """Make what is missing in one namespace, and correct what has other values than it must have."""
        found = self._storage.get(NAMESPACE.resource, namespace)
        if found is None or "deletionTimestamp" in found.decode()["metadata"]:
            return
        for wanted in wanted_in(namespace, self._authority, self._port):  # one number: a new one is put by `publish`
            if (kind := self._kinds.get(wanted.collection)) is not None:
                try:
                    self._keep(kind, wanted)
                except (StatusError, Ended) as error:
                    self._note(wanted, error)

    def _keep(self, kind: Kind, wanted: Wanted) -> None:
        found = self._storage.get(kind.resource, key_of(wanted.namespace, wanted.name))
        if found is None:
            body = msgspec.json.encode(wanted.obj)
            self._objects.create(Route(kind, wanted.namespace), Content(body, "", {}, wanted.manager))
            return
        is_of_the_server = wanted.namespace == HOME and wanted.name == SERVED
        if is_of_the_server and not self._published:  # it becomes true once, and `publish` puts again after that
            return  # the port of the server before is as good as any until this one listens
        if (made := corrected(wanted, found.decode())) is not None and "deletionTimestamp" not in made["metadata"]:
            route = Route(kind, wanted.namespace, wanted.name)
            self._objects.update(route, Content(msgspec.json.encode(made), "", {}, wanted.manager))

    def _note(self, wanted: Wanted, error: StatusError | Ended) -> None:
        """Log a refusal, unless another writer came first: its write brings this thread back."""
        if isinstance(error, StatusError) and error.code not in (_CONFLICT, _NOT_FOUND):
            where = key_of(wanted.namespace, wanted.name)
            log.warning("could not keep an object of the cluster", collection=wanted.collection, key=where, error=error)
