# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle: killed after any of its writes, the next one ends in the same state."""

from __future__ import annotations

from typing import Any

import pytest
from lifecycle_cluster import LifecycleCluster

from controller_runtime.api.resources import NODES, PODS
from controller_runtime.api.wire import HTTPRequest
from controller_runtime.client.faults import CutReply, Fault
from controller_runtime.testing.simulation import Simulation

WRITES = 10
"""What it takes without a kill: a taint of each new node, conditions, taints, three pods, no taints; and one spare."""


def without_times(node: dict[str, Any]) -> dict[str, Any]:
    taints = [(t["key"], t["effect"]) for t in node.get("spec", {}).get("taints", [])]
    conditions = {c["type"]: (c["status"], c.get("reason")) for c in node["status"].get("conditions", [])}
    return {"taints": sorted(taints), "conditions": conditions}


def end_state(cluster: LifecycleCluster) -> dict[str, Any]:
    nodes = {n["metadata"]["name"]: without_times(n) for n in cluster.world.list(NODES, view=dict)}
    pods = {p["metadata"]["name"]: cluster.pod_ready(p["metadata"]["name"])["status"] for p in pods_of(cluster)}
    return {"nodes": nodes, "pods": pods}


def pods_of(cluster: LifecycleCluster) -> list[dict[str, Any]]:
    return cluster.world.list(PODS, view=dict)


def play(sim: Simulation, kill_after: int | None) -> tuple[dict[str, Any], dict[str, Any], int]:
    """A node dies and returns; the state in between and at the end, and how many writes that took."""
    cluster = LifecycleCluster(sim)
    cluster.healthy("a", "b", "c")
    for name in ("p", "q", "r"):
        cluster.pod(name, "a")
    count = 0

    def fault(request: HTTPRequest) -> Fault | None:
        nonlocal count
        if request.method == "GET" or "/events" in request.path:
            return None
        count += 1
        if count != kill_after:
            return None
        cluster.killed = True
        return CutReply()  # it is done, and whoever asked for it does not live to hear of it

    cluster.fault = fault
    cluster.start()
    cluster.silence("a")
    for _ in range(100):
        cluster.run(2.0)
        if cluster.killed:
            cluster.kill()
            cluster.start()
    dead = end_state(cluster)
    cluster.live("a")
    cluster.run(60.0)
    if cluster.killed:
        cluster.kill()
        cluster.start()
        cluster.run(60.0)
    alive = end_state(cluster)
    cluster.end()
    return dead, alive, count


@pytest.mark.parametrize("kill_after", range(1, WRITES + 1))
def test_killed_after_any_write_the_end_is_the_same(kill_after: int) -> None:
    with Simulation() as sim:
        expected = play(sim, None)
    with Simulation() as sim:
        found = play(sim, kill_after)

    assert expected[2] == WRITES - 1
    assert found[:2] == expected[:2]
