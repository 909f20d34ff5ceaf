# SPDX-License-Identifier: Apache-2.0
"""Pods that wait for a node get one when capacity is free again."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.api.builtin_resources import JOBS
from controller_runtime.resources import PODS
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.once


def a_job(completions: int, cores: str) -> dict[str, Any]:
    container = {"name": "c", "image": "example.com/c", "resources": {"requests": {"cpu": cores}}}
    pod = {"restartPolicy": "Never", "containers": [container]}
    spec = {"completions": completions, "parallelism": completions, "template": {"spec": pod}}
    return {"metadata": {"name": "job", "namespace": "default"}, "spec": spec}


@pytest.mark.embedded_cluster(workloads=True)
def test_a_pod_that_ends_makes_room_for_those_that_wait(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.start()
    cluster.user.create(JOBS, a_job(5, "8"))
    simulation.advance(60.0)

    pods = cluster.user.list(PODS, view=dict)
    assert [each["status"]["phase"] for each in pods] == ["Succeeded"] * 5
