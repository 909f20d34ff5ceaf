# SPDX-License-Identifier: Apache-2.0
"""Workloads reach their end state as the manager of a cluster: tests that `pytest --perturb` runs again and again."""

from __future__ import annotations

from typing import Any

import pytest
from kit.controllers.workload_stories import FAILS, image, job, workload

from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import DAEMON_SETS, DEPLOYMENTS, JOBS, REPLICA_SETS, STATEFUL_SETS
from controller_runtime.api.resources import PODS, Resource
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation
from controllers.workloads.workloads import add_workloads

pytestmark = [pytest.mark.embedded_cluster(garbage_collection=True), pytest.mark.story]
WEB = ObjectKey("web", "default")


def setup(manager: Manager) -> None:
    """Run the workloads over one node, so that the node of a pod is the same in every run."""
    add_workloads(manager, nodes=1)


def images(cluster: EmbeddedCluster) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in cluster.user.list(PODS, view=dict)]


def status_of(cluster: EmbeddedCluster, resource: Resource[Any], name: str = "web") -> dict[str, Any]:
    status: dict[str, Any] = cluster.user.get(resource, ObjectKey(name, "default"), dict)["status"]
    return status


def test_a_deployment_rolls(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(DEPLOYMENTS, workload(), "default")
    simulation.advance(30.0)
    cluster.user.patch(DEPLOYMENTS, WEB, image("app:2"))
    simulation.advance(60.0)

    assert images(cluster) == ["app:2"] * 3
    assert [each["spec"]["replicas"] for each in cluster.user.list(REPLICA_SETS, view=dict)].count(3) == 1


def test_a_replica_set_grows_and_shrinks(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(REPLICA_SETS, workload(replicas=2), "default")
    simulation.advance(30.0)
    cluster.user.patch(REPLICA_SETS, WEB, {"spec": {"replicas": 4}})
    simulation.advance(30.0)
    cluster.user.patch(REPLICA_SETS, WEB, {"spec": {"replicas": 1}})
    simulation.advance(60.0)

    assert len(cluster.user.list(PODS)) == 1
    assert status_of(cluster, REPLICA_SETS)["readyReplicas"] == 1


def test_a_stateful_set_rolls(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(STATEFUL_SETS, workload(replicas=2, serviceName="web"), "default")
    simulation.advance(30.0)
    cluster.user.patch(STATEFUL_SETS, WEB, image("app:2"))
    simulation.advance(60.0)

    assert images(cluster) == ["app:2"] * 2
    assert status_of(cluster, STATEFUL_SETS)["updatedReplicas"] == 2


def test_a_daemon_set_rolls(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(add_workloads)
    cluster.user.create(DAEMON_SETS, workload(replicas=None), "default")
    simulation.advance(30.0)
    cluster.user.patch(DAEMON_SETS, WEB, image("app:2"))
    simulation.advance(60.0)

    assert images(cluster) == ["app:2"] * 3
    assert status_of(cluster, DAEMON_SETS)["updatedNumberScheduled"] == 3


def test_a_job_completes(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(JOBS, job(completions=3, parallelism=2), "default")
    simulation.advance(300.0)

    assert status_of(cluster, JOBS, "work")["succeeded"] == 3


def test_a_job_fails(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(JOBS, job(backoffLimit=1, annotations=FAILS), "default")
    simulation.advance(600.0)

    assert status_of(cluster, JOBS, "work")["failed"] == 2
