# SPDX-License-Identifier: Apache-2.0
"""Managers that stand for election, and the controller that elects among them: candidates, electors, hand-over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from kit.electing import OLDEST, World

from controller_runtime.api.http import HTTPRequest
from controller_runtime.api.objects import ObjectKey, microtime
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES, NODES
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Transport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.errors import LeadershipLost
from controller_runtime.core.stop import Stop, spawn
from controller_runtime.election.config import Candidacy, LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.faults import Fault, FaultyTransport, Refused
from controller_runtime.testing.simulation import Simulation

LEASE = ObjectKey("lease", "default")


@attrs.frozen
class Calling(Reconciler):
    """Does what a function does."""

    function: Callable[[Request], object]

    def reconcile(self, request: Request) -> Result:
        self.function(request)
        return Result()


class Replica:
    """A manager that stands for election under its host's name, and works when it leads."""

    def __init__(self, world: World, name: str, version: str = "1.36.0", **config: Any) -> None:
        self.world = world
        self.host = world.sim.host(name)
        self.asked: list[str] = []
        self.refuses: Callable[[HTTPRequest], bool] = lambda request: False
        self.work_takes = 0.0
        self.did: list[str] = []
        candidacy = Candidacy(binary_version=version)
        election = LeaderElectionConfig(
            name=LEASE.name, namespace=LEASE.namespace, identity=name, coordinated=candidacy, **config
        )
        self.manager = Manager(self.host, self._transport(), leader_election=election)
        self.manager.add(Controller("work", Calling(self._work)).watch(NODES))
        self.stop, self.outcome = Stop(self.host), Stop(self.host, "outcome")

    def _transport(self) -> Transport:
        return FaultyTransport(self.host, InProcessTransport(self.host, self.world.server), self._fault)

    def _fault(self, number: int, request: HTTPRequest) -> Fault | None:
        if "/lease" in request.path and "watch" not in str(request.query):
            self.asked.append(f"{request.method} {request.path.rpartition('/')[2]}")
        return Refused() if self.refuses(request) else None

    def _work(self, key: ObjectKey) -> None:
        asleep, until = Stop(self.host, "asleep"), self.host.monotonic() + self.work_takes
        while self.host.monotonic() < until:
            self.manager.stopping.raise_if_cancelled()
            asleep.wait(0.25)
        self.did.append(key.name)

    def start(self) -> Replica:
        spawn(self.host, self.outcome, "manager", lambda: self.manager.run(self.stop))
        self.world.sim.settle()
        return self

    @property
    def leads(self) -> bool:
        assert self.manager.elector is not None
        return self.manager.elector.is_leader()

    @property
    def candidate(self) -> dict[str, Any] | None:
        found: list[dict[str, Any]] = self.world.client.list(LEASE_CANDIDATES, "default", view=dict)
        return next((one["spec"] for one in found if one["metadata"]["name"] == self.host.name), None)


@pytest.fixture
def world(sim: Simulation) -> Iterator[World]:
    world = World(sim)
    world.client.create(NODES, {"metadata": {"name": "node"}})
    yield world
    world.end()


def without_election(sim: Simulation) -> World:
    world = World(sim, start=False)
    world.client.create(NODES, {"metadata": {"name": "node"}})
    return world


@pytest.mark.scenario("LC-01", "E-28", "E-20", "E-23", "LE-09")
def test_a_candidate_is_elected_and_leads(world: World) -> None:
    """It says what it is; elected for five seconds it renews with its own fifteen, and keeps the strategy."""
    a = Replica(world, "a").start()
    candidate = a.candidate
    assert candidate is not None
    assert candidate.pop("renewTime")
    assert candidate == {
        "leaseName": "lease",
        "binaryVersion": "1.36.0",
        "emulationVersion": "1.36.0",
        "strategy": OLDEST,
    }

    world.sim.advance(4.5)
    first = world.spec()
    world.sim.advance(60.0)

    assert a.leads
    assert a.did == ["node"]
    assert first is not None
    assert (first["holderIdentity"], first["leaseDurationSeconds"], first["strategy"]) == ("a", 15, OLDEST)
    last = world.spec()
    assert last is not None
    assert (last["leaseTransitions"], last.get("acquireTime")) == (first["leaseTransitions"], None)
    assert last["renewTime"] > first["renewTime"]
    a.stop.set()


@pytest.mark.scenario("E-19", "LE-09")
def test_nobody_makes_a_lease_by_itself(sim: Simulation) -> None:
    """Without anybody who elects there is no lease, and nobody leads."""
    world = without_election(sim)
    a = Replica(world, "a").start()

    sim.advance(60.0)

    assert world.spec() is None
    assert not a.leads
    a.stop.set()


def test_the_election_may_come_after_the_candidates(sim: Simulation) -> None:
    world = without_election(sim)
    a = Replica(world, "a").start()
    sim.advance(600.0)

    world.start()
    sim.advance(5.0)

    assert a.leads
    a.stop.set()
    world.end()


@pytest.mark.scenario("E-21", "D-10", "D-11")
def test_a_leader_gives_way_to_a_better_one_and_loses_nothing(world: World) -> None:
    """The work in hand ends, nothing new begins, the lease is blanked, and the other leads moments later."""
    a = Replica(world, "a").start()
    world.sim.advance(5.0)
    a.work_takes = 3.0
    world.client.create(NODES, {"metadata": {"name": "long"}})
    world.sim.settle()
    renewed = (world.spec() or {})["renewTime"]

    b = Replica(world, "b", "1.35.0").start()
    world.sim.advance(2.1)
    assert a.leads
    assert a.manager.stopping.is_set()
    assert (world.spec() or {})["renewTime"] >= renewed

    world.sim.advance(1.0 + 2.0)
    assert "long" in a.did
    assert isinstance(a.outcome.failure, LeadershipLost)
    assert "is given up: b is preferred" in str(a.outcome.failure)
    assert b.leads
    assert a.candidate is None
    b.stop.set()


@pytest.mark.scenario("E-21")
def test_work_that_does_not_end_in_time_is_cancelled_and_the_lease_expires(world: World) -> None:
    """No renewal is sent once another is preferred, so leadership ends by its deadline, and the rest is waiting."""
    a = Replica(world, "a").start()
    world.sim.advance(5.0)
    a.work_takes = 3600.0
    world.client.create(NODES, {"metadata": {"name": "endless"}})
    world.sim.settle()

    b = Replica(world, "b", "1.35.0").start()
    world.sim.advance(12.1)
    assert not a.leads
    assert not b.leads
    assert "endless" not in a.did
    assert world.sim.threads(a.host) == []

    world.sim.advance(30.0)
    assert b.leads
    b.stop.set()


@pytest.mark.scenario("LE-09", "E-22")
def test_who_was_elected_and_could_not_begin_gives_the_lease_back_and_is_elected_again(world: World) -> None:
    """Its try fails, though it is the holder; nobody else would renew on its behalf."""
    a = Replica(world, "a")
    a.refuses = lambda request: request.method == "PUT" and "/leases/" in request.path
    a.start()
    world.sim.advance(60.0)
    assert world.holder() == "a"
    assert not a.leads

    a.refuses = lambda request: False
    world.sim.advance(15.0)

    assert a.leads
    a.stop.set()


def test_a_leader_that_reaches_nobody_ends_at_its_deadline(world: World) -> None:
    """It has to look before it renews, and must not wait for that beyond its deadline, nor look without end."""
    a = Replica(world, "a").start()
    world.sim.advance(5.0)
    a.refuses = lambda request: True

    world.sim.advance(12.1)

    assert isinstance(a.outcome.failure, LeadershipLost)
    assert world.sim.threads(a.host) == []


def test_a_stopped_leader_is_succeeded_at_once(world: World) -> None:
    a = Replica(world, "a").start()
    b = Replica(world, "b").start()
    world.sim.advance(10.0)
    assert a.leads

    a.stop.set()
    world.sim.advance(4.5)

    assert b.leads
    assert a.candidate is None
    assert a.outcome.failure is None
    b.stop.set()


def test_a_killed_leader_is_succeeded_within_the_bound(world: World) -> None:
    """The lease's 15 s, a step, a window for its answer, a step, a look: 35 s."""
    a = Replica(world, "a").start()
    b = Replica(world, "b").start()
    world.sim.advance(10.0)

    world.sim.pause(a.host, 3600.0)
    world.sim.advance(15.0 + 5.0 + 5.0 + 5.0 + 2.0)

    assert b.leads
    b.stop.set()


def test_each_leadership_has_a_token_of_its_own(world: World) -> None:
    a = Replica(world, "a").start()
    world.sim.advance(5.0)
    assert a.manager.elector is not None
    assert a.manager.elector.held is not None
    first = a.manager.elector.held.token
    a.stop.set()
    b = Replica(world, "b").start()
    world.sim.advance(10.0)

    assert b.manager.elector is not None
    assert b.manager.elector.held is not None
    assert b.manager.elector.held.token > first
    b.stop.set()


@pytest.mark.scenario("LC-02", "E-28")
def test_a_ping_is_answered_at_once_and_kept(sim: Simulation) -> None:
    """renewTime moves past the ping; pingTime and the rest stay."""
    world = without_election(sim)
    a = Replica(world, "a").start()
    sim.advance(20.0)
    before = a.candidate
    assert before is not None

    ping = world.stamp(0.0)
    world.client.patch(LEASE_CANDIDATES, ObjectKey("a", "default"), {"spec": {"pingTime": ping}})
    sim.advance(0.1)

    after = a.candidate
    assert after is not None
    assert after["renewTime"] >= str(ping)
    assert {**after, "renewTime": ""} == {**before, "renewTime": "", "pingTime": ping}
    a.stop.set()


def test_an_answer_that_an_older_renewal_undoes_is_given_again(world: World) -> None:
    a, b = Replica(world, "a").start(), Replica(world, "b").start()
    world.sim.advance(20.0)
    world.client.patch(LEASE_CANDIDATES, ObjectKey("b", "default"), {"spec": {"pingTime": world.stamp(0.0)}})
    world.sim.advance(20.0)

    late = {"spec": {"renewTime": world.stamp(21.0)}}  # it was on its way for so long
    world.client.patch(LEASE_CANDIDATES, ObjectKey("b", "default"), late)
    b.asked.clear()
    world.sim.advance(10.0)

    after = b.candidate
    assert after is not None
    assert after["renewTime"] >= str(world.stamp(10.5))
    assert b.asked.count("PATCH b") == 1
    a.stop.set()
    b.stop.set()


@pytest.mark.scenario("E-29")
def test_what_is_no_ping_is_not_answered(world: World) -> None:
    """A label or an annotation, while its last renewal is later than the last ping: no write."""
    a, b = Replica(world, "a").start(), Replica(world, "b").start()
    world.client.patch(LEASE_CANDIDATES, ObjectKey("b", "default"), {"spec": {"pingTime": world.stamp(0.0)}})
    world.sim.advance(20.0)
    b.asked.clear()

    for metadata in ({"labels": {"x": "1"}}, {"annotations": {"y": "2"}}):
        world.client.patch(LEASE_CANDIDATES, ObjectKey("b", "default"), {"metadata": metadata})
        world.sim.advance(10.0)

    assert {what for what in b.asked if not what.startswith("GET")} == set()
    a.stop.set()
    b.stop.set()


@pytest.mark.scenario("E-30")
def test_a_candidate_renews_itself_every_five_minutes(world: World) -> None:
    """With a healthy leader and no ping: 300 s from one write to the next."""
    a = Replica(world, "a").start()
    b = Replica(world, "b").start()
    world.sim.advance(30.0)
    a.asked.clear()
    b.asked.clear()

    world.sim.advance(900.0)

    assert a.leads
    assert b.asked.count("PATCH b") == a.asked.count("PATCH a") == 3
    a.stop.set()
    b.stop.set()


def test_a_deleted_candidate_is_back_at_once(world: World) -> None:
    a = Replica(world, "a").start()
    world.sim.advance(10.0)

    world.client.delete(LEASE_CANDIDATES, ObjectKey("a", "default"))
    world.sim.advance(0.1)

    assert a.candidate is not None
    assert a.leads
    a.stop.set()


def test_failing_renewals_are_tried_again_and_the_delay_starts_anew_after_a_success(sim: Simulation) -> None:
    world = without_election(sim)
    a = Replica(world, "a").start()
    a.refuses = lambda request: True
    sim.advance(60.0)

    a.refuses = lambda request: False
    sim.advance(10.1)
    before = a.candidate
    assert before is not None
    world.client.patch(LEASE_CANDIDATES, ObjectKey("a", "default"), {"spec": {"pingTime": world.stamp(0.0)}})
    sim.advance(0.1)

    after = a.candidate
    assert after is not None
    assert after["renewTime"] > before["renewTime"]
    a.stop.set()


@pytest.mark.parametrize("skew", [-1200.0, -20.0, 20.0, 1200.0])
def test_candidates_whose_clocks_are_wrong_are_elected_and_succeeded(world: World, skew: float) -> None:
    a = Replica(world, "a", "1.35.0")
    b = Replica(world, "b")
    world.sim.jump(a.host, skew)
    world.sim.jump(b.host, -skew)
    a.start()
    b.start()
    world.sim.advance(30.0)
    assert world.holder() == "a"
    assert a.leads

    world.sim.pause(a.host, 3600.0)
    world.sim.advance(50.0)

    assert b.leads
    b.stop.set()


def test_a_leader_whose_clock_is_behind_is_not_succeeded_while_it_works(world: World) -> None:
    a = Replica(world, "a").start()
    world.sim.advance(10.0)
    world.sim.jump(a.host, -600.0)
    b = Replica(world, "b").start()

    for _ in range(120):
        world.sim.advance(0.5)
        assert a.leads
        assert not b.leads
    a.stop.set()
    b.stop.set()


def test_a_version_that_is_corrected_on_the_way_is_told(sim: Simulation) -> None:
    """A replica under its old name in a new version, as a stateful set has them."""
    world = without_election(sim)
    spec = {"leaseName": "lease", "binaryVersion": "1.30.0", "emulationVersion": "1.30.0", "strategy": OLDEST}
    world.client.create(
        LEASE_CANDIDATES,
        {
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {**spec, "renewTime": microtime(world.host.now())},
        },
    )

    a = Replica(world, "a", "1.36.0").start()

    assert (a.candidate or {})["binaryVersion"] == "1.36.0"
    a.stop.set()


def test_a_candidate_that_withdraws_is_not_made_again(world: World) -> None:
    a = Replica(world, "a").start()
    world.sim.advance(10.0)

    a.stop.set()
    world.sim.advance(600.0)

    assert a.candidate is None
    assert world.client.get(LEASES, LEASE, dict)["spec"]["holderIdentity"] == ""
