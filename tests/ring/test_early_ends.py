# SPDX-License-Identifier: Apache-2.0
"""Memberships that a hand ends before their deadline: slots whose writes may land yet are not given away till then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.ring.ringing import JOIN, Replicas

from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import LEASES
from controller_runtime.ring.records import CLAIM, Claim, annotations_of
from controller_runtime.ring.slots import SLOTS
from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    with Simulation(13) as sim:
        yield Replicas(sim)


@pytest.mark.parametrize("what", ["the lease", "the claim", "the assignment"])
def test_a_member_that_begins_again_claims_the_slots_of_its_work_in_hand_until_its_old_deadline(
    replicas: Replicas, what: str
) -> None:
    for name in ("a", "b"):
        replicas.start(name)
    replicas.sim.advance(JOIN)
    replicas.slow_down("b", 60.0)
    replicas.sim.advance(0.5)
    (slot,) = (each for each in range(SLOTS) if replicas.rings["b"].ownership.in_hand >> each & 1)
    own, term = replicas.rings["b"].member.identity, replicas.rings["b"].ownership.term
    assert term is not None
    until = term.held.until

    lease = ObjectKey(own, "default")
    match what:
        case "the lease":
            replicas.user.delete(LEASES, lease)
        case "the claim":
            replicas.user.patch(LEASES, lease, {"metadata": {"annotations": {CLAIM: None}}})
        case _:
            replicas.user.delete(CONFIG_MAPS, ObjectKey("seers-ring", "default"))
    changes = [replicas.rings["b"].member.status.counts().changes]
    seen = False
    while replicas.hosts["b"].monotonic() < until - 0.5:
        replicas.sim.advance(0.1)
        assert not replicas.rings["a"].ownership.owns(slot)
        text = annotations_of(replicas.user.get(LEASES, lease, dict)).get(CLAIM)
        seen = seen or (term.is_over() and text is not None and Claim.from_text(text).slots == 1 << slot)
    assert seen, "the new membership claims that slot alone"
    replicas.sim.advance(3.0)
    assert not Claim.from_text(annotations_of(replicas.user.get(LEASES, lease, dict))[CLAIM]).slots >> slot & 1
    changes.append(replicas.rings["b"].member.status.counts().changes)
    assert changes[1]["lost"] == changes[0]["taken"] - changes[0]["given"]
    assert changes[1]["given"] == changes[0]["given"], "a slot that was lost is not given, too"


def test_a_claim_that_a_hand_takes_out_of_a_lease_counts_as_long_as_its_member_may_work(replicas: Replicas) -> None:
    replicas.start("a")
    cut = replicas.start("b")
    replicas.sim.advance(JOIN)

    replicas.network.cut("b", 60.0)
    key = ObjectKey(cut.member.identity, "default")
    replicas.user.patch(LEASES, key, {"metadata": {"annotations": {CLAIM: None}}})

    while cut.ownership.owned:
        replicas.owners()  # no slot has two owners
        replicas.sim.advance(0.25)
    replicas.sim.advance(8.0)
    assert replicas.owners()["a"] == SLOTS
