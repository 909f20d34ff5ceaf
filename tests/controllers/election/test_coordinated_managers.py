# SPDX-License-Identifier: Apache-2.0
"""Managers that are candidates of a coordinated election, and the controller that elects among them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.controllers.electing import OLDEST, World
from kit.processes.coordinated_replica import LEASE, Replica

from apimachinery.errors import LeadershipLost
from apimachinery.objects import ObjectKey, microtime
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES, NODES
from controller_runtime.testing.simulation import Simulation


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
    """The candidate declares its version; elected for 5 s, it renews for its own 15 s and keeps the strategy."""
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
    """Without an electing controller there is no lease, and no replica leads."""
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
    """Work in progress ends, nothing new begins, the lease is blanked, and the other replica leads moments later."""
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
    """No renewal is sent once another candidate is preferred, so leadership ends at its deadline."""
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
    """Its first try fails. Unless it gives the lease back it stays the holder, and no other replica renews it."""
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
    """The leader reads the lease before it renews; neither one read nor repeated ones may outlast its deadline."""
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
    """The bound is the lease's 15 s, a step, a window for the answer, a step and a look: 35 s."""
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
    """The answer sets renewTime later than the ping; pingTime and the rest stay."""
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

    late = {"spec": {"renewTime": world.stamp(21.0)}}  # it was under way for so long
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
    """A changed label or annotation causes no write if the last renewal is later than the last ping."""
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
    """With a healthy leader and no ping there are 300 s between two writes."""
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
    """A replica starts under its old name with a new version, as those of a stateful set do."""
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
