# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle: the health of one node, row by row."""

from __future__ import annotations

import pytest
from lifecycle_cluster import LifecycleCluster

from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def cluster(sim: Simulation) -> LifecycleCluster:
    return LifecycleCluster(sim)


@pytest.mark.scenario("F-05")
def test_exactly_the_grace_is_not_silence_and_more_is(cluster: LifecycleCluster) -> None:
    """After 50 s of silence nothing is written; after more, Ready is Unknown with its old heartbeat time."""
    cluster.healthy("a", "b")
    cluster.start()
    cluster.silence("a")
    before = cluster.condition("a")

    cluster.run(50.0)
    assert cluster.status("a") == "True"
    cluster.run(0.1)

    after = cluster.condition("a")
    assert after["status"] == "Unknown"
    assert (after["reason"], after["message"]) == ("NodeStatusUnknown", "Kubelet stopped posting node status.")
    assert after["lastHeartbeatTime"] == before["lastHeartbeatTime"]
    assert [cluster.status("a", kind) for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")] == ["Unknown"] * 3
    assert cluster.taints("a") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    assert cluster.taints("b") == []
    cluster.end()
