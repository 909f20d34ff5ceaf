# SPDX-License-Identifier: Apache-2.0
"""The node TTL controller on an embedded cluster: the annotations of the nodes, and the requests sent for them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey, annotations_of
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.recording import RecordingTransport
from controller_runtime.testing.simulation import Simulation
from controllers.node_ttl import ANNOTATION, node_ttl
from embedded_apiserver.server import APIServer


class Failing(InProcessTransport):
    """Answers as many patches with 500 as `failures` says, and notes when each patch was sent."""

    def __init__(self, host: Host, server: APIServer) -> None:
        super().__init__(host, server)
        self.clock = host
        self.failures = 0
        self.patched_at: list[float] = []

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if request.method == "PATCH":
            self.patched_at.append(self.clock.monotonic())
            self.failures -= 1
            if self.failures >= 0:
                return HTTPResponse(500, {"content-type": "text/plain"}, b"broken")
        return super().request(request, deadline)

    def gaps(self) -> list[float]:
        return [b - a for a, b in pairwise(self.patched_at)]


class Cluster:
    """An embedded cluster with the TTL controller, and a second client for what others do."""

    def __init__(self, sim: Simulation, *, nodes: int = 0, annotation: str | None = None, lazy: bool = False) -> None:
        self.sim = sim
        host = sim.host("controller")
        server = APIServer(host)
        self.world = EmbeddedCluster(sim.host("world"), server=server)
        for index in range(nodes):
            self.create(f"n-{index:03d}", annotation)
        self.transport = RecordingTransport(InProcessTransport(host, server))
        self.cluster = EmbeddedCluster(host, server=server, transport=self.transport)
        self.controller = node_ttl(self.cluster.manager, lazy=lazy)
        self.cluster.manager.add(self.controller)

    def start(self) -> None:
        self.cluster.start()
        self.sim.advance(1.0)

    def create(self, name: str, annotation: str | None = None) -> None:
        annotations = {} if annotation is None else {ANNOTATION: annotation}
        self.world.client.create(NODES, {"metadata": {"name": name, "annotations": annotations}})

    def ttls(self) -> list[str | None]:
        nodes: list[dict[str, Any]] = self.world.client.list(NODES, view=dict)
        return [annotations_of(node).get(ANNOTATION) for node in nodes]


@pytest.mark.scenario("TT-02")
@pytest.mark.scenario("C-08")
def test_a_node_without_annotation_gets_the_advice(sim: Simulation) -> None:
    """A node without the annotation is patched to 0 in a small cluster."""
    cluster = Cluster(sim, nodes=1)

    cluster.start()

    assert cluster.ttls() == ["0"]
    cluster.cluster.stop()


@pytest.mark.scenario("TT-02")
@pytest.mark.scenario("C-09")
@pytest.mark.scenario("C-11")
@pytest.mark.parametrize("annotation", ["0", "+0", "000"])
def test_a_node_with_the_right_advice_costs_no_request(sim: Simulation, annotation: str) -> None:
    """An annotation that equals the advice as a number is left alone, and nothing is sent."""
    cluster = Cluster(sim, nodes=3, annotation=annotation)

    cluster.start()

    assert cluster.transport.writes() == []
    assert cluster.controller.reconciles >= 3
    cluster.cluster.stop()


@pytest.mark.scenario("C-12")
def test_an_unreadable_annotation_is_repaired(sim: Simulation) -> None:
    """An annotation beyond 64 bits counts as missing, and is replaced."""
    cluster = Cluster(sim, nodes=1, annotation="99999999999999999999")

    cluster.start()

    assert cluster.ttls() == ["0"]
    cluster.cluster.stop()


@pytest.mark.scenario("TT-01")
@pytest.mark.scenario("C-13")
def test_the_patch_is_strategic_and_has_one_annotation_and_nothing_else(sim: Simulation) -> None:
    """The only write is a strategic merge patch of the one annotation."""
    cluster = Cluster(sim, nodes=1)

    cluster.start()

    (patch,) = cluster.transport.writes()
    assert patch.headers["content-type"] == "application/strategic-merge-patch+json"
    assert json.loads(patch.body) == {"metadata": {"annotations": {ANNOTATION: "0"}}}
    cluster.cluster.stop()


@pytest.mark.scenario("C-07")
def test_a_restart_inside_an_overlap_chooses_the_lower_step(sim: Simulation) -> None:
    """95 nodes annotated 15 are patched to 0 by a controller that counts them from zero."""
    cluster = Cluster(sim, nodes=95, annotation="15")

    cluster.start()

    assert cluster.ttls() == ["0"] * 95
    cluster.cluster.stop()


def test_the_initial_list_is_counted_before_the_first_patch(sim: Simulation) -> None:
    cluster = Cluster(sim, nodes=101)

    cluster.start()

    assert cluster.ttls() == ["15"] * 101
    assert len(cluster.transport.writes()) == 101, "each node once, none for a smaller cluster"
    cluster.cluster.stop()


def test_crossing_a_boundary_reaches_every_node_at_once(sim: Simulation) -> None:
    cluster = Cluster(sim, nodes=100)
    cluster.start()
    assert cluster.ttls() == ["0"] * 100

    cluster.create("one-more")
    sim.advance(1.0)

    assert cluster.ttls() == ["15"] * 101
    cluster.cluster.stop()


@pytest.mark.scenario("C-19")
def test_in_upstreams_mode_other_nodes_wait_for_their_next_change(sim: Simulation) -> None:
    """After a change of step in upstream's mode only the node that changed gets the new advice."""
    cluster = Cluster(sim, nodes=100, lazy=True)
    cluster.start()

    cluster.create("one-more")
    sim.advance(60.0)
    assert sorted(filter(None, cluster.ttls())) == ["0"] * 100 + ["15"]
    cluster.world.client.patch(NODES, ObjectKey("n-000"), {"metadata": {"labels": {"touched": "yes"}}})
    sim.advance(1.0)

    assert sorted(filter(None, cluster.ttls())) == ["0"] * 99 + ["15"] * 2
    cluster.cluster.stop()


@pytest.mark.scenario("C-14")
def test_a_failing_patch_is_retried_after_5_10_and_20_ms(sim: Simulation) -> None:
    """Three 500 answers are followed by tries 5, 10 and 20 ms later; after a success the delays start at 5 ms again."""
    host = sim.host("controller")
    server = APIServer(host)
    transport = Failing(host, server)
    world = EmbeddedCluster(sim.host("world"), server=server).client
    with EmbeddedCluster(host, transport=transport) as cluster:
        cluster.manager.add(node_ttl(cluster.manager))
        world.create(NODES, {"metadata": {"name": "n"}})
        transport.failures = 3

        cluster.start()
        sim.advance(1.0)
        assert transport.gaps() == pytest.approx([0.005, 0.010, 0.020], abs=0.001)

        transport.failures, transport.patched_at = 1, []
        world.patch(NODES, ObjectKey("n"), {"metadata": {"annotations": {ANNOTATION: "wrong"}}})
        sim.advance(1.0)
        assert transport.gaps() == pytest.approx([0.005], abs=0.001)


class Slow(InProcessTransport):
    """Delays patches of the node `slow` by ten seconds, and notes which patches begin and end."""

    def __init__(self, host: Host, server: APIServer) -> None:
        super().__init__(host, server)
        self.wait = Stop(host).wait
        self.log: list[str] = []

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        name = request.path.split("/")[-1]
        if request.method != "PATCH":
            return super().request(request, deadline)
        self.log.append(f"{name} begins")
        if name == "slow":
            self.wait(10.0)
        answer = super().request(request, deadline)
        self.log.append(f"{name} ends")
        return answer


@pytest.mark.scenario("C-20")
def test_a_slow_patch_holds_up_its_own_node_alone(sim: Simulation) -> None:
    """While one patch takes ten seconds others are sent, and a change of its own node waits until it has ended."""
    host = sim.host("controller")
    server = APIServer(host)
    transport = Slow(host, server)
    world = EmbeddedCluster(sim.host("world"), server=server).client
    with EmbeddedCluster(host, transport=transport) as cluster:
        cluster.manager.add(node_ttl(cluster.manager))
        cluster.start()
        world.create(NODES, {"metadata": {"name": "slow"}})
        sim.advance(1.0)

        world.patch(NODES, ObjectKey("slow"), {"metadata": {"annotations": {ANNOTATION: "wrong"}}})
        world.create(NODES, {"metadata": {"name": "other"}})
        sim.advance(60.0)

        begun, *between, ended = transport.log[: transport.log.index("slow ends") + 1]
        assert (begun, between, ended) == ("slow begins", ["other begins", "other ends"], "slow ends")


@pytest.mark.scenario("C-15")
@pytest.mark.scenario("C-16")
def test_a_node_that_vanishes_before_its_patch_ends_without_error(sim: Simulation) -> None:
    """A patch that finds the node gone is retried until the cache knows, then nothing is left to do."""
    cluster = Cluster(sim)
    cluster.start()

    cluster.create("brief")
    cluster.world.client.delete(NODES, ObjectKey("brief"))
    sim.advance(5.0)

    assert cluster.ttls() == []
    assert cluster.controller.queued == 0
    reconciles = cluster.controller.reconciles
    sim.advance(3600.0)
    assert cluster.controller.reconciles == reconciles, "nothing is retried any more"
    cluster.cluster.stop()
