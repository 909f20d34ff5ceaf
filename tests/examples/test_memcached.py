# SPDX-License-Identifier: Apache-2.0
"""The memcached operator, tested as a user of the library would."""

from __future__ import annotations

from typing import Any

import pytest
from memcached import Memcached, MemcachedSpec, setup

from controller_runtime import ObjectKey, ObjectMeta
from controller_runtime.conditions import condition_of
from controller_runtime.errors import NotFound
from controller_runtime.resources import DEPLOYMENTS, SERVICES
from controller_runtime.testing import EmbeddedCluster, Simulation

pytestmark = pytest.mark.story

SAMPLE = ObjectKey("sample", "default")


@pytest.fixture
def memcached(cluster: EmbeddedCluster) -> EmbeddedCluster:
    cluster.run(setup)
    cluster.user.create(Memcached(MemcachedSpec(size=2), metadata=ObjectMeta(name="sample", namespace="default")))
    return cluster


def readiness(cluster: EmbeddedCluster) -> tuple[Any, ...]:
    found = condition_of(cluster.user.get(Memcached, SAMPLE), "Ready")
    return (None,) if found is None else (found["status"], found["reason"], found["message"])


def roll_out(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    """Wait for the deployment, and write the status that the deployment controller would write."""
    simulation.settle()
    deployment = cluster.user.get(DEPLOYMENTS, SAMPLE, dict)
    size = deployment["spec"]["replicas"]
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    conditions = [
        {"type": "Available", "status": "True"},
        {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
    ]
    observed = {"observedGeneration": deployment["metadata"]["generation"], "conditions": conditions}
    cluster.user.patch(
        DEPLOYMENTS, SAMPLE, {"status": {**dict.fromkeys(names, size), **observed}}, subresource="status"
    )
    simulation.settle()


def test_the_service_follows_when_the_deployment_is_ready(memcached: EmbeddedCluster, simulation: Simulation) -> None:
    simulation.settle()
    assert memcached.user.get(DEPLOYMENTS, SAMPLE, dict)["spec"]["replicas"] == 2
    assert memcached.user.list(SERVICES, view=dict) == []
    assert readiness(memcached) == (
        "False",
        "NotReady",
        "Deployment default/sample: 0 of 2 replicas are created; "
        "Service default/sample: waits for Deployment default/sample",
    )

    roll_out(memcached, simulation)

    assert memcached.user.get(SERVICES, SAMPLE, dict)["spec"]["ports"][0]["port"] == 11211
    assert readiness(memcached) == ("True", "Ready", "2 objects are ready")


def test_a_service_that_is_not_exposed_any_more_goes(memcached: EmbeddedCluster, simulation: Simulation) -> None:
    roll_out(memcached, simulation)

    memcached.user.patch(Memcached, SAMPLE, {"spec": {"exposed": False}})
    simulation.settle()

    with pytest.raises(NotFound):
        memcached.user.get(SERVICES, SAMPLE)
    assert readiness(memcached) == ("True", "Ready", "1 object is ready")


def test_a_change_of_the_size_is_rolled_out(memcached: EmbeddedCluster, simulation: Simulation) -> None:
    roll_out(memcached, simulation)

    memcached.user.patch(Memcached, SAMPLE, {"spec": {"size": 3}})
    simulation.settle()

    assert memcached.user.get(DEPLOYMENTS, SAMPLE, dict)["spec"]["replicas"] == 3
    assert readiness(memcached)[0] == "False"

    roll_out(memcached, simulation)

    assert readiness(memcached) == ("True", "Ready", "2 objects are ready")
