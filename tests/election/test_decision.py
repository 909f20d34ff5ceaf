# SPDX-License-Identifier: Apache-2.0
"""Decisions about a lease, as a pure function."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.election.decision import Action, HeldLease, Sighting, decide
from controller_runtime.election.record import LeaseRecord

NOW = 1000.0
ME, OTHER = "me", "other"
THEIRS = LeaseRecord(OTHER, 15, "then", "later", 4)
MINE = LeaseRecord(ME, 15, "then", "later", 4)


@pytest.mark.scenario("LE-02", "LE-04", "LE-05", "E-08")
@pytest.mark.parametrize(
    ("record", "seen_at", "step"),
    [
        pytest.param(None, NOW, Action.CREATE, id="no lease"),
        pytest.param(LeaseRecord(), NOW, Action.TAKE, id="no holder data"),
        pytest.param(attrs.evolve(THEIRS, holder=""), NOW + 5, Action.TAKE, id="released"),
        pytest.param(THEIRS, NOW - 14.99, Action.WAIT, id="held by another"),
        pytest.param(THEIRS, NOW - 15, Action.TAKE, id="unchanged for long"),
        pytest.param(THEIRS, NOW + 5, Action.WAIT, id="just renewed"),
        pytest.param(attrs.evolve(THEIRS, duration=0), NOW, Action.TAKE, id="without a duration"),
        pytest.param(attrs.evolve(THEIRS, duration=60), NOW - 15, Action.WAIT, id="with a duration of its own"),
        pytest.param(MINE, NOW, Action.TAKE, id="ours, though we do not lead"),
    ],
)
def test_a_candidate_takes_what_is_free(record: LeaseRecord | None, seen_at: float, step: Action) -> None:
    """A lease is free if it is missing, blank, names us, or has not changed for its duration by our clock."""
    assert decide(Sighting(record, seen_at), ME, None, NOW) is step


@pytest.mark.scenario("LE-06")
@pytest.mark.parametrize(
    ("record", "until", "step"),
    [
        pytest.param(MINE, NOW + 1, Action.RENEW, id="ours"),
        pytest.param(MINE, NOW, Action.LOST, id="past the deadline"),
        pytest.param(THEIRS, NOW + 1, Action.LOST, id="taken"),
        pytest.param(attrs.evolve(MINE, transitions=6), NOW + 1, Action.LOST, id="ours again after somebody else's"),
        pytest.param(attrs.evolve(MINE, holder=""), NOW + 1, Action.LOST, id="blanked"),
        pytest.param(None, NOW + 1, Action.LOST, id="deleted"),
    ],
)
def test_a_leader_renews_its_own_record_or_has_lost(record: LeaseRecord | None, until: float, step: Action) -> None:
    """Any record but its own ends a leadership, and so does its deadline."""
    assert decide(Sighting(record, NOW - 100), ME, HeldLease(4, until), NOW) is step


@pytest.mark.scenario("E-05")
@given(st.text(max_size=30))
def test_how_old_a_lease_looks_does_not_matter(renew_time: str) -> None:
    """A lease that is first seen now is left alone for its duration, whatever its times say."""
    record = attrs.evolve(THEIRS, renew_time=renew_time, acquire_time=renew_time)
    seen = Sighting(None, 0.0).again(record, NOW)

    assert decide(seen, ME, None, NOW + 14.9) is Action.WAIT
    assert decide(seen, ME, None, NOW + 15.0) is Action.TAKE


def test_a_renewal_starts_the_wait_anew_and_an_unchanged_lease_does_not() -> None:
    seen = Sighting(THEIRS, NOW)

    assert seen.again(attrs.evolve(THEIRS), NOW + 5) is seen
    assert seen.again(attrs.evolve(THEIRS, renew_time="latest"), NOW + 5).expires_at == NOW + 20


def test_what_a_lease_leaves_out_or_nulls_counts_as_empty() -> None:
    assert LeaseRecord.of({}) == LeaseRecord.of({"spec": {"holderIdentity": None}}) == LeaseRecord()
    assert LeaseRecord.of({"spec": THEIRS.spec()}) == THEIRS


@pytest.mark.parametrize(
    ("record", "waits"),
    [
        pytest.param(THEIRS, THEIRS.duration, id="held"),
        pytest.param(attrs.evolve(THEIRS, holder=""), 0, id="given back"),
    ],
)
def test_a_lease_that_vanishes_is_respected_for_its_duration_if_it_had_a_holder(
    record: LeaseRecord, waits: int
) -> None:
    gone = Sighting(record, NOW - 1).again(None, NOW).again(None, NOW + 1)

    assert gone.expires_at == NOW + waits
    assert decide(gone, ME, None, NOW + waits) is Action.CREATE
    assert decide(gone, ME, None, NOW) is (Action.WAIT if waits else Action.CREATE)
    assert decide(Sighting(record, NOW - 100).again(None, NOW), ME, None, NOW) is Action.CREATE
