# SPDX-License-Identifier: Apache-2.0
"""The garbage collector of API servers' leases on an embedded cluster."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from kit.controllers.beating import ERROR

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey, microtime
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Transport
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.faults import Fault, FaultyTransport
from controller_runtime.testing.simulation import Simulation
from controllers.expiry.apiserver_lease_gc import apiserver_lease_gc
from embedded_apiserver.server import APIServer

LEASE = ObjectKey("lease", "kube-system")
IDENTITY = "apiserver.kubernetes.io/identity"


class Cluster:
    """The controller, a client that acts as everything else, and the faults of requests for single leases.

    Attributes:
        before: By method, an action that runs once, before the controller's next request of that method.
        faults: The faults of requests, by method and name.
    """

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        host = sim.host("controller")
        self.host = sim.host("server")
        server = APIServer(self.host)
        self.world = Client(self.host, InProcessTransport(self.host, server))
        self.before: dict[str, Callable[[], object]] = {}
        self.faults: dict[str, Fault] = {}
        self.asked: list[str] = []
        transport: Transport = FaultyTransport(host, InProcessTransport(host, server), self._fault)
        self.cluster = EmbeddedCluster(host, server=server, transport=transport)
        self.controller = apiserver_lease_gc(self.cluster.manager)
        self.cluster.manager.add(self.controller)

    def start(self, seconds: float = 1.0) -> None:
        self.cluster.start()
        self.sim.advance(seconds)

    def end(self) -> None:
        self.cluster.stop()

    def create(self, name: str, age: float | None, duration: int | None = 3600, label: str = "kube-apiserver") -> None:
        """Create a lease that was renewed `age` seconds ago, or never."""
        spec: dict[str, Any] = {"holderIdentity": name, "leaseDurationSeconds": duration}
        spec["renewTime"] = None if age is None else microtime(self.host.now() - timedelta(seconds=age))
        metadata = {"name": name, "namespace": "kube-system", "labels": {IDENTITY: label}}
        self.world.create(LEASES, {"metadata": metadata, "spec": spec})

    def renew(self, age: float = 0.0) -> None:
        """Renew the lease by a request that was under way for `age` seconds."""
        time = microtime(self.host.now() - timedelta(seconds=age))
        self.world.patch(LEASES, LEASE, {"spec": {"renewTime": time}})

    def left(self) -> list[str]:
        leases: list[dict[str, Any]] = self.world.list(LEASES, "kube-system", view=dict)
        return sorted(lease["metadata"]["name"] for lease in leases)

    def _fault(self, number: int, request: HTTPRequest) -> Fault | None:
        head, _, name = request.path.rpartition("/")
        if not head.endswith("/leases"):
            return None
        self.asked.append(f"{request.method} {name}")
        if (act := self.before.pop(request.method, None)) is not None:
            act()
        return self.faults.get(f"{request.method} {name}")


@pytest.mark.scenario("G-08")
@pytest.mark.scenario("G-09")
@pytest.mark.parametrize(
    ("age", "duration", "label", "stays"),
    [
        pytest.param(3601.0, 3600, "kube-apiserver", False, id="G-08 a second too old"),
        pytest.param(3000.0, 3600, "kube-apiserver", True, id="fresh"),
        pytest.param(None, 3600, "kube-apiserver", False, id="G-09 never renewed"),
        pytest.param(0.0, None, "kube-apiserver", False, id="G-09 no duration"),
        pytest.param(7200.0, 3600, "other", True, id="not an API server's"),
    ],
)
def test_what_has_expired_is_deleted(
    sim: Simulation, age: float | None, duration: int | None, label: str, stays: bool
) -> None:
    """A lease older than its duration, or without a time or a duration, is deleted; others stay."""
    cluster = Cluster(sim)
    cluster.create("lease", age, duration, label)

    cluster.start()

    assert cluster.left() == (["lease"] if stays else [])
    cluster.end()


def test_a_lease_renewed_at_the_end_of_time_is_kept_and_no_error(sim: Simulation) -> None:
    cluster = Cluster(sim)
    cluster.create("lease", 0.0)
    cluster.world.patch(LEASES, LEASE, {"spec": {"renewTime": "9999-12-31T23:59:59.999999Z"}})

    cluster.start()

    assert cluster.left() == ["lease"]
    assert cluster.controller.errors == 0
    cluster.end()


@pytest.mark.scenario("G-08")
def test_a_lease_is_kept_for_exactly_its_duration(sim: Simulation) -> None:
    """At 3600 s a lease is there, and just after it is not."""
    cluster = Cluster(sim)
    cluster.create("lease", 0.0)
    cluster.start()

    sim.advance(3599.0)
    assert cluster.left() == ["lease"], "3600 s exactly"
    assert cluster.asked == []

    sim.advance(0.002)
    assert cluster.left() == []
    cluster.end()


def test_a_lease_that_is_renewed_is_left_alone_and_costs_no_request(sim: Simulation) -> None:
    cluster = Cluster(sim)
    cluster.create("lease", 0.0)
    cluster.start()

    for _ in range(5):
        sim.advance(3000.0)
        cluster.renew()

    assert cluster.left() == ["lease"]
    assert cluster.asked == []
    cluster.end()


@pytest.mark.scenario("G-11")
@pytest.mark.parametrize("age", [pytest.param(0.0, id="just now"), pytest.param(3600.0, id="for this very instant")])
def test_a_renewal_that_the_cache_has_not_seen_saves_the_lease(sim: Simulation, age: float) -> None:
    """A lease that has expired in the cache but was renewed at the server is not deleted."""
    cluster = Cluster(sim)
    cluster.create("lease", 3601.0)
    cluster.before["GET"] = lambda: cluster.renew(age)

    cluster.start(0.0)

    assert cluster.asked[0] == "GET lease"
    assert cluster.left() == ["lease"]
    cluster.end()


def test_a_renewal_between_the_look_and_the_deletion_saves_the_lease(sim: Simulation) -> None:
    cluster = Cluster(sim)
    cluster.create("lease", 3601.0)
    cluster.before["DELETE"] = cluster.renew

    cluster.start()

    assert cluster.left() == ["lease"]
    assert cluster.controller.errors == 0
    cluster.end()


@pytest.mark.scenario("G-12")
def test_a_lease_that_cannot_be_read_keeps_no_other_from_being_deleted(sim: Simulation) -> None:
    """One read fails with 500; the other expired leases are deleted, and that one once it can be read."""
    cluster = Cluster(sim)
    for name in ("a", "b", "c"):
        cluster.create(name, 3601.0)
    cluster.faults["GET b"] = ERROR

    cluster.start()
    assert cluster.left() == ["b"]

    cluster.faults.clear()
    sim.advance(60.0)
    assert cluster.left() == []
    cluster.end()


@pytest.mark.scenario("G-13")
def test_a_lease_that_somebody_else_deletes_is_no_error(sim: Simulation) -> None:
    """The deletion that finds nothing is not reported."""
    cluster = Cluster(sim)
    cluster.create("lease", 3601.0)
    cluster.before["DELETE"] = lambda: cluster.world.delete(LEASES, LEASE)

    cluster.start()

    assert cluster.asked == ["GET lease", "DELETE lease"]
    assert cluster.controller.errors == 0
    cluster.end()
