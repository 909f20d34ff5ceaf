# SPDX-License-Identifier: Apache-2.0
"""Replicas that seem to own slots and do no work: their slots go to others, as they once did not for 57 hours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.manager.scraping import value_of
from kit.ring.ringing import JOIN, OBJECTS, Replicas

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASES
from controller_runtime.manager.inspection import describe
from controller_runtime.manager.problems import STUCK_AFTER
from controller_runtime.ring.slots import SLOTS
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.ends


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    with Simulation(7) as sim:
        replicas = Replicas(sim)
        replicas.start("a")
        replicas.start("b")
        sim.advance(JOIN)
        assert replicas.owners() == {"a": 128, "b": 128}
        yield replicas


@pytest.mark.scenario("RG-09")
def test_a_replica_that_hangs_in_a_reconcile_keeps_that_slot_alone_and_the_others_go_where_work_is_done(
    replicas: Replicas,
) -> None:
    replicas.slow_down("a", 57 * 3600.0)

    replicas.sim.advance(STUCK_AFTER + 20.0)

    assert replicas.owners() == {"a": 0, "b": SLOTS - 1}
    assert "has been running" in describe(replicas.managers["a"])["rings"][0]["problem"]
    replicas.sim.crash(replicas.hosts["a"])  # as the kubelet does for /livez
    replicas.sim.advance(JOIN)
    assert replicas.owners() == {"b": SLOTS}


@pytest.mark.scenario("RG-10")
def test_a_frozen_replica_owns_nothing_after_a_lease_although_the_assignment_and_its_lease_name_it(
    replicas: Replicas,
) -> None:
    replicas.sim.pause(replicas.hosts["b"], 57 * 3600.0)

    replicas.sim.advance(19.0)

    assert replicas.rings["a"].ownership.owned.bit_count() == SLOTS
    assert value_of(replicas.managers["a"], "controller_runtime_ring_unclaimed_slots", ring="seers") == 0
    assert value_of(replicas.managers["a"], "controller_runtime_ring_members", ring="seers") == 1


def test_where_no_replica_works_the_assignment_stays(replicas: Replicas) -> None:
    for name in ("a", "b"):
        replicas.slow_down(name, 1e6)

    replicas.sim.advance(STUCK_AFTER + 20.0)

    assert replicas.owners() == {"a": 128, "b": 128}


@pytest.mark.scenario("RG-11")
def test_one_replica_has_all_slots_only_until_another_is_ready(replicas: Replicas) -> None:
    replicas.stops["b"].set()
    replicas.sim.advance(3.0)
    assert replicas.owners()["a"] == SLOTS

    for name in ("c", "d", "e"):
        replicas.start(name)
    replicas.sim.advance(JOIN)

    assert sorted(replicas.owners().values()) == [0, 64, 64, 64, 64]
    assert len(replicas.touch()) == 4


def test_a_replica_that_stops_hands_over_while_its_last_reconciles_run(replicas: Replicas) -> None:
    replicas.slow_down("b", 10.0)
    replicas.sim.advance(0.5)

    replicas.stops["b"].set()
    replicas.sim.advance(3.0)

    assert replicas.rings["a"].ownership.owned.bit_count() == SLOTS - 1
    replicas.sim.advance(10.0)
    assert replicas.rings["a"].ownership.owned.bit_count() == SLOTS


@pytest.mark.scenario("RG-12")
def test_the_lease_of_a_member_that_died_is_deleted_after_ten_leases(replicas: Replicas) -> None:
    replicas.sim.crash(replicas.hosts["b"])
    key = ObjectKey(replicas.rings["b"].member.identity, "default")

    replicas.sim.advance(149.0)
    assert key.name in {lease["metadata"]["name"] for lease in replicas.user.list(LEASES, "default", view=dict)}
    replicas.sim.advance(6.0)
    assert key.name not in {lease["metadata"]["name"] for lease in replicas.user.list(LEASES, "default", view=dict)}


def test_metrics_tell_who_owns_what_and_how_long_slots_had_no_owner(replicas: Replicas) -> None:
    def of(name: str, metric: str, **labels: str) -> float | None:
        return value_of(replicas.managers[name], f"controller_runtime_ring_{metric}", ring="seers", **labels)

    assert of("a", "slots") == 128
    assert of("a", "epoch") == replicas.rings["a"].member.epoch
    assert (of("a", "slot_changes_total", change="given") or 0) + (of("b", "slot_changes_total", change="taken") or 0)
    replicas.sim.crash(replicas.hosts["b"])
    before = of("a", "gap_seconds_count") or 0
    replicas.sim.advance(19.0)

    assert of("a", "slots") == 256
    assert of("a", "gap_seconds_count") == before + 128
    # The dead member may have owned them for ten seconds after its last renewal, and its lease lasts for fifteen.
    assert 3.0 * 128 <= (of("a", "gap_seconds_sum") or 0) <= 9.0 * 128
    assert replicas.touch() == {"a": OBJECTS}
