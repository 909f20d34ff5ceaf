# SPDX-License-Identifier: Apache-2.0
"""Kinds of one's own, from definition to controller: in process, over TLS, and under virtual time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest
from kit.contract.real_server import emptied, established

from apimachinery.host import Thread
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime import Controller, Lister, Manager, ObjectKey, Reconciler, Request, Result
from controller_runtime.client.client import Client
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.errors import AlreadyExists, Invalid
from controller_runtime.resources import Resource
from controller_runtime.testing import EmbeddedCluster, Simulation, eventually
from embedded_apiserver.server import APIServer
from embedded_apiserver.shell.kubeconfig import kubeconfig, write_kubeconfig
from embedded_apiserver.shell.thread import LoopbackServer
from embedded_apiserver.shell.tls import make_certificates

pytestmark = pytest.mark.ends

BACKUPS: Resource[dict[str, Any]] = Resource("demo.example.com", "v1", "Backup", "backups")
SPEC = {
    "type": "object",
    "required": ["source"],
    "properties": {"source": {"type": "string"}, "copies": {"type": "integer", "default": 1, "maximum": 3}},
}
STATUS = {"type": "object", "properties": {"done": {"type": "integer"}}}
DEFINITION = {
    "metadata": {"name": "backups.demo.example.com"},
    "spec": {
        "group": "demo.example.com",
        "scope": "Namespaced",
        "names": {"plural": "backups", "kind": "Backup", "shortNames": ["bk"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}},
            }
        ],
    },
}


class Wanted(msgspec.Struct):
    source: str
    copies: int


class Done(msgspec.Struct):
    done: int


class StructView(msgspec.Struct):
    spec: Wanted
    status: Done | None = None


@attrs.frozen
class AttrsSpec:
    source: str
    copies: int


@attrs.frozen
class AttrsView:
    spec: AttrsSpec


@attrs.frozen
class Backups(Reconciler):
    """Says of each backup that all its copies are done."""

    backups: Lister[StructView]
    client: Client

    def reconcile(self, request: Request) -> Result:
        backup = self.backups.get(request)
        if backup is not None and backup.status != Done(backup.spec.copies):
            self.client.patch(BACKUPS, request, {"status": {"done": backup.spec.copies}}, subresource="status")
        return Result()


def backups(manager: Manager) -> Controller:
    return Controller("backups", Backups(manager.lister(BACKUPS, StructView), manager.client)).watch(BACKUPS)


def backup(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"source": "db", **spec}}


def definitions(client: Client) -> Resource[Any]:
    """The resource of definitions, as discovery knows it."""
    return client.resource("crd")


@attrs.frozen
class Cluster:
    """A manager in real time, a client of another user, and the way to start the manager."""

    manager: Manager
    user: Client
    start: Callable[[], None]

    @property
    def client(self) -> Client:
        return self.manager.client


def define(client: Client) -> None:
    """Make the definition; a real server serves its kind a while later."""
    client.create(definitions(client), DEFINITION)
    established(client, DEFINITION["metadata"]["name"])


@contextlib.contextmanager
def served(host: SystemHost, chosen: Path | None, folder: Path) -> Iterator[Path]:
    if chosen is not None:
        yield emptied(chosen)
        return
    server, certificates = APIServer(host), make_certificates(host.now())
    with contextlib.closing(server), LoopbackServer(host, server, certificates=certificates) as serving:
        write_kubeconfig(folder / "kubeconfig", kubeconfig(serving.url, certificates.authority, "s3cret"))
        yield folder / "kubeconfig"


@pytest.fixture(params=[pytest.param("in process", marks=pytest.mark.embedded("it is in this process")), "over TLS"])
def cluster(request: pytest.FixtureRequest, chosen: Path | None, tmp_path: Path) -> Iterator[Cluster]:
    """A manager in real time, straight into the server or through a socket."""
    host = SystemHost()
    if request.param == "in process":
        with EmbeddedCluster(host) as straight:
            yield Cluster(straight.manager, straight.user, straight.start)
        return
    with served(host, chosen, tmp_path) as path:
        transport = HTTPTransport(host, from_kubeconfig(path))
        manager, stop = Manager(host, transport), Stop(host)
        threads: list[Thread] = []

        def start() -> None:
            threads.append(spawn(host, stop, "manager", lambda: manager.run(stop)))

        with contextlib.closing(transport):
            yield Cluster(manager, Client(host, transport), start)
            stop.set()
            assert all(thread.join_until(None) for thread in threads)
            assert stop.failure is None


def test_a_controller_of_a_kind_of_ones_own(cluster: Cluster) -> None:
    client, manager = cluster.client, cluster.manager
    define(client)
    manager.add(backups(manager))
    by_attrs, by_dict = manager.lister(BACKUPS, AttrsView), manager.lister(BACKUPS)
    cluster.start()

    client.create(BACKUPS, backup("a", copies=2), "default")
    client.create(BACKUPS, backup("b"), "default")
    both = [ObjectKey("a", "default"), ObjectKey("b", "default")]

    def all_done() -> bool:
        found = [by_dict.get(request) for request in both]
        return [one["status"]["done"] for one in found if one is not None and "status" in one] == [2, 1]

    assert eventually(manager, BACKUPS, all_done)
    assert by_attrs.get(both[1]) == AttrsView(AttrsSpec("db", 1))
    assert client.get(BACKUPS, both[0], StructView) == StructView(Wanted("db", 2), Done(2))


def test_the_kind_is_found_by_its_names_and_refuses_what_its_schema_refuses(cluster: Cluster) -> None:
    client, user = cluster.client, cluster.user
    define(client)

    assert {user.resource(name) for name in ("Backup", "backups", "bk", "backup")} == {BACKUPS}
    with pytest.raises(Invalid, match=r"spec\.copies in body should be less than or equal to 3"):
        client.create(BACKUPS, backup("a", copies=4), "default")
    with pytest.raises(AlreadyExists):
        client.create(definitions(client), DEFINITION)


def test_a_definition_that_goes_empties_the_caches_and_one_that_comes_again_fills_them(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("here")) as cluster:
        user = cluster.user
        user.create(definitions(user), DEFINITION)
        user.create(BACKUPS, backup("a"), "default")
        lister = cluster.manager.lister(BACKUPS)
        cluster.manager.add(backups(cluster.manager))
        cluster.start()
        sim.settle()
        before = lister.keys()

        user.delete(definitions(user), ObjectKey("backups.demo.example.com"))
        sim.advance(60.0)
        between = lister.keys()
        user.create(definitions(user), DEFINITION)
        user.create(BACKUPS, backup("b"), "default")
        sim.advance(60.0)

        assert (before, between) == ([ObjectKey("a", "default")], [])
        assert lister.keys() == [ObjectKey("b", "default")]
        assert user.get(BACKUPS, ObjectKey("b", "default"))["status"] == {"done": 1}
