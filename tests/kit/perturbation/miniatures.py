# SPDX-License-Identifier: Apache-2.0
"""The parts of small operators of a database: its declaration, short reads and writes, bodies, and a story."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import attrs

from apimachinery.host import Host
from controller_runtime import Cached, Client, Controller, Manager, ObjectKey, Reconciler, Request, Result, labels_of
from controller_runtime.cache.store import Delta
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.errors import NotFound
from controller_runtime.resources import CUSTOM_RESOURCE_DEFINITIONS, STORAGE_CLASSES, Resource
from controller_runtime.testing import EmbeddedCluster, Simulation
from embedded_apiserver.server import APIServer
from kit.perturbation.workloads import Workloads, a_set

Body = dict[str, Any]
Kind = Resource[Any]

DATABASES: Kind = Resource("example.com", "v1", "Database", "databases")
"""The objects that users declare. Their specs may contain anything."""

FINALIZER = "example.com/cleanup"
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_DEFINITION = {
    "metadata": {"name": "databases.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Database", "plural": "databases"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {**_ANYTHING, "properties": {"spec": _ANYTHING, "status": _ANYTHING}}},
                "subresources": {"status": {}},
            }
        ],
    },
}
_GROWING = {
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "example.com/disks",
    "allowVolumeExpansion": True,
}


class Operator(Reconciler):
    """A reconciler of `DATABASES` with short words for reads and writes in the namespace `default`.

    Attributes:
        kinds: The kinds that it caches beside the databases. A change of an object with the label `db` reconciles that
            database.
    """

    kinds: ClassVar[tuple[Kind, ...]] = ()

    def __init__(self, manager: Manager) -> None:
        self.client: Client = manager.client
        self.views = {kind: manager.lister(kind, dict, any_version=True) for kind in (DATABASES, *self.kinds)}

    def reconcile(self, request: Request) -> Result:
        """Bring one database about, if it is in the cache."""
        database = self.see(DATABASES, request.name)
        if database is None:
            self.gone(request.name)
        else:
            self.run(database)
        return Result()

    def run(self, database: Body) -> None:
        """Bring `database` about."""
        raise NotImplementedError

    def gone(self, name: str) -> None:
        """Do what is left to do for a database that the cache does not have."""

    # Reads: `see` and `seen` may be late, `ask` and `latest` are not.

    def see(self, kind: Kind, name: str) -> Body | None:
        return self.views[kind].get(key(name))

    def seen(self, kind: Kind, **labels: str) -> list[Body]:
        found: list[Body] = self.views[kind].list()
        return [obj for obj in found if labels.items() <= (obj["metadata"].get("labels") or {}).items()]

    def ask(self, kind: Kind, name: str) -> Body | None:
        try:
            return self.client.get(kind, key(name), view=dict)
        except NotFound:
            return None

    def latest(self, database: Body) -> Body | None:
        """Return the present state of a database that may have been seen late; None if it is gone."""
        found = self.ask(DATABASES, name_of(database))
        return found if found is not None and uid_of(found) == uid_of(database) else None

    # Writes.

    def bring(self, kind: Kind, name: str, database: Body, body: Body | None = None) -> None:
        """Create an object that the database owns, unless the cache has it."""
        if self.see(kind, name) is None:
            self.make(kind, name, owned(database, body or {}))

    def make(self, kind: Kind, name: str, body: Body) -> Cached:
        metadata = {"name": name, "namespace": "default", **body.get("metadata", {})}
        return self.client.create(kind, {**body, "metadata": metadata})

    def patch(self, kind: Kind, name: str, change: Body) -> Cached:
        return self.client.patch(kind, key(name), change)

    def report(self, database: Body, **status: Any) -> None:
        """Write these fields of the status, unless they are there."""
        present = database.get("status") or {}
        if any(present.get(name) != value for name, value in status.items()):
            self.client.patch(DATABASES, key(name_of(database)), {"status": status}, subresource="status")

    def drop(self, kind: Kind, name: str, uid: str | None = None) -> None:
        """Delete an object that may be gone already, if `uid` is given only if it is still that one."""
        with contextlib.suppress(NotFound):
            self.client.delete(kind, key(name), uid=uid)

    # Ends.

    def hold(self, database: Body) -> None:
        """Keep a deleted database until `release`."""
        if FINALIZER not in finalizers_of(database):
            self._set_finalizers(database, [*finalizers_of(database), FINALIZER])

    def release(self, database: Body) -> None:
        if FINALIZER in finalizers_of(database):
            self._set_finalizers(database, [each for each in finalizers_of(database) if each != FINALIZER])

    def _set_finalizers(self, database: Body, finalizers: list[str]) -> None:
        metadata = database["metadata"]
        change = {"finalizers": finalizers, "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        self.patch(DATABASES, metadata["name"], {"metadata": change})


class ReadsLatest(Operator):
    """Reads the database from the server before it does anything. Comes before the operator among the bases."""

    def run(self, database: Body) -> None:
        if (latest := self.latest(database)) is not None:
            super().run(latest)


def owned(database: Body, body: Body) -> Body:
    """Return `body` with the database as its owner, and with the labels `db`, its name, and `of`, its uid."""
    name, uid = name_of(database), uid_of(database)
    owner = {"apiVersion": "example.com/v1", "kind": "Database", "name": name, "uid": uid}
    return {**body, "metadata": {"labels": {"db": name, "of": uid}, "ownerReferences": [owner]}}


def servers(database: Body, replicas: int, storage: str = "1Gi", *, retain: bool = False) -> Body:
    """Return a stateful set whose pods and claims have the labels of `owned`; see `a_set`."""
    return a_set(replicas, storage=storage, retain=retain, db=name_of(database), of=uid_of(database))


def key(name: str) -> ObjectKey:
    return ObjectKey(name, "default")


def name_of(obj: Body) -> str:
    return str(obj["metadata"]["name"])


def uid_of(obj: Body) -> str:
    return str(obj["metadata"]["uid"])


def is_going(obj: Body) -> bool:
    """Return whether an object is being deleted."""
    return "deletionTimestamp" in obj["metadata"]


def finalizers_of(obj: Body) -> list[str]:
    return obj["metadata"].get("finalizers") or []


def _databases_of(delta: Delta) -> Iterable[Request]:
    shown = delta.new or delta.old
    name = labels_of(shown).get("db") if shown is not None else None
    return [Request(name, "default")] if name else []


def setup_of(make: Callable[[Manager], Operator]) -> Callable[[Manager], None]:
    """Return the function that sets an operator up."""

    def setup(manager: Manager) -> None:
        operator = make(manager)
        controller = Controller("databases", operator).watch(DATABASES)
        for kind in operator.kinds:
            controller.watch(kind, map=_databases_of)
        manager.add(controller)

    return setup


class World:
    """The words of stories: what users do, each followed by a wait."""

    def __init__(self, cluster: EmbeddedCluster, simulation: Simulation) -> None:
        self.user = cluster.user
        self._simulation = simulation

    def wait(self, seconds: float = 3.0) -> None:
        self._simulation.advance(seconds)

    def declare(self, name: str = "db", /, **spec: Any) -> None:
        self.user.create(DATABASES, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
        self.wait()

    def change(self, name: str = "db", /, **spec: Any) -> None:
        self.user.patch(DATABASES, key(name), {"spec": spec})
        self.wait()

    def delete(self, name: str = "db") -> None:
        self.user.delete(DATABASES, key(name))
        self.wait()


@attrs.frozen
class Bug:
    """A bug of an operator.

    Attributes:
        source: The project's issue.
        pattern: The pattern that finds it.
        buggy: The operator with the bug.
        mended: The operator without it.
        story: The acts of users.
    """

    source: str
    pattern: str
    buggy: Callable[[Manager], Operator]
    mended: Callable[[Manager], Operator]
    story: Callable[[World], None]

    def tell(self, cluster: EmbeddedCluster, simulation: Simulation) -> None:
        self.story(World(cluster, simulation))


@contextmanager
def beside(host: Host, server: APIServer) -> Iterator[None]:
    """Define `DATABASES`, have claims that may grow, and run stand-ins of the controllers of workloads."""
    client = Client(host, InProcessTransport(host, server))
    client.create(CUSTOM_RESOURCE_DEFINITIONS, _DEFINITION)
    client.create(STORAGE_CLASSES, _GROWING)
    with Workloads(host, server, client):
        yield
