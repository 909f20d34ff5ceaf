# SPDX-License-Identifier: Apache-2.0
"""The leases of other members that vanish: their claims count until their members have stopped for certain."""

from __future__ import annotations

import attrs
import pytest

from controller_runtime.ring.decision import Sighting
from controller_runtime.ring.records import Claim
from controller_runtime.ring.sightings import Sightings

OTHER = Sighting("b", Claim(3, 0b110, is_ready=True), "1", 15.0, 100.0)


def known(*looks: tuple[float, Sighting | None]) -> list[Sighting]:
    """Return what is known after looks at these times, each with the other's lease or none."""
    sightings = Sightings()
    for now, found in looks:
        sightings.look({} if found is None else {"b": attrs.evolve(found, seen_at=now)}, now)
    return sightings.all


def test_the_claim_of_a_lease_that_vanished_counts_for_a_duration_from_the_look_that_misses_it() -> None:
    (kept,) = known((100.0, OTHER), (108.0, OTHER), (110.0, None))
    assert (kept.claim, kept.expires_at) == (OTHER.claim, 125.0)

    (kept,) = known((100.0, OTHER), (110.0, None), (112.0, None), (124.9, None))
    assert kept.expires_at == 125.0
    assert known((100.0, OTHER), (110.0, None), (125.0, None)) == []


@pytest.mark.parametrize(
    ("before", "looked_at"),
    [
        pytest.param(attrs.evolve(OTHER, claim=Claim(3, is_leaving=True)), 101.0, id="it had left"),
        pytest.param(OTHER, 115.0, id="it was silent for a duration before"),
    ],
)
def test_a_lease_that_vanished_is_forgotten_at_once_if_its_member_had_stopped(
    before: Sighting, looked_at: float
) -> None:
    assert known((100.0, before), (looked_at, before), (116.0, None)) == []


def test_a_lease_that_is_there_again_counts_by_what_it_says() -> None:
    later = attrs.evolve(OTHER, claim=Claim(4), version="2")

    assert known((100.0, OTHER), (110.0, None), (112.0, later)) == [attrs.evolve(later, seen_at=112.0)]
