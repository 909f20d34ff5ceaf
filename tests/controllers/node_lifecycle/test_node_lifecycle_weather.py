# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle and taint eviction under random faults: no live node is evicted, and dead ones are evicted in time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import hypothesis
import hypothesis.strategies as st
import pytest
from kit.controllers.lifecycle_cluster import PREFIX, LifecycleCluster

from apimachinery.errors import NotFound
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import PODS
from controller_runtime.testing.faults import CutReply, Fault, Refused, SilentStream
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.once

NODES = {"a-1": "a", "a-2": "a", "a-3": "a", "b-1": "b", "b-2": "b", "b-3": "b"}
GRACE = 50.0
TOLERATED = 5
BOUND = 2 * GRACE + 10.0 * len(NODES) + TOLERATED + 5.0
"""Seconds within which the pods of a dead node are deleted in a normal zone: a grace period, which starts again if the
controller was restarted or all nodes were silent; 10 s for each node that may be before it; and the toleration."""
SILENT_AFTER = len(NODES) + 1
"""Lines of a streamed list of all leases; later lines are changes."""
EVICTED = {"effect": "NoExecute"}
OURS = {f"{PREFIX}not-ready", f"{PREFIX}unreachable"}


class Weather(LifecycleCluster):
    """Checks each write of the controllers, and makes some of their requests fail.

    Attributes:
        heard: When each node's last sign of life reached the server.
        wrong: Evictions of nodes with a sign of life within the grace period, and of pods on nodes without a taint.
    """

    def __init__(self, sim: Simulation) -> None:
        super().__init__(sim, evicts=True)
        self.heard: dict[str, float] = {}
        self.wrong: list[str] = []
        self.weather: Callable[[HTTPRequest], Fault | None] = lambda request: None
        self.fault = self._watched

    def renew(self, name: str, at: float = 0.0) -> None:
        super().renew(name, at)
        self.heard[name] = self.sim.time

    def post(self, name: str, skew: float = 0.0, **says: str) -> None:
        super().post(name, skew, **says)
        self.heard[name] = self.sim.time

    def _watched(self, request: HTTPRequest) -> Fault | None:
        fault = self.weather(request)
        name = request.path.rpartition("/nodes/")[2]
        if request.method == "PATCH" and name in NODES and not isinstance(fault, Refused):
            self._judge(name, json.loads(request.body))
        _, is_pod, of_node = request.path.rpartition("/pods/of-")
        if request.method == "DELETE" and is_pod and of_node not in self.evicted():
            self.wrong.append(f"{request.path} at {self.sim.time:.1f}, with taints {self.taints(of_node)}")
        return fault

    def place_pod(self, node: str) -> None:
        """Create a pod on a node, in place of the one before."""
        with contextlib.suppress(NotFound):
            self.world.delete(PODS, ObjectKey(f"of-{node}", "default"), grace_period_seconds=0)
        self.pod(f"of-{node}", node, tolerations=[{"operator": "Exists", "tolerationSeconds": TOLERATED, **EVICTED}])

    def leaving(self) -> set[str]:
        """Return the nodes whose pods are being deleted."""
        pods = self.world.list(PODS, view=dict)
        return {pod["spec"]["nodeName"] for pod in pods if "deletionTimestamp" in pod["metadata"]}

    def _judge(self, name: str, patch: dict[str, dict[str, object]]) -> None:
        try:
            node = self.read(name)
        except NotFound:
            return
        if patch["metadata"]["resourceVersion"] != node["metadata"]["resourceVersion"]:
            return  # it will be refused
        before, after = (self._evicts(spec.get("taints")) for spec in (node["spec"], patch.get("spec", {})))
        silence = self.sim.time - self.heard[name]
        if after and not before and silence <= GRACE:
            self.wrong.append(f"{name} at {self.sim.time:.1f}, silent for {silence:.1f} s")

    @staticmethod
    def _evicts(taints: object) -> bool:
        found = taints if isinstance(taints, list) else []
        return any(t["key"] in OURS and t["effect"] == "NoExecute" for t in found)

    def act(self, what: str, node: str, seconds: float) -> None:
        """Carry out an action, then let time pass."""
        alive = node in self.kubelets
        match what:
            case "silence" if alive:
                self.silence(node)
            case "return" if not alive:
                self.live(node)
            case "renew only" if not alive:
                self.live(node, posts=None)
            case "restart":
                self.kill()
                self.weather = lambda request: None  # otherwise its caches may never fill, and it gives up
                self.start()
            case "restart, deaf":  # its watches of leases are silent, and it does not notice
                self.kill()
                self.weather = lambda request: SilentStream(SILENT_AFTER) if self._is_lease_watch(request) else None
                self.start()
            case "cut":
                self.weather = lambda request: Refused()
            case "cut replies":
                self.weather = lambda request: CutReply() if request.method == "PATCH" else None
            case "fair":
                self.weather = lambda request: None
            case "jump":
                self.sim.jump(self.controller, 100.0 * (seconds - 20.0))
            case "freeze":
                self.sim.pause(self.controller, 3 * seconds)
        self.run(seconds)

    @staticmethod
    def _is_lease_watch(request: HTTPRequest) -> bool:
        return "/leases" in request.path and any(name == "watch" for name, _ in request.query)


WHAT = (
    "silence", "silence", "return", "renew only", "restart", "restart, deaf", "cut", "cut replies", "fair", "jump",
    "freeze",
)  # fmt: skip
ACTS = st.lists(st.tuples(st.sampled_from(WHAT), st.sampled_from(sorted(NODES)), st.floats(0.1, 40.0)), max_size=14)


# Without shrinking: an example takes a fraction of a second, and there would be hundreds.
@hypothesis.settings(max_examples=20, phases=[hypothesis.Phase.reuse, hypothesis.Phase.generate])
@hypothesis.given(ACTS)
def test_whoever_renews_is_never_evicted_and_whoever_is_dead_is_in_time(acts: list[tuple[str, str, float]]) -> None:
    with Simulation() as sim:
        cluster = Weather(sim)
        for name, zone in NODES.items():
            cluster.healthy(name, zone=zone)
            cluster.place_pod(name)
        cluster.start()

        for act in acts:
            cluster.act(*act)
        cluster.weather = lambda request: None
        for name in NODES:
            cluster.place_pod(name)
        cluster.silence(*[name for name in ("a-1",) if name in cluster.kubelets])
        cluster.live(*[name for name in NODES if name != "a-1"])
        cluster.run(200.0)  # the effects of a cut stream are over
        cluster.run(BOUND)

        assert cluster.wrong == []
        assert "a-1" in cluster.leaving()
        assert cluster.evicted() == ["a-1"]
        cluster.end()
