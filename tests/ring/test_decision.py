# SPDX-License-Identifier: Apache-2.0
"""Decisions of a ring's member as pure functions: when a slot is taken, drained, released; when the publisher acts."""

from __future__ import annotations

import math

import attrs
import pytest

from controller_runtime.ring.assignment import NOBODY
from controller_runtime.ring.decision import (
    Membership,
    Sighting,
    is_older,
    long_dead,
    next_assignment,
    next_step,
    publishes,
)
from controller_runtime.ring.records import Assignment, Claim
from controller_runtime.ring.slots import SLOTS, set_of

NOW = 100.0
READY = Claim(epoch=3, is_ready=True)
OTHER = Sighting("b", Claim(epoch=5, is_ready=True), "1", 15.0, NOW - 2)


def ring(*mine: int, epoch: int = 5, since: int = 5) -> Assignment:
    """An assignment that gives some slots to `a` and the others to `b`."""
    owners = tuple("a" if slot in mine else "b" for slot in range(SLOTS))
    return Assignment(epoch, owners, tuple(since if slot in mine else 0 for slot in range(SLOTS)), "uid")


def member(*slots: int, **changed: object) -> Membership:
    me = Membership("a", attrs.evolve(READY, slots=set_of(slots)), NOW - 1)
    return attrs.evolve(me, **changed)


@pytest.mark.parametrize(
    ("other", "takes"),
    [
        pytest.param(OTHER, True, id="the other follows and does not claim it"),
        pytest.param(attrs.evolve(OTHER, claim=Claim(5, set_of([7]))), False, id="it still claims the slot"),
        pytest.param(
            attrs.evolve(OTHER, claim=Claim(5, set_of([7]), is_leaving=True)), False, id="it leaves with work in hand"
        ),
        pytest.param(attrs.evolve(OTHER, claim=Claim(4, is_leaving=True)), True, id="it has left"),
        pytest.param(attrs.evolve(OTHER, claim=Claim(4)), False, id="it follows an older assignment"),
        pytest.param(attrs.evolve(OTHER, claim=Claim(4), seen_at=NOW - 15), True, id="silent for a lease"),
        pytest.param(attrs.evolve(OTHER, claim=Claim(4), seen_at=NOW - 14.9), False, id="silent for nearly a lease"),
        pytest.param(attrs.evolve(OTHER, claim=Claim(9)), True, id="it follows a newer assignment"),
    ],
)
def test_a_slot_is_taken_once_no_other_can_own_it(other: Sighting, takes: bool) -> None:
    step = next_step(member(), ring(7), [other], NOW)

    assert step.take == step.claim.slots == (set_of([7]) if takes else 0)
    assert step.claim.epoch == 5


@pytest.mark.parametrize(
    "me",
    [
        pytest.param(member(ready_at=NOW + 0.1), id="too new a member"),
        pytest.param(member(ready_at=math.inf), id="no member yet"),
        pytest.param(member(prepared=0), id="its cache is not filled"),
        pytest.param(member(leaves=True), id="it leaves"),
    ],
)
def test_a_slot_is_not_taken_by_a_member_that_is_not_ready(me: Membership) -> None:
    assert next_step(me, ring(7), [OTHER], NOW).take == 0


def test_a_slot_that_a_new_member_keeps_for_an_earlier_write_is_not_owned_before_it_is_ready() -> None:
    kept = member(7, draining=set_of([7]), drained=set_of([7]), ready_at=NOW + 0.1)

    assert (next_step(kept, ring(7), [OTHER], NOW).resume, next_step(kept, ring(7), [OTHER], NOW).claim.slots) == (
        0,
        128,
    )
    assert next_step(kept, ring(7), [OTHER], NOW + 0.1).resume == set_of([7])


def test_a_slot_that_stays_ours_needs_no_word_of_the_others() -> None:
    slow = attrs.evolve(OTHER, claim=Claim(4))

    step = next_step(member(7), ring(7, 8, since=4), [slow], NOW)

    assert (step.take, step.drain) == (set_of([8]), 0)


def test_a_slot_of_another_is_drained_first_and_dropped_from_the_claim_when_no_work_is_in_hand() -> None:
    drains = next_step(member(7, 8), ring(7), [OTHER], NOW)
    assert (drains.drain, drains.claim.slots) == (set_of([8]), set_of([7, 8]))

    waits = next_step(member(7, 8, draining=set_of([8])), ring(7), [OTHER], NOW)
    assert (waits.drain, waits.claim.slots) == (0, set_of([7, 8]))

    drops = next_step(member(7, 8, draining=set_of([8]), drained=set_of([8])), ring(7), [OTHER], NOW)
    assert (drops.drain, drops.claim.slots) == (0, set_of([7]))


@pytest.mark.parametrize(
    ("others", "drains"),
    [
        pytest.param([OTHER], True, id="all follow"),
        pytest.param([attrs.evolve(OTHER, claim=Claim(4))], False, id="its next owner does not follow yet"),
        pytest.param([OTHER, attrs.evolve(OTHER, member="c", claim=Claim(4))], False, id="a third does not"),
        pytest.param(
            [OTHER, attrs.evolve(OTHER, member="c", claim=Claim(4), seen_at=NOW - 15)], True, id="a third is dead"
        ),
        pytest.param([], False, id="its next owner is not there"),
        pytest.param([attrs.evolve(OTHER, seen_at=NOW - 15)], False, id="its next owner is dead"),
        pytest.param([attrs.evolve(OTHER, claim=Claim(5, is_leaving=True))], False, id="its next owner leaves"),
    ],
)
def test_work_for_a_slot_that_is_given_away_goes_on_until_its_next_owner_can_take_it(
    others: list[Sighting], drains: bool
) -> None:
    given = attrs.evolve(ring(7), since=(5,) * SLOTS)
    step = next_step(member(7, 8), given, others, NOW)

    assert step.drain == (set_of([8]) if drains else 0)
    assert (step.claim.slots, step.claim.epoch) == (set_of([7, 8]), 5)
    assert next_step(member(7, 8, leaves=True), given, others, NOW).drain == set_of([7, 8])


def test_a_slot_that_is_given_back_to_us_while_it_drains_is_ours_again() -> None:
    step = next_step(member(7, 8, draining=set_of([8]), drained=set_of([8])), ring(7, 8), [OTHER], NOW)

    assert (step.resume, step.take, step.claim.slots) == (set_of([8]), 0, set_of([7, 8]))


def test_a_member_that_leaves_drains_everything() -> None:
    step = next_step(member(7, leaves=True), ring(7), [], NOW)

    assert (step.drain, step.claim.is_ready, step.claim.is_leaving) == (set_of([7]), False, True)


@pytest.mark.parametrize(
    ("followed", "uid", "epoch", "older"),
    [
        pytest.param("", "uid", 1, False, id="none followed yet"),
        pytest.param("uid", "uid", 3, False, id="the same"),
        pytest.param("uid", "uid", 2, True, id="an older epoch"),
        pytest.param("uid", "new", 9, True, id="another ring"),
        pytest.param("uid", "", None, True, id="gone"),
        pytest.param("uid", "uid", None, False, id="unreadable"),
    ],
)
def test_a_server_that_has_gone_back_is_noticed(followed: str, uid: str, epoch: int | None, older: bool) -> None:
    shown = None if epoch is None else ring(7, epoch=epoch, since=0)

    assert is_older(READY, followed, uid, shown) is older


def members(**changed: Sighting) -> dict[str, Sighting]:
    return {"a": attrs.evolve(OTHER, member="a"), "b": OTHER, **changed}


@pytest.mark.parametrize(
    ("other", "first"),
    [
        pytest.param(attrs.evolve(OTHER, member="a"), False, id="the first by name publishes"),
        pytest.param(attrs.evolve(OTHER, member="a", seen_at=NOW - 15), True, id="not if it is silent"),
        pytest.param(attrs.evolve(OTHER, member="a", claim=Claim(5)), True, id="not before it is ready"),
    ],
)
def test_one_member_publishes(other: Sighting, first: bool) -> None:
    assert publishes(OTHER, None, [other], NOW) is first


def test_the_assignment_follows_the_members_that_are_ready_and_heard() -> None:
    joining = attrs.evolve(OTHER, member="c", claim=Claim(5))
    silent = attrs.evolve(OTHER, member="d", seen_at=NOW - 15)
    present = ring(*range(128))

    assert next_assignment(present, [*members(c=joining, d=silent).values()], NOW) is None
    ready = attrs.evolve(joining, claim=READY)
    following = next_assignment(present, [*members(c=ready).values()], NOW)
    assert following is not None
    assert following.epoch == 6
    assert {*following.owners} == {"a", "b", "c"}


def test_a_lost_assignment_is_made_from_what_the_members_claim() -> None:
    claims = {"a": Claim(7, set_of(range(128)), is_ready=True), "b": Claim(6, set_of(range(128, 256)), is_ready=True)}
    sightings = [attrs.evolve(OTHER, member=name, claim=claim) for name, claim in claims.items()]

    found = next_assignment(None, sightings, NOW)

    assert found is not None
    assert found.epoch == 8
    assert found.owners == ("a",) * 128 + ("b",) * 128


def test_nobody_publishes_where_nobody_is_ready() -> None:
    assert next_assignment(None, [attrs.evolve(OTHER, claim=Claim())], NOW) is None
    assert not publishes(attrs.evolve(OTHER, claim=Claim()), None, [], NOW)
    assert NOBODY == ""


@pytest.mark.parametrize(
    ("other", "before", "now", "waits"),
    [
        pytest.param(Claim(), None, NOW, True, id="one is joining"),
        pytest.param(Claim(), None, NOW + 2, False, id="one has been joining for too long"),
        pytest.param(Claim(is_leaving=True), None, NOW, False, id="one is leaving"),
        pytest.param(Claim(is_ready=True), None, NOW, False, id="all are ready"),
        pytest.param(Claim(), "gone", NOW, True, id="one is joining, and all owners are gone"),
        pytest.param(Claim(), "a", NOW, False, id="one is joining, and another one owns slots"),
    ],
)
def test_a_first_assignment_waits_a_while_for_members_that_are_joining(
    other: Claim, before: str | None, now: float, *, waits: bool
) -> None:
    sightings = [attrs.evolve(OTHER, member="a", claim=Claim(is_ready=True)), attrs.evolve(OTHER, claim=other)]
    owners = None if before is None else Assignment(4, (before, *(NOBODY,) * (SLOTS - 1)), (0,) * SLOTS)

    found = next_assignment(owners, sightings, now, NOW + 2)

    assert (found is None) is waits


def test_a_first_assignment_waits_for_no_member_that_is_silent() -> None:
    silent = attrs.evolve(OTHER, claim=Claim(), seen_at=NOW - 15)
    sightings = [attrs.evolve(OTHER, member="a", claim=Claim(is_ready=True)), silent]

    assert next_assignment(None, sightings, NOW, NOW + 2) is not None


@pytest.mark.parametrize(
    ("dead", "silent", "goes"),
    [
        pytest.param(OTHER, 150.0, True, id="silent for ten of its durations"),
        pytest.param(OTHER, 149.9, False, id="silent for nearly as long"),
        pytest.param(attrs.evolve(OTHER, claim=Claim(is_leaving=True)), 15.0, True, id="it left a duration ago"),
        pytest.param(attrs.evolve(OTHER, claim=Claim(is_leaving=True)), 14.9, False, id="others may not have seen it"),
        pytest.param(attrs.evolve(OTHER, version=""), 150.0, False, id="it has no lease"),
    ],
)
def test_the_lease_of_a_member_that_is_gone_is_deleted(dead: Sighting, silent: float, *, goes: bool) -> None:
    found = long_dead(None, [attrs.evolve(dead, seen_at=NOW - silent)], NOW)

    assert (found is not None) is goes


def test_the_lease_of_a_member_that_is_gone_stays_while_slots_are_assigned_to_it() -> None:
    """While members that join are waited for, the assignment still names owners that are gone."""
    owner, other = (attrs.evolve(OTHER, member=name, seen_at=NOW - 150) for name in "bc")
    present = ring(7)

    assert long_dead(present, [owner, other], NOW) is other
    assert long_dead(present, [owner], NOW) is None
