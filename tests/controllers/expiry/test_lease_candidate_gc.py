# SPDX-License-Identifier: Apache-2.0
"""The garbage collector of candidates on a server."""

from __future__ import annotations

from typing import Any

import pytest
from kit.controllers.electing import BROKEN, World

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASE_CANDIDATES
from controller_runtime.testing.simulation import Simulation
from controllers.expiry.lease_candidate_gc import lease_candidate_gc

HALF_AN_HOUR = 1800.0


def world_of(sim: Simulation, **ages: float | None) -> World:
    world = World(sim, lease_candidate_gc, start=False)
    for name, age in ages.items():
        world.candidate(name, age=age)
    return world


def left(world: World) -> list[str]:
    found: list[dict[str, Any]] = world.client.list(LEASE_CANDIDATES, view=dict)
    return sorted(one["metadata"]["name"] for one in found)


@pytest.mark.scenario("D-34", "CE-13")
def test_candidates_of_half_an_hour_ago_are_deleted_after_a_look(sim: Simulation) -> None:
    """Two of three candidates, which have expired in the cache and at the server, are deleted."""
    world = world_of(sim, a=HALF_AN_HOUR + 1, b=HALF_AN_HOUR + 60, c=0.0)

    world.start()

    assert left(world) == ["c"]
    assert sorted(world.asked) == [f"{verb} leasecandidates/{name}" for verb in ("DELETE", "GET") for name in "ab"]
    world.end()


@pytest.mark.scenario("D-35")
def test_a_candidate_is_kept_for_exactly_half_an_hour(sim: Simulation) -> None:
    """At 30 min it is there, and just after it is not."""
    world = world_of(sim, a=HALF_AN_HOUR)
    world.start()
    assert left(world) == ["a"]

    sim.advance(0.002)

    assert left(world) == []
    world.end()


@pytest.mark.scenario("D-34", "CE-13")
@pytest.mark.parametrize("before", ["GET", "DELETE"])
def test_a_renewal_that_the_cache_has_not_seen_saves_a_candidate(sim: Simulation, before: str) -> None:
    """The renewal may come before the candidate is read from the server or after."""
    world = world_of(sim, a=HALF_AN_HOUR + 1)
    world.before[before] = lambda: world.renew("a")

    world.start()
    sim.advance(1.0)

    assert left(world) == ["a"]
    assert world.controller.errors == 0
    world.end()


def test_a_candidate_that_never_renewed_itself_has_half_an_hour_from_its_creation(sim: Simulation) -> None:
    world = world_of(sim, a=None)
    world.start()

    sim.advance(HALF_AN_HOUR - 1)
    assert left(world) == ["a"]
    sim.advance(2.0)

    assert left(world) == []
    world.end()


def test_one_that_cannot_be_read_or_was_deleted_keeps_no_other(sim: Simulation) -> None:
    world = world_of(sim, a=HALF_AN_HOUR + 1, b=HALF_AN_HOUR + 1, c=HALF_AN_HOUR + 1)
    world.faults["GET leasecandidates/a"] = BROKEN
    world.before["DELETE"] = lambda: world.client.delete(LEASE_CANDIDATES, ObjectKey("b", "default"))

    world.start()
    assert left(world) == ["a"]

    world.faults.clear()
    sim.advance(60.0)
    assert left(world) == []
    world.end()
