# SPDX-License-Identifier: Apache-2.0
"""Managers share a lease: some parts run without it, it is given back at the end, and its loss ends the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from apimachinery.errors import ControllerRuntimeError, LeadershipLost
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.scope import CacheScope
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.faults import Fault, FaultyTransport, Refused
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

LEASE = ObjectKey("program", "kube-system")


@attrs.frozen
class Calling(Reconciler):
    """Calls a function."""

    function: Callable[[Request], object]

    def reconcile(self, request: Request) -> Result:
        self.function(request)
        return Result()


@attrs.frozen
class Running:
    """A runnable that calls a function."""

    name: str
    run: Callable[[Stop], object]


@attrs.define
class Replica:
    """A manager on a host of its own, which can be cut off from the server."""

    sim: Simulation
    server: APIServer
    host: SimulatedHost
    cut: bool = False
    log: list[str] = attrs.field(factory=list)
    config: dict[str, Any] = attrs.field(factory=dict)
    manager: Manager = attrs.field(init=False)
    stop: Stop = attrs.field(init=False)
    outcome: Stop = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        transport = FaultyTransport(self.host, InProcessTransport(self.host, self.server), self.fault)
        config = LeaderElectionConfig(
            name=LEASE.name, namespace=LEASE.namespace, identity=self.host.name, **self.config
        )
        self.manager = Manager(self.host, transport, leader_election=config)
        self.stop, self.outcome = Stop(self.host), Stop(self.host, "outcome")
        self.manager.add(Running("runnable", lambda stop: self.note("runnable starts")))
        self.manager.add(Controller("controller", Calling(self.note)).watch(NODES))

    def fault(self, number: int, request: HTTPRequest) -> Fault | None:
        return Refused() if self.cut else None

    def note(self, what: object) -> None:
        self.log.append(str(what))

    def works_for(self, seconds: float) -> Replica:
        """Add a controller whose reconciles take long, and end early if they are cancelled."""
        asleep = Stop(self.host, "asleep")

        def work(key: ObjectKey) -> None:
            deadline = self.host.monotonic() + seconds
            while self.host.monotonic() < deadline:
                self.manager.stopping.raise_if_cancelled()
                asleep.wait(0.25)
            self.note("done")

        self.manager.add(Controller("slow", Calling(work)).watch(NODES))
        return self

    def start(self) -> Replica:
        spawn(self.host, self.outcome, "manager", lambda: self.manager.run(self.stop))
        self.sim.advance(0.1)
        return self

    @property
    def leads(self) -> bool:
        assert self.manager.elector is not None
        return self.manager.elector.is_leader()


@attrs.frozen
class House:
    """A server with one node, and replicas on it."""

    sim: Simulation
    server: APIServer
    client: Client

    def replica(self, name: str, **config: Any) -> Replica:
        return Replica(self.sim, self.server, self.sim.host(name), config=config)

    @property
    def holder(self) -> str:
        return str(self.client.get(LEASES, LEASE, dict)["spec"]["holderIdentity"])


@pytest.fixture
def house(sim: Simulation) -> House:
    host = sim.host("server")
    server = APIServer(host)
    client = Client(host, InProcessTransport(host, server))
    client.create(NODES, {"metadata": {"name": "node"}})
    return House(sim, server, client)


@pytest.mark.scenario("MG-07", "MG-11")
def test_controllers_wait_for_the_lease_and_the_rest_does_not(house: House) -> None:
    """One of two managers runs its controllers; both run their runnables and fill their caches."""
    a = house.replica("a").start()
    b = house.replica("b").start()
    house.sim.advance(60.0)

    assert a.log == ["runnable starts", "node"]
    assert b.log == ["runnable starts"]
    assert len(b.manager.lister(NODES, dict)) == 1

    a.stop.set()
    house.sim.advance(4.5)
    assert b.log == ["runnable starts", "node"]


def test_a_controller_that_is_added_later_starts_if_the_replica_leads(house: House) -> None:
    a = house.replica("a").start()
    b = house.replica("b").start()

    for each in (a, b):
        each.manager.add(Controller("late", Calling(lambda request, each=each: each.note("late"))).watch(NODES))  # type: ignore[misc]
    house.sim.advance(1.0)

    assert "late" in a.log
    assert "late" not in b.log


@pytest.mark.scenario("MG-08")
@pytest.mark.elsewhere("kubernetes/client-go#728")
def test_the_lease_is_given_back_when_the_work_has_ended(house: House) -> None:
    """The running reconcile continues under the lease, which is renewed until it has ended."""
    a = house.replica("a").works_for(15.0).start()
    b = house.replica("b").start()

    a.stop.set()
    house.sim.advance(14.0)
    assert house.holder == "a"
    assert a.leads
    house.sim.advance(1.5)

    assert a.log[-1] == "done"
    assert house.holder in ("", "b")
    house.sim.advance(2.0)
    assert b.leads
    assert a.outcome.failure is None


@pytest.mark.scenario("MG-07")
def test_without_release_the_lease_is_kept(house: House) -> None:
    """The lease names the stopped replica until it expires."""
    a = house.replica("a", release_on_stop=False).start()

    a.stop.set()
    house.sim.advance(1.0)

    assert house.holder == "a"
    assert house.sim.threads(a.host) == []


@pytest.mark.scenario("MG-09")
def test_losing_the_lease_cancels_the_work_and_ends_the_run(house: House) -> None:
    """`run` raises LeadershipLost as soon as the cancelled work has ended; there is no grace period."""
    a = house.replica("a").works_for(3600.0).start()
    house.sim.advance(0.4)

    a.cut = True
    house.sim.advance(9.0)
    assert a.leads
    house.sim.advance(1.0)

    assert isinstance(a.outcome.failure, LeadershipLost)
    assert house.sim.threads(a.host) == []
    assert "done" not in a.log


@pytest.mark.scenario("MG-09")
def test_work_that_ignores_the_loss_is_named_soon(house: House) -> None:
    """Work that does not end when it is cancelled is waited for shortly, not for the grace of a regular stop."""
    a = house.replica("a")
    forever = Stop(a.host, "forever")
    a.manager.add(Controller("deaf", Calling(lambda request: forever.wait_until(None))).watch(NODES))
    a.start()

    a.cut = True
    house.sim.advance(10.0 + 11.0)

    assert isinstance(a.outcome.failure, LeadershipLost)
    assert "deaf/worker-0" in a.outcome.failure.__notes__[0]
    forever.set()


def test_a_body_is_not_asked_for_after_the_lease_is_lost(house: House) -> None:
    a = house.replica("a")
    a.manager.scope_caches(kinds={NODES: CacheScope(bodies=Bodies())})
    nodes, stuck, outcome = a.manager.lister(NODES), Stop(a.host, "stuck"), list[str]()

    def read_late(key: ObjectKey) -> None:
        stuck.wait_until(a.host.monotonic() + 12.0)
        with pytest.raises(LeadershipLost) as refused:
            nodes.get(key)
        outcome.append(str(refused.value))

    a.manager.add(Controller("late", Calling(read_late)).watch(NODES))
    a.start()
    house.sim.pause(a.host, 11.0)
    house.sim.advance(30.0)

    assert outcome[0].startswith("GET /api/v1/nodes/node was not sent")


@pytest.mark.scenario("LE-22")
@pytest.mark.elsewhere("kubernetes-client/python#434")
def test_a_client_that_lost_the_lease_sends_nothing(house: House) -> None:
    """The write of a reconcile that does not notice the loss is refused, however soon it comes."""
    a = house.replica("a")
    stuck, outcome = Stop(a.host, "stuck"), []

    def write_late(key: ObjectKey) -> None:
        stuck.wait_until(a.host.monotonic() + 12.0)
        try:
            a.manager.client.patch(NODES, key, {"metadata": {"labels": {"by": "a"}}})
        except ControllerRuntimeError as error:
            outcome.append(error)

    a.manager.add(Controller("late", Calling(write_late)).watch(NODES))
    a.start()
    house.sim.pause(a.host, 11.0)
    house.sim.advance(30.0)

    assert isinstance(outcome[0], LeadershipLost)
    assert "PATCH /api/v1/nodes/node was not sent" in str(outcome[0])
    assert "labels" not in house.client.get(NODES, ObjectKey("node"), dict)["metadata"]


def test_before_it_leads_and_after_it_gave_the_lease_back_the_client_works(house: House) -> None:
    a = house.replica("a")
    a.manager.client.get(NODES, ObjectKey("node"), dict)
    a.start()
    a.stop.set()
    house.sim.advance(1.0)

    assert a.outcome.failure is None
    assert a.manager.client.get(NODES, ObjectKey("node"), dict)


@pytest.mark.elsewhere("kubernetes/client-go#728")
def test_work_that_does_not_end_keeps_the_lease_until_it_expires(house: House) -> None:
    a = house.replica("a")
    forever = Stop(a.host, "forever")
    a.manager.add(Controller("stuck", Calling(lambda request: forever.wait_until(None))).watch(NODES))
    a.start()

    a.stop.set()
    house.sim.advance(26.0)

    assert house.holder == "a"
    assert "still running after a grace of 20 s, though cancelled: stuck/worker-0" in str(a.outcome.failure)
    forever.set()


def test_a_candidate_stops_at_once(house: House) -> None:
    house.replica("a").start()
    b = house.replica("b").start()

    b.stop.set()
    house.sim.settle()

    assert house.sim.threads(b.host) == []
    assert b.outcome.failure is None


@pytest.mark.parametrize("seed", range(20))
def test_a_stop_at_any_moment_of_the_election_leaves_nothing_behind(seed: int) -> None:
    with Simulation(seed) as sim:
        server_host = sim.host("server")
        server = APIServer(server_host)
        a = Replica(sim, server, sim.host("a"))
        spawn(a.host, a.outcome, "manager", lambda: a.manager.run(a.stop))
        spawn(a.host, a.outcome, "stopper", a.stop.set)
        sim.advance(30.0)

        assert sim.threads() == []
        assert a.outcome.failure is None
