# SPDX-License-Identifier: Apache-2.0
"""Members that divide differently, or are of different programs, meet in one ring: one group works, the other waits."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest
from kit.ring.ringing import JOIN, OBJECTS, Replicas, Seen

from controller_runtime.manager.health import health_of
from controller_runtime.manager.inspection import describe
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.decision import Membership, Sighting, in_the_way, next_assignment, next_step, publishes
from controller_runtime.ring.records import Assignment, Claim
from controller_runtime.ring.slots import ALL, SLOTS
from controller_runtime.testing.simulation import Simulation

NOW = 100.0
NEW, OLD = "new", "old"


class SeenByAnother(Seen):
    """The work of another program."""


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    with Simulation(11) as sim:
        yield Replicas(sim)


def published(division: str) -> Assignment:
    return Assignment(5, ("b",) * SLOTS, (5,) * SLOTS, "uid", 1, division)


def other(division: str, name: str = "b", seen_at: float = NOW - 2, **claim: object) -> Sighting:
    return Sighting(name, attrs.evolve(Claim(5, division=division), **claim), "1", 15.0, seen_at)


@pytest.mark.parametrize(
    ("ring", "member", "waits"),
    [
        pytest.param(OLD, other(OLD), True, id="the division that published is there"),
        pytest.param(OLD, other(OLD, seen_at=NOW - 15), False, id="it is silent for a lease"),
        pytest.param(OLD, other(OLD, is_leaving=True), False, id="it has left"),
        pytest.param(OLD, other(OLD, is_leaving=True, slots=1), True, id="it leaves, and has work in hand"),
        pytest.param(OLD, other(NEW), False, id="only we are there"),
        pytest.param(OLD, other("third"), False, id="another one waits, too"),
        pytest.param(OLD, other("third", slots=1), True, id="another one has work in hand"),
        pytest.param(NEW, other(OLD), False, id="we have published"),
        pytest.param(None, other(OLD), False, id="nobody has published"),
        pytest.param(None, other(OLD, slots=1), True, id="the assignment is lost, and others are at work"),
    ],
)
def test_a_division_waits_while_a_claim_of_the_one_that_published_counts(
    ring: str | None, member: Sighting, *, waits: bool
) -> None:
    found = in_the_way(NEW, None if ring is None else published(ring), [member], NOW)

    assert found == ("b" if waits else "")


def test_a_member_that_waits_says_that_it_is_joining_and_follows_the_epoch_so_that_nobody_waits_for_it() -> None:
    me = Membership("a", Claim(3, division=NEW), NOW - 1)

    step = next_step(me, published(OLD), [other(OLD)], NOW)

    assert (step.claim, step.take, step.waits_for) == (Claim(5, division=NEW), 0, "b")
    assert next_step(me, published(OLD), [], NOW).claim.is_ready


def test_no_slot_is_taken_while_another_division_has_work_in_hand_for_any() -> None:
    me = Membership("b", Claim(5, is_ready=True, division=NEW), NOW - 1)

    assert next_step(me, published(NEW), [other(OLD, "c", slots=1 << 7)], NOW).take == 0
    assert next_step(me, published(NEW), [other(OLD, "c")], NOW).take == ALL


def test_an_assignment_of_another_division_gives_no_slot_although_it_names_the_member() -> None:
    me = Membership("b", Claim(5, is_ready=True, division=NEW), NOW - 1)

    assert next_step(me, published(OLD), [], NOW).take == 0


@pytest.mark.parametrize(
    ("ring", "first"),
    [
        pytest.param(NEW, "b", id="the division that published alone"),
        pytest.param(OLD, "a", id="all that wait for none"),
        pytest.param(None, "a", id="nobody has published"),
    ],
)
def test_the_first_by_name_publishes_of_the_division_that_works(ring: str | None, first: str) -> None:
    assignment = None if ring is None else published(ring)
    stranger, peer = (other(division, name, is_ready=True) for division, name in (("third", "a"), (NEW, "b")))

    assert publishes(peer, assignment, [stranger], NOW) is (first == "b")
    assert publishes(stranger, assignment, [peer], NOW) is (first == "a" or ring == NEW)


def test_an_assignment_has_members_of_one_division_and_gives_all_slots_anew_to_another() -> None:
    mine, stranger = other(NEW, "b", is_ready=True), other("third", "a", is_ready=True)

    found = next_assignment(published(OLD), [mine, stranger], NOW, division=NEW)

    assert found is not None
    assert ({*found.owners}, {*found.since}, found.division) == ({"b"}, {6}, NEW)
    assert next_assignment(found, [mine, stranger], NOW, division=NEW) is None


def at_work(replicas: Replicas) -> set[str]:
    """Return the replicas that own slots."""
    return {name for name, slots in replicas.owners().items() if slots}


@pytest.mark.scenario("RG-20")
def test_of_two_groups_that_start_at_once_one_works_and_the_other_waits_ready_until_it_has_left(
    replicas: Replicas,
) -> None:
    for name, by in (("a", RingBy.NAME), ("c", RingBy.NAMESPACE), ("b", RingBy.NAME), ("d", RingBy.NAMESPACE)):
        replicas.start(name, by=by)
    replicas.sim.advance(2 * JOIN)

    working = at_work(replicas)
    assert working in ({"a", "b"}, {"c", "d"})
    assert replicas.touch().keys() == working
    for name in {"a", "b", "c", "d"} - working:
        ring, manager = replicas.rings[name], replicas.managers[name]
        (shown,) = describe(manager)["rings"]
        assert f"waits for {replicas.rings[min(working)].member.identity}, which is of another" in shown["waiting"]
        assert ring.member.last_error == ring.problem() == ""
        assert not any(check() for check in health_of(manager).ready.values())
    for name in working:
        replicas.stops[name].set()
    replicas.sim.advance(5.0)
    assert at_work(replicas) == {"a", "b", "c", "d"} - working
    assert replicas.touch().total() == OBJECTS


@pytest.mark.parametrize("work", [Seen, SeenByAnother])
def test_a_rollout_hands_all_over_once_the_last_old_replica_has_left(replicas: Replicas, work: type[Seen]) -> None:
    """As with `maxUnavailable: 0`: a new replica is there before an old one goes."""
    changed = {"by": RingBy.NAMESPACE} if work is Seen else {"work": work}
    for name in ("old-a", "old-b"):
        replicas.start(name)
    replicas.sim.advance(JOIN)
    replicas.start("new-a", **changed)
    replicas.sim.advance(JOIN)
    assert replicas.touch().keys() == {"old-a", "old-b"}
    replicas.stops["old-a"].set()
    replicas.start("new-b", **changed)
    replicas.sim.advance(JOIN)
    assert replicas.touch() == {"old-b": OBJECTS}

    replicas.stops["old-b"].set()
    gap = 0.0
    for _ in range(100):
        replicas.sim.advance(0.05)
        assert at_work(replicas) <= {"new-a", "new-b"} or at_work(replicas) == {"old-b"}
        gap += 0.05 * (replicas.owners().total() < SLOTS)
    assert gap <= 1.0
    assert replicas.owners() == {"old-a": 0, "old-b": 0, "new-a": 128, "new-b": 128}
    assert replicas.touch().total() == OBJECTS


def test_a_rollback_leaves_the_work_where_it_is(replicas: Replicas) -> None:
    for name in ("old-a", "old-b"):
        replicas.start(name)
    replicas.sim.advance(JOIN)
    replicas.stops["old-a"].set()
    replicas.start("new-a", by=RingBy.NAMESPACE)
    replicas.sim.advance(JOIN)
    replicas.stops["new-a"].set()
    replicas.start("old-c")
    replicas.sim.advance(JOIN)

    assert replicas.owners() == {"old-a": 0, "old-b": 128, "new-a": 0, "old-c": 128}
    assert replicas.touch().total() == OBJECTS


def test_a_group_that_is_cut_off_and_one_that_waited_for_it_never_work_at_once(replicas: Replicas) -> None:
    replicas.start("old")
    replicas.sim.advance(JOIN)
    replicas.start("new", by=RingBy.NAMESPACE)
    replicas.sim.advance(JOIN)
    replicas.network.cut("old", 40.0)
    seen = []
    for _ in range(400):
        replicas.sim.advance(0.2)
        seen.append(at_work(replicas))
        assert len(seen[-1]) <= 1

    assert [each for each, before in zip(seen[1:], seen, strict=False) if each != before] == [set(), {"new"}]
    assert replicas.rings["old"].member.status.waits_for == replicas.rings["new"].member.identity


def test_members_that_name_the_same_division_share_although_their_reconcilers_differ(replicas: Replicas) -> None:
    replicas.start("a", division="nodes")
    replicas.start("b", division="nodes", work=SeenByAnother)
    replicas.sim.advance(JOIN)

    assert replicas.owners() == {"a": 128, "b": 128}
