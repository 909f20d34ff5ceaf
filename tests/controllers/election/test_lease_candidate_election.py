# SPDX-License-Identifier: Apache-2.0
"""The election controller on a server: its writes and their times, and how it handles errors."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from kit.controllers.electing import BROKEN, OLDEST, World

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES
from controller_runtime.testing.simulation import Simulation
from controllers.election.memory import Memory

FOREIGN = "example.com/x"


@pytest.fixture
def world(sim: Simulation) -> Iterator[World]:
    world = World(sim)
    yield world
    world.end()


@pytest.mark.scenario("D-01", "D-02", "CE-01")
def test_without_candidates_nothing_is_asked(world: World) -> None:
    """A lease without candidates, expired or not, is not part of an election, and not looked at again."""
    world.hold("x", leaseDurationSeconds=1)

    world.sim.advance(600.0)

    assert world.asked == []
    assert world.controller.reconciles == 1
    assert world.holder() == "x"


@pytest.mark.scenario("CE-02")
def test_a_fresh_candidate_is_elected_at_once(world: World) -> None:
    """The lease is created with the holder, the strategy and five seconds to begin, and nothing else is written."""
    world.candidate("a")

    spec = world.spec()

    assert spec is not None
    assert spec.pop("renewTime") == world.stamp(0.0)
    assert spec == {"holderIdentity": "a", "leaseDurationSeconds": 5, "strategy": OLDEST}


def test_nobody_is_pinged_while_the_cache_lacks_the_lease_that_was_made(sim: Simulation) -> None:
    """The holder leads and renews, which a silent watch does not show: to ping it would disturb it for nothing."""
    world = World(sim, start=False)
    world.is_blind = True
    world.start()
    world.candidate("a")
    assert world.holder() == "a"

    world.hold("a", leaseDurationSeconds=60)
    world.sim.advance(15.0)

    assert world.asked == ["POST leases"]
    world.end()


@pytest.mark.scenario("D-04", "D-05")
def test_a_stale_candidate_is_pinged_and_elected_when_it_answers(world: World) -> None:
    """Only the ping is written; the answer is an event that leads to the election."""
    world.candidate("a", age=10.0)
    world.sim.advance(1.0)
    assert world.spec() is None
    assert list(world.pings()) == ["a"]

    world.renew("a")

    assert world.holder() == "a"
    assert world.asked == ["PATCH leasecandidates/a", "POST leases"]


@pytest.mark.scenario("D-06", "CE-06")
def test_a_candidate_that_does_not_answer_is_not_elected_and_asked_once(world: World) -> None:
    """Without an answer there is no lease and no second ping; the problem is reported once."""
    world.candidate("a", age=10.0)

    world.sim.advance(60.0)

    assert world.spec() is None
    assert world.asked == ["PATCH leasecandidates/a"]
    assert world.events() == [("NoCandidateAnswers", "LeaseCandidate", "a")]
    reconciles = world.controller.reconciles
    world.sim.advance(10.0)
    assert world.controller.reconciles > reconciles


@pytest.mark.scenario("D-07", "D-08", "D-09", "CE-04", "CE-08")
def test_the_fresh_wait_for_the_stale_to_answer_and_then_go_on_without_them(world: World) -> None:
    """Only the stale candidate is pinged; none is elected within its window; then the fresh one is."""
    world.candidate("b", "1.35.0", age=10.0)
    world.candidate("a")
    world.sim.advance(4.0)
    assert list(world.pings()) == ["b"]
    assert world.spec() is None

    world.sim.advance(2.0)
    assert list(world.pings()) == ["a", "b"]
    world.renew("a")

    assert world.holder() == "a"


@pytest.mark.scenario("D-10", "D-11", "CE-08")
def test_a_better_candidate_is_preferred_and_takes_over_when_the_holder_gives_way(world: World) -> None:
    """preferredHolder is set and the rest left to the holder; once the lease is blank, the better one holds it."""
    world.candidate("a")
    world.hold("a", leaseDurationSeconds=15)
    world.candidate("b", "1.35.0")
    spec = world.spec()
    assert spec is not None
    assert (spec["holderIdentity"], spec["preferredHolder"], spec["leaseDurationSeconds"]) == ("a", "b", 15)

    world.hold("", leaseDurationSeconds=1, strategy=None, preferredHolder=None, acquireTime=world.stamp(0.0))

    taken = world.spec()
    assert taken is not None
    assert taken.pop("renewTime")
    assert taken == {"holderIdentity": "b", "leaseDurationSeconds": 5, "strategy": OLDEST}


@pytest.mark.scenario("D-12", "CE-05")
def test_a_lease_that_nobody_renews_is_taken_once_it_was_watched_for_its_duration(world: World) -> None:
    """Its timestamp alone does not matter: the holder's clock may be wrong."""
    world.hold("x", renewTime=world.stamp(60.0), strategy=OLDEST)
    world.candidate("a")
    world.sim.advance(10.0)
    assert world.holder() == "x"

    for _ in range(14):
        world.sim.advance(1.0)
        world.renew("a")

    assert world.holder() == "a"


@pytest.mark.scenario("D-13", "D-14")
def test_the_best_holder_is_left_alone_whether_or_not_it_renews(world: World) -> None:
    """No lease is renewed on behalf of its holder."""
    world.candidate("a")
    world.asked.clear()

    for _ in range(40):
        world.sim.advance(1.0)
        world.renew("a")

    assert [what for what in world.asked if "leases" in what] == []
    assert world.holder() == "a"


@pytest.mark.scenario("D-15")
def test_candidates_are_asked_every_quarter_of_an_hour_though_all_is_well(world: World) -> None:
    """With a healthy lease, a candidate that was last renewed a quarter of an hour ago is pinged."""
    world.hold("a", leaseDurationSeconds=3600, strategy=OLDEST)
    world.candidate("a", age=899.0)
    assert world.pings() == {}

    world.sim.advance(6.0)

    assert list(world.pings()) == ["a"]


@pytest.mark.scenario("D-16")
def test_a_candidate_of_half_an_hour_ago_is_none(world: World) -> None:
    """A candidate that was last renewed half an hour ago is neither pinged nor elected."""
    world.candidate("a", age=1801.0)

    world.sim.advance(60.0)

    assert world.asked == []


@pytest.mark.scenario("D-25", "D-26", "D-27", "CE-09")
def test_a_foreign_strategy_is_recorded_and_the_holder_left_to_others(world: World) -> None:
    """The lease is created without a holder and then not written again; its candidates are pinged every ten seconds."""
    world.candidate("a", strategy=FOREIGN)
    first = world.spec()
    assert first is not None
    assert "holderIdentity" not in first
    assert first["strategy"] == FOREIGN

    for _ in range(60):
        world.sim.advance(0.5)
        world.renew("a")

    assert world.spec() == first
    assert world.asked[0] == "POST leases"
    assert world.events() == [("ForeignStrategy", "LeaseCandidate", "a")]


@pytest.mark.scenario("D-28", "CE-14")
def test_a_lease_without_any_holder_gets_one(world: World) -> None:
    """A null holder counts as an empty one."""
    world.hold(None, leaseDurationSeconds=None, renewTime=None)

    world.candidate("a")

    assert world.holder() == "a"


@pytest.mark.scenario("D-29")
def test_what_is_there_counts_though_the_cache_knows_of_no_lease(world: World) -> None:
    """A lease that another client has just created is read from the server, and its holder asked to give way."""
    world.before["POST"] = lambda: world.hold("x", strategy=OLDEST)

    world.candidate("a")

    spec = world.spec()
    assert spec is not None
    assert (spec["holderIdentity"], spec["preferredHolder"]) == ("x", "a")
    # A reconcile that runs before the cache has the patch may try it once more, and is refused by its version.
    assert world.asked[:3] == ["POST leases", "GET leases/lease", "PATCH leases/lease"]
    assert {*world.asked[3:]} <= {"GET leases/lease", "PATCH leases/lease"}
    assert world.controller.errors == 0


@pytest.mark.scenario("D-30")
def test_a_conflict_is_decided_anew_at_once_on_what_is_there(world: World) -> None:
    """If the lease is renewed just before it is written, nothing is lost, and the next decision waits for no event."""
    world.candidate("a")
    world.hold("a")
    world.before["PATCH"] = lambda: world.client.patch(
        LEASES, ObjectKey("lease", "default"), {"spec": {"renewTime": world.stamp(-1.0)}}
    )

    world.candidate("b", "1.35.0")
    world.sim.advance(0.1)

    spec = world.spec()
    assert spec is not None
    assert (spec["holderIdentity"], spec["preferredHolder"]) == ("a", "b")
    assert world.controller.errors == 0


def test_a_ping_that_conflicts_is_decided_anew_at_once_on_what_is_there(world: World) -> None:
    """The cache is behind: the candidate was just renewed."""
    world.before["PATCH"] = lambda: world.renew("a")

    world.candidate("a", age=10.0)

    assert world.asked[:3] == ["PATCH leasecandidates/a", "GET leases/lease", "POST leases"]
    assert world.holder() == "a"
    assert world.controller.errors == 0


@pytest.mark.parametrize("clock", [pytest.param(20.0, id="20 s behind"), pytest.param(-600.0, id="10 min ahead")])
def test_who_answers_late_and_by_its_own_clock_is_elected_then(world: World, clock: float) -> None:
    """Its watch lags, so it answers the ping long after; then it counts as alive, whatever time it writes."""
    world.candidate("a", age=10.0)
    world.sim.advance(20.0)
    assert world.spec() is None

    world.client.patch(LEASE_CANDIDATES, ObjectKey("a", "default"), {"spec": {"renewTime": world.stamp(clock)}})
    world.sim.settle()

    assert world.holder() == "a"


def test_what_a_cache_says_that_is_behind_is_no_renewal(sim: Simulation) -> None:
    memory, lease = Memory(sim.host("a")), ObjectKey("lease", "default")
    assert memory.seconds_since_renewals(lease, {"a": ("9", "first")}) == {"a": math.inf}
    assert memory.seconds_since_renewals(lease, {"a": ("12", "second")}) == {"a": 0.0}

    sim.advance(3.0)

    assert memory.seconds_since_renewals(lease, {"a": ("9", "first")}) == {"a": pytest.approx(3.0)}
    assert memory.seconds_since_renewals(lease, {"a": ("13", "second")}) == {"a": pytest.approx(3.0)}
    assert memory.seconds_since_renewals(lease, {"a": ("14", "third")}) == {"a": 0.0}


@pytest.mark.scenario("CE-15")
@pytest.mark.parametrize("failing", ["POST leases", "PATCH leases/lease"])
def test_a_failing_write_is_tried_again_without_any_event(world: World, failing: str) -> None:
    """While the server answers 500 for a minute, the write is tried at least every five seconds, until it succeeds."""
    if failing.startswith("PATCH"):
        world.hold("")
    world.faults[failing] = BROKEN
    world.candidate("a", strategy=OLDEST)
    for _ in range(12):
        world.sim.advance(5.0)
        world.renew("a")
    assert world.holder() == ""

    world.faults.clear()
    world.sim.advance(4.9)

    assert world.holder() == "a"


@pytest.mark.scenario("D-33")
def test_a_ping_that_fails_keeps_no_other_from_being_sent_and_is_tried_again(world: World) -> None:
    """If two of three pings fail, the third is sent, the step has failed, and the two are soon sent again."""
    for name in "ac":
        world.faults[f"PATCH leasecandidates/{name}"] = BROKEN
    for name in "abc":
        world.candidate(name, age=10.0)
    assert list(world.pings()) == ["b"]
    assert world.controller.errors > 0

    world.faults.clear()
    world.sim.advance(4.0)

    assert list(world.pings()) == ["a", "b", "c"]


@pytest.mark.scenario("D-32")
def test_what_was_there_before_it_started_is_covered(sim: Simulation) -> None:
    """With three candidates of two leases, one of them pinged and silent, both elections go on after a start."""
    world = World(sim, start=False)
    world.candidate("a", lease="one")
    world.candidate("b", lease="one", age=10.0, pinged=8.0)
    world.candidate("c", lease="two", age=8.0, pinged=10.0)

    world.start()

    assert world.holder("one") == "a"
    assert "PATCH leasecandidates/c" in world.asked
    world.end()


def test_a_restart_at_any_time_goes_on_where_the_other_was(world: World) -> None:
    world.candidate("a", age=10.0)
    world.end()
    assert list(world.pings()) == ["a"]

    world.renew("a")
    world.start()

    assert world.holder() == "a"


def test_a_candidate_that_is_asked_does_not_bring_itself_back(world: World) -> None:
    world.candidate("a", age=10.0)

    assert world.controller.reconciles == 1


def test_elections_in_other_namespaces_and_of_other_leases_do_not_mix(world: World) -> None:
    world.client.create(
        LEASE_CANDIDATES,
        {
            "metadata": {"name": "older", "namespace": "kube-system"},
            "spec": {
                "leaseName": "lease",
                "binaryVersion": "1.1.0",
                "emulationVersion": "1.1.0",
                "strategy": OLDEST,
                "renewTime": world.stamp(0.0),
            },
        },
    )
    world.candidate("a")
    world.candidate("b", "1.2.0", lease="another")

    assert (world.holder(), world.holder("another")) == ("a", "b")


def test_a_deleted_lease_is_elected_anew(world: World) -> None:
    world.candidate("a")

    world.client.delete(LEASES, ObjectKey("lease", "default"))
    world.sim.settle()

    assert world.holder() == "a"
