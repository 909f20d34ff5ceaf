# SPDX-License-Identifier: Apache-2.0
"""Keeps the objects of a cluster in place: it makes them in each new namespace, and again when they are deleted.

On a cluster the server does it for its own service, and two controllers for the accounts and the authority. Here it
is done on the thread of the write that made it necessary, before the write is answered: a client that has the
answer finds the objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from apimachinery.host import Host
from apimachinery.log import get_logger
from embedded_apiserver.cluster_objects.wanted import (
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
from embedded_apiserver.groups.core.kinds import CONFIG_MAP, ENDPOINTS, NAMESPACE, SERVICE, SERVICE_ACCOUNT
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.routes import Route
from embedded_apiserver.status import StatusError
from embedded_apiserver.storage.history import Compacted
from embedded_apiserver.storage.settling import Settling
from embedded_apiserver.storage.storage import Cursor, Ended, Storage
from embedded_apiserver.storage.stored import key_of
from embedded_apiserver.writes.admitting import Admitting
from embedded_apiserver.writes.content import Content
from embedded_apiserver.writes.objects import Objects

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
    """Creates and restores the objects that `wanted_in` lists for each namespace that is not being deleted.

    Args:
        host: Creates the locks.
        storage: The objects.
        kinds: A function that returns the currently served kinds; objects of other kinds are not created.
        authority: The certificate of the server's certificate authority, in PEM form; empty if it has none.
        admitting: The admission of these writes. It must not call webhooks, because the thread may be that of the event
            loop. None for one with the default steps.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        storage: Storage,
        kinds: Callable[[], Kinds],
        authority: str = "",
        admitting: Admitting | None = None,
    ) -> None:
        self._storage = storage
        self._objects = Objects(host, storage, admitting=admitting)
        self._kinds = {kind.resource: kind for kind in kinds().stored}
        self._authority = authority
        self._port: int | None = None  # that at which the server listens, once it does; read and written as a whole
        self._cursors: dict[str, Cursor] = {}  # used by the thread that settles
        self._settling = Settling(host, "apiserver/cluster-objects", self._put_changed)
        self._settling.settle()

    def publish(self, port: int) -> None:
        """Set the target port of the service `kubernetes` and the port of its endpoints; the server listens there."""
        self._port = port
        self._put(HOME)

    def _put_changed(self) -> None:
        for namespace in self._changed():
            self._put(namespace)

    def _changed(self) -> Iterator[str]:
        """Return the namespaces in which something may be missing."""
        due: dict[str, None] = {}
        for collection, kept in _KEPT.items():
            if collection not in self._cursors:
                version = self._storage.version
                self._cursors[collection] = self._storage.follow(collection, version, self._settling.settle)
                due |= {item.key: None for item in self._storage.read(NAMESPACE.resource).items}
            try:
                due |= dict.fromkeys(self._taken(self._cursors[collection], kept))
            except Compacted:  # changes were dropped before they were taken; the next round looks at all namespaces
                self._cursors.pop(collection).close()
                self._settling.settle()
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
        port = FIRST_PORT if self._port is None else self._port  # a later one is put by `publish`
        for wanted in wanted_in(namespace, self._authority, port):
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
        if is_of_the_server and self._port is None:  # it is set once, and `publish` puts again after that
            return  # the port of the server before is as good as any until this one listens
        if (made := corrected(wanted, found.decode())) is not None and "deletionTimestamp" not in made["metadata"]:
            route = Route(kind, wanted.namespace, wanted.name)
            self._objects.update(route, Content(msgspec.json.encode(made), "", {}, wanted.manager))

    def _note(self, wanted: Wanted, error: StatusError | Ended) -> None:
        """Log a refusal, unless another writer came first: its write brings this thread back."""
        if isinstance(error, StatusError) and error.code not in (_CONFLICT, _NOT_FOUND):
            where = key_of(wanted.namespace, wanted.name)
            log.warning("could not keep an object of the cluster", collection=wanted.collection, key=where, error=error)
