# SPDX-License-Identifier: Apache-2.0
"""A member whose turns fail says so: its gauges count claims only as long as they count, and `/readyz` fails."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest
from kit.ring.ringing import JOIN, Replicas

from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.manager.health import health_of
from controller_runtime.manager.metrics import Metrics
from controller_runtime.manifests.deployment import deployment
from controller_runtime.manifests.settings import plain_settings
from controller_runtime.manifests.text import ABSENT
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.slots import SLOTS
from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    with Simulation(17) as sim:
        yield Replicas(sim)


def gauges(replicas: Replicas, name: str) -> tuple[float, float, float]:
    """Return the slots of a replica, those that it knows no owner of, and the members that it knows."""
    lines = Metrics(replicas.managers[name]).text().decode().splitlines()
    names = ("slots", "unclaimed_slots", "members")
    found = {
        line.partition("{")[0]: float(line.rpartition(" ")[2]) for line in lines if "_ring_" in line and line[0] != "#"
    }
    slots, unclaimed, members = (found[f"controller_runtime_ring_{each}"] for each in names)
    return slots, unclaimed, members


def readiness(replicas: Replicas, name: str) -> str:
    """Return why a replica is not ready for the sake of its ring; empty if it is."""
    return health_of(replicas.managers[name]).ready["rings"]()


@pytest.mark.scenario("RG-21")
def test_replicas_that_cannot_renew_show_slots_without_an_owner_and_are_not_ready(replicas: Replicas) -> None:
    for name in ("a", "b"):
        replicas.start(name)
    replicas.sim.advance(JOIN)
    assert gauges(replicas, "a") == (128, 0, 2)
    assert readiness(replicas, "a") == ""

    for name in ("a", "b"):
        replicas.network.cut(name, 300.0)
    replicas.sim.advance(12.0)
    assert readiness(replicas, "a") == ""  # a member may miss some turns
    replicas.sim.advance(20.0)
    for name in ("a", "b"):
        assert gauges(replicas, name) == (0, SLOTS, 1)
        assert readiness(replicas, name).startswith("ring/seers: no turn has succeeded for 3")


def test_a_replica_is_not_ready_before_its_first_turn_nor_while_a_foreign_object_is_in_its_way(
    replicas: Replicas,
) -> None:
    replicas.user.create(CONFIG_MAPS, {"metadata": {"name": "seers-ring"}, "data": {"x": "1"}}, "default")
    replicas.start("a")
    assert readiness(replicas, "a") == "ring/seers: no turn has succeeded yet"
    replicas.sim.advance(5.0)
    assert "no turn has succeeded yet: the ConfigMap default/seers-ring is not the ring's" in readiness(replicas, "a")


def test_a_rollout_of_a_ring_waits_for_each_new_replica_as_long_as_it_may_own_nothing() -> None:
    settings = plain_settings("huts", namespace="huts-system", image="huts:1.0", replicas=3)

    (field,) = (each for each in attrs.fields(RingConfig) if each.name == "lease_duration")
    assert deployment(attrs.evolve(settings, ring_by=RingBy.NAME))["spec"]["minReadySeconds"] == field.default
    assert deployment(settings)["spec"]["minReadySeconds"] is ABSENT
