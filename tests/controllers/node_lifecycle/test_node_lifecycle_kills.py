# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle and taint eviction, killed at any of their writes: the next processes reach the same state."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import pytest
from kit.controllers.lifecycle_cluster import LifecycleCluster

from apimachinery.http import HTTPRequest
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.testing.faults import CutReply, Fault, Refused
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.once

WRITES = (
    *["PATCH nodes/a", "PATCH nodes/b", "PATCH nodes/c"],  # the taint of each new node
    *["PATCH nodes/a/status", "PATCH nodes/a"],  # the node is silent
    *["PATCH pods/leaves/status", "PATCH pods/stays/status", "PATCH pods/waits/status"],
    *["PATCH pods/leaves/status", "DELETE pods/leaves"],
    "PATCH nodes/a",  # the node is back
)
"""The writes of a run without a kill."""


def tolerates(seconds: int | None) -> list[dict[str, Any]]:
    end = {} if seconds is None else {"tolerationSeconds": seconds}
    return [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", **end}]


@attrs.define
class Killer:
    """Kills the controllers at one of their writes, which is done or not.

    Attributes:
        at: The number of that write, counted from 1; None to kill at none.
        fault: The fault of that write; its answer never reaches the killed controllers.
        seen: All writes so far.
    """

    cluster: LifecycleCluster
    at: int | None
    fault: Fault
    seen: list[str] = attrs.field(factory=list)

    def __call__(self, request: HTTPRequest) -> Fault | None:
        if request.method == "GET" or "/events" in request.path:
            return None
        self.seen.append(
            f"{request.method} {request.path.removeprefix('/api/v1/').removeprefix('namespaces/default/')}"
        )
        if len(self.seen) != self.at:
            return None
        self.cluster.killed = True
        return self.fault


def state(cluster: LifecycleCluster) -> dict[str, Any]:
    """Return the nodes and pods, without times."""
    found: dict[str, Any] = {}
    for each in (*cluster.world.list(NODES, view=dict), *cluster.world.list(PODS, view=dict)):
        conditions = {c["type"]: (c["status"], c.get("reason")) for c in each["status"].get("conditions", [])}
        taints = sorted((t["key"], t["effect"]) for t in each["spec"].get("taints", []))
        found[each["metadata"]["name"]] = conditions, taints, "deletionTimestamp" in each["metadata"]
    return found


def play(sim: Simulation, kill_at: int | None, fault: Fault) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Let a node die and return, and return the states in between and at the end, and the writes."""
    cluster = LifecycleCluster(sim, evicts=True)
    cluster.healthy("a", "b", "c")
    for name, seconds in [("leaves", 20), ("stays", None), ("waits", 1000)]:
        cluster.pod(name, "a", tolerations=tolerates(seconds))
    cluster.fault = killer = Killer(cluster, kill_at, fault)

    def run(seconds: float) -> None:
        for _ in range(int(seconds / 2)):
            cluster.run(2.0)
            if cluster.killed:
                cluster.kill()
                cluster.start()

    cluster.start()
    cluster.silence("a")
    run(200.0)
    dead = state(cluster)
    cluster.live("a")
    run(120.0)
    alive = state(cluster)
    cluster.end()
    return dead, alive, killer.seen


@pytest.mark.parametrize("fault", [pytest.param(CutReply(), id="done"), pytest.param(Refused(), id="not done")])
@pytest.mark.parametrize("kill_at", range(1, len(WRITES) + 1))
def test_killed_at_any_write_the_end_is_the_same(kill_at: int, fault: Fault) -> None:
    with Simulation() as sim:
        *expected, writes = play(sim, None, fault)
    with Simulation() as sim:
        *found, _ = play(sim, kill_at, fault)

    more = Counter(writes) - Counter(WRITES)
    assert Counter(WRITES) <= Counter(writes)
    assert set(more) <= {"PATCH nodes/a"}, "of a cache that is behind: refused, for it names an old version"
    assert [leaving for _, _, leaving in map(expected[0].get, ("leaves", "stays", "waits"))] == [True, False, False]
    assert found == expected
