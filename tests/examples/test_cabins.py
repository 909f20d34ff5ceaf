# SPDX-License-Identifier: Apache-2.0
"""The controller of cabins, tested as a user of the library would."""

from __future__ import annotations

import pytest
from cabins import Cabin, CabinSpec, CabinStatus, setup

from controller_runtime import ObjectKey, ObjectMeta
from controller_runtime.errors import Invalid
from controller_runtime.resources import DEPLOYMENTS
from controller_runtime.testing import EmbeddedCluster, Simulation

HUT = ObjectKey("hut", "default")


@pytest.fixture
def huts(cluster: EmbeddedCluster) -> EmbeddedCluster:
    cluster.run(setup)
    return cluster


def a_hut(beds: int) -> Cabin:
    return Cabin(CabinSpec(beds), metadata=ObjectMeta(name="hut", namespace="default"))


@pytest.mark.story
def test_a_cabin_has_a_deployment_with_one_replica_for_each_bed(huts: EmbeddedCluster, simulation: Simulation) -> None:
    huts.user.create(a_hut(3))
    simulation.settle()
    assert huts.user.get(DEPLOYMENTS, HUT, dict)["spec"]["replicas"] == 3

    huts.user.patch(Cabin, HUT, {"spec": {"beds": 4}})
    simulation.settle()
    assert huts.user.get(DEPLOYMENTS, HUT, dict)["spec"]["replicas"] == 4

    huts.user.delete(DEPLOYMENTS, HUT)
    simulation.settle()
    assert huts.user.get(DEPLOYMENTS, HUT, dict)["spec"]["replicas"] == 4


@pytest.mark.story
def test_the_status_counts_the_beds_that_are_ready(huts: EmbeddedCluster, simulation: Simulation) -> None:
    huts.user.create(a_hut(3))
    simulation.settle()
    assert huts.user.get(Cabin, HUT).status == CabinStatus(0)

    huts.user.patch(DEPLOYMENTS, HUT, {"status": {"replicas": 3, "readyReplicas": 2}}, subresource="status")
    simulation.settle()
    assert huts.user.get(Cabin, HUT).status == CabinStatus(2)


def test_a_cabin_with_twelve_beds_is_refused(huts: EmbeddedCluster) -> None:
    with pytest.raises(Invalid, match=r"spec\.beds: Invalid value: 12"):
        huts.user.create(a_hut(12))
