# SPDX-License-Identifier: Apache-2.0
"""Controllers that warm up fill their queues before their replica leads, and do nothing else before it."""

from __future__ import annotations

import attrs
import pytest

from apimachinery.errors import CacheSyncTimeout, UsageError
from apimachinery.http import HTTPRequest
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.inspection import describe
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.faults import Fault, FaultyTransport, Refused
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer


@attrs.frozen
class Noting(Reconciler):
    """Notes each request."""

    log: list[str]

    def reconcile(self, request: Request) -> Result:
        self.log.append(request.name)
        return Result()


@attrs.define
class Replica:
    """A manager that competes for the lease."""

    host: SimulatedHost
    manager: Manager
    log: list[str] = attrs.field(factory=list)
    stop: Stop = attrs.field(init=False)
    outcome: Stop = attrs.field(init=False)

    @classmethod
    def on(cls, server: APIServer, host: SimulatedHost, *, without_nodes: bool = False) -> Replica:
        def fault(number: int, request: HTTPRequest) -> Fault | None:
            return Refused() if without_nodes and request.path.endswith("/nodes") else None

        transport = FaultyTransport(host, InProcessTransport(host, server), fault)
        config = LeaderElectionConfig(name="program", namespace="kube-system", identity=host.name)
        return cls(host, Manager(host, transport, leader_election=config, cache_sync_timeout=10.0))

    def __attrs_post_init__(self) -> None:
        self.stop, self.outcome = Stop(self.host), Stop(self.host, "outcome")

    def controller(self, name: str, *, warm_up: bool = True) -> Controller:
        return Controller(name, Noting(self.log), warm_up=warm_up)

    def start(self) -> None:
        spawn(self.host, self.outcome, "manager", lambda: self.manager.run(self.stop))


@pytest.fixture
def server(sim: Simulation) -> APIServer:
    host = sim.host("server")
    server = APIServer(host)
    for number in range(20):
        Client(host, InProcessTransport(host, server)).create(NODES, {"metadata": {"name": f"n{number}"}})
    return server


@pytest.mark.parametrize("warm_up", [True, False], ids=["warm", "cold"])
def test_a_replica_that_does_not_lead_has_a_full_queue_only_if_it_warms_up(
    sim: Simulation, server: APIServer, warm_up: bool
) -> None:
    leader, other = (Replica.on(server, sim.host(name)) for name in ("r0", "r1"))
    leader.start()
    sim.advance(5.0)
    ticks: list[Request] = []
    controller = other.controller("c", warm_up=warm_up).watch(NODES)
    other.manager.add(controller.every(10.0, lambda: [*ticks, Request("tick")], jitter=0.0))
    other.start()
    sim.advance(60.0)

    assert (controller.queued, controller.reconciles) == (21 if warm_up else 0, 0)
    assert other.log == []
    assert [each["started"] for each in describe(other.manager)["controllers"]] == [False]

    leader.stop.set()
    sim.advance(3.0)
    assert sorted(set(other.log)) == sorted(["tick", *(f"n{number}" for number in range(20))])
    assert len(other.log) == 21  # the sources were attached once

    other.stop.set()
    sim.advance(3.0)
    assert sim.threads() == []


def test_sources_that_are_added_to_a_warm_controller_are_attached_at_once(sim: Simulation, server: APIServer) -> None:
    leader, other = (Replica.on(server, sim.host(name)) for name in ("r0", "r1"))
    leader.start()
    sim.advance(5.0)
    controller = other.controller("c").every(3600.0, lambda: [Request("tick")])
    other.manager.add(controller)
    other.start()
    sim.advance(5.0)
    controller.watch(NODES)
    late = other.controller("late").watch(NODES)
    other.manager.add(late)
    sim.advance(5.0)

    assert (controller.queued, late.queued, other.log) == (21, 20, [])
    other.stop.set()
    leader.stop.set()
    sim.advance(3.0)
    assert sim.threads() == []


def test_a_warm_controller_cannot_be_shared_since_its_workers_have_their_reconciler(
    sim: Simulation, server: APIServer
) -> None:
    leader, other = (Replica.on(server, sim.host(name)) for name in ("r0", "r1"))
    leader.start()
    sim.advance(5.0)
    controller = other.controller("c").watch(NODES).shareable(other.manager.lister(NODES, dict))
    other.manager.add(controller)
    ring = other.manager.ring("ring")
    other.start()
    sim.advance(5.0)

    with pytest.raises(UsageError, match="controller c cannot be shared"):
        ring.share(controller)
    assert controller.needs_leader
    leader.stop.set()
    other.stop.set()
    sim.advance(30.0)


def test_a_warm_up_that_cannot_end_fails_the_run(sim: Simulation, server: APIServer) -> None:
    replica = Replica.on(server, sim.host("r0"), without_nodes=True)
    replica.manager.add(replica.controller("c").watch(NODES))
    replica.start()
    sim.advance(30.0)

    assert isinstance(replica.outcome.failure, CacheSyncTimeout)
    assert sim.threads() == []


def test_without_an_election_warming_up_changes_nothing(sim: Simulation, server: APIServer) -> None:
    host = sim.host("r0")
    replica = Replica(host, Manager(host, InProcessTransport(host, server)))
    replica.manager.add(replica.controller("c").watch(NODES))
    replica.start()
    sim.advance(1.0)

    assert len(replica.log) == 20
    replica.stop.set()
    sim.advance(3.0)
    assert (replica.outcome.failure, sim.threads()) == (None, [])
