# SPDX-License-Identifier: Apache-2.0
"""The lease of a node: owned by its Node, never created before it, and renewed by the rule of Kubernetes 1.29."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.faults import FaultyTransport, Refused
from controller_runtime.testing.objects import a_lease, a_node
from controller_runtime.testing.recording import RecordingTransport
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.node_lease import NAMESPACE, node_lease
from embedded_apiserver.server import APIServer

LEASE = ObjectKey("n1", NAMESPACE)


class NodeAgent:
    """The heartbeat of node n1, and a client for what others do."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        host = sim.host("node")
        server = APIServer(host)
        self.world = Client(host, InProcessTransport(host, server))
        self.node_is_readable = True
        faulty = FaultyTransport(
            host,
            InProcessTransport(host, server),
            lambda _, request: None if self.node_is_readable or "/nodes/" not in request.path else Refused(),
        )
        self.transport = RecordingTransport(faulty)
        self.stop = Stop(host)
        self.host = host
        self.heartbeat = node_lease(host, Client(host, self.transport), "n1")

    def start(self) -> None:
        self.thread = spawn(self.host, self.stop, "agent", lambda: self.heartbeat.run(self.stop))
        self.sim.settle()

    def leases(self) -> list[dict[str, Any]]:
        return self.world.list(LEASES, NAMESPACE, view=dict)

    def asked(self) -> list[str]:
        asked = [f"{request.method} {request.path.split('/')[-2]}" for request in self.transport.requests]
        self.transport.requests.clear()
        return asked

    def end(self) -> None:
        self.stop.set()
        self.thread.join_until(None)


@pytest.mark.scenario("HB-01")
@pytest.mark.scenario("B-26")
def test_the_lease_is_made_in_the_first_pass_after_its_node_and_owned_by_it(sim: Simulation) -> None:
    """Without a Node no lease is created; once it exists, the next pass creates the lease, owned by the Node."""
    agent = NodeAgent(sim)
    agent.start()
    sim.advance(15.0)
    assert agent.leases() == []

    node = agent.world.create(NODES, a_node("n1"))
    sim.advance(10.4)

    (lease,) = agent.leases()
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": node.uid}
    assert lease["metadata"]["ownerReferences"] == [owner]
    assert lease["spec"]["holderIdentity"] == lease["metadata"]["name"] == "n1"
    assert lease["spec"]["leaseDurationSeconds"] == 40
    agent.end()


@pytest.mark.scenario("HB-02")
@pytest.mark.scenario("B-27")
def test_an_owner_that_is_there_is_left_alone_and_the_node_not_read(sim: Simulation) -> None:
    """A lease that has an owner, whichever, is renewed without reading the Node, and keeps its owner."""
    agent = NodeAgent(sim)
    foreign = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    lease = a_lease("n1", NAMESPACE, holder="n1")
    lease["metadata"]["ownerReferences"] = [foreign]
    agent.world.create(LEASES, lease)

    agent.start()

    assert agent.asked() == ["GET leases", "PUT leases"]
    assert agent.leases()[0]["metadata"]["ownerReferences"] == [foreign]
    agent.end()


@pytest.mark.scenario("B-28")
def test_without_owner_and_node_nothing_is_renewed_until_the_node_can_be_read(sim: Simulation) -> None:
    """A lease that lost its owner is not renewed while the Node cannot be read; then it is, with its owner."""
    agent = NodeAgent(sim)
    agent.world.create(NODES, a_node("n1"))
    agent.start()
    agent.world.patch(LEASES, LEASE, {"metadata": {"ownerReferences": None}})
    agent.node_is_readable = False
    stale = agent.leases()[0]["spec"]["renewTime"]

    sim.advance(30.0)
    (lease,) = agent.leases()
    assert lease["spec"]["renewTime"] == stale

    agent.node_is_readable = True
    sim.advance(10.4)
    (lease,) = agent.leases()
    assert lease["spec"]["renewTime"] > stale
    assert lease["metadata"]["ownerReferences"][0]["name"] == "n1"
    agent.end()


def test_in_the_steady_state_a_node_costs_one_request_each_10_seconds(sim: Simulation) -> None:
    agent = NodeAgent(sim)
    agent.world.create(NODES, a_node("n1"))
    agent.start()
    assert agent.asked() == ["GET leases", "GET nodes", "POST kube-node-lease"]

    sim.advance(60.0)

    assert agent.asked() == ["PUT leases"] * 5
    agent.end()
