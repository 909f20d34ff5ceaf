# SPDX-License-Identifier: Apache-2.0
"""The actions of a script that ran on four clusters of Kubernetes 1.36.2, to repeat them here, and its recordings.

There are two recordings of the same runs: one of the nodes, and one of the pods and events.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES, PODS
from kit.controllers.lifecycle_cluster import CONDITIONS, LifecycleCluster

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
ENTRIES, OF_PODS = (
    [json.loads(line) for line in (RECORDINGS / f"node-lifecycle-{what}-1.36.2.jsonl").read_text().splitlines()]
    for what in ("nodes", "pods")
)

Act = Callable[[LifecycleCluster], object]


def nodes(*names: str, **kubelet: Any) -> Act:
    """Register healthy nodes; their zone is in the recording."""

    def act(cluster: LifecycleCluster) -> None:
        for name in names:
            cluster.node(name, zone_of(name))
        cluster.live(*names, **kubelet)

    return act


def zone_of(name: str) -> str:
    return next((e["zone"] for e in ENTRIES if e.get("node") == name and "zone" in e), "")


def start(cluster: LifecycleCluster) -> None:
    cluster.start()


def kill(cluster: LifecycleCluster) -> None:
    cluster.kill()


def silent(*names: str) -> Act:
    return lambda cluster: cluster.silence(*names)


def back(*names: str, **kubelet: Any) -> Act:
    return lambda cluster: cluster.live(*names, **kubelet)


def says(name: str, **conditions: str) -> Act:
    """Change what the kubelet of a node posts, and post it at once."""

    def act(cluster: LifecycleCluster) -> None:
        kubelet = cluster.kubelets[name]
        kubelet.says = {**kubelet.says, **conditions}
        cluster.post(name, **kubelet.says)  # type: ignore[arg-type]

    return act


def adds(name: str, **conditions: str) -> Act:
    return lambda cluster: cluster.post(name, **conditions)  # type: ignore[arg-type]


def edits(name: str, **spec: Any) -> Act:
    return lambda cluster: cluster.world.patch(NODES, ObjectKey(name), {"spec": spec})


def taint(text: str) -> dict[str, str]:
    key, effect = text.split(":")
    key, _, value = key.partition("=")
    return {"key": key if value else f"node.kubernetes.io/{key}", "value": value, "effect": effect}


def toleration(text: str) -> dict[str, Any]:
    """Parse `key:Effect Ns`."""
    which, _, seconds = text.partition(" ")
    key, effect = which.split(":")
    made = {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    return {**made, "tolerationSeconds": int(seconds[:-1])} if seconds else made


def placed(name: str, node: str, tolerations: list[str]) -> Act:
    """Create a pod; its kubelet reports a moment later that it is ready."""

    def act(cluster: LifecycleCluster) -> None:
        cluster.pod(name, node, None, [*map(toleration, tolerations)])
        cluster.sim.settle()
        if not name.endswith("-noready"):
            cluster.pod_says(name, "True")

    return act


def removed(name: str) -> Act:
    return lambda cluster: cluster.world.delete(PODS, ObjectKey(name, "default"), grace_period_seconds=0)


def tainted(name: str, *taints: str) -> Act:
    return edits(name, taints=[taint(each) for each in taints])


def deleted(*names: str) -> Act:
    def act(cluster: LifecycleCluster) -> None:
        for name in names:
            cluster.world.delete(NODES, ObjectKey(name))
            cluster.kubelets.pop(name, None)

    return act


def mute(name: str, **kubelet: Any) -> Act:
    """Change the behaviour of a kubelet."""

    def act(cluster: LifecycleCluster) -> None:
        for field, value in kubelet.items():
            setattr(cluster.kubelets[name], field, value)

    return act


def made(name: str) -> Act:
    return lambda cluster: cluster.node(name, zone_of(name))


def without_ready(cluster: LifecycleCluster) -> None:
    node = cluster.read("l7-1")
    kept = [c for c in node["status"]["conditions"] if c["type"] == "MemoryPressure"]
    del cluster.kubelets["l7-1"]
    patch = {"status": {"conditions": kept}}
    cluster.world.patch(NODES, ObjectKey("l7-1"), patch, subresource="status")


def excluded(cluster: LifecycleCluster) -> None:
    cluster.node("u-7", "zone-c", labels={"node.kubernetes.io/exclude-disruption": ""})
    cluster.live("u-7")


TWELVE = tuple(f"{zone}-{index}" for zone in "abc" for index in range(1, 5))
L = 0.4  # the kubelets' beats are a little after the tens of seconds
SCRIPTS: dict[str, list[tuple[float, Act]]] = {
    "a": [
        (L, nodes(*TWELVE)), (5.0, start), (30.0, silent("a-1")), (430.2, back("a-1")),
        (480.0, silent("a-1", "a-2", "a-3", "a-4")), (590.0, silent(*TWELVE[4:])), (700.2, back("b-1")),
        (800.2, back(*(n for n in TWELVE if n != "b-1"))),
    ],
    "b": [
        (L, nodes(*(f"w-{z}{i}" for z in "abc" for i in range(1, 6)))),
        (L, nodes("l2-1", "l7-1", "l7-2", "l7-3", "l9-1", "l9-2", "l4-1")),
        (L, nodes("l4-2", posts=20.0)), (L, nodes("l4-3", posts=120.0)),
        (5.0, start),
        (30.2, says("l2-1", Ready="False")),
        (30.2, mute("l4-1", posts=None)), (30.2, mute("l4-2", renews=None)),
        (30.2, mute("l4-3", renews=None, next_post=150.1)),
        (32.0, made("l3-1")), (32.0, made("l3-2")), (32.0, back("l3-2", posts=None)),
        (35.0, edits("l7-1", unschedulable=True)),
        (40.0, tainted("l7-2", "dedicated=x:NoSchedule", "dedicated=x:NoExecute")),
        (45.2, says("l7-2", MemoryPressure="True")), (55.0, edits("l7-1", unschedulable=None)),
        (65.1, says("l7-2", MemoryPressure="False", DiskPressure="True", PIDPressure="True")),
        (80.1, says("l7-2", DiskPressure="False", PIDPressure="False")),
        (85.0, adds("l7-2", NetworkUnavailable="True")), (95.0, adds("l7-2", NetworkUnavailable="False")),
        (100.1, says("l2-1", Ready="True")),
        (120.0, tainted("l7-3", "unschedulable:NoSchedule", "unreachable:NoExecute")),
        (130.1, says("l2-1", Ready="False")), (136.0, without_ready), (140.0, silent("l2-1")),
        (180.2, back("l3-1", "l3-2")), (200.0, silent("l9-1")), (215.0, silent("l9-2")), (225.0, back("l7-1")),
        (235.0, deleted("l9-2")), (240.0, made("l9-2")),
        (260.1, back("l2-1", says=dict.fromkeys(CONDITIONS, "False"))),
        (285.0, deleted("l9-1")), (290.1, says("l2-1", Ready="True")),
        (310.0, made("l9-3")), (360.0, deleted("l9-3")), (365.0, made("l9-3")),
        (400.0, deleted("l9-2", "l9-3")), (420.2, back("l4-1", "l4-2", "l4-3")),
    ],
    "c": [
        (L, nodes(*TWELVE)), (5.0, start), (30.0, silent("a-1", "b-1")), (110.0, silent("c-1")), (130.0, kill),
        (145.0, start), (300.2, back("a-1", "b-1", "c-1")),
    ],
    "d": [
        (75.0, nodes("u-1")), (80.0, start), (90.0, silent("u-1")), (165.2, back("u-1")),
        (175.2, nodes("u-4", "u-5", "u-6")), (175.2, excluded),
        (190.0, silent("u-1", "u-4", "u-5", "u-6")), (265.0, silent("u-7")), (330.2, back("u-4")),
        (355.2, back("u-1", "u-5", "u-6", "u-7")),
    ],
}  # fmt: skip


def script(run: str) -> list[tuple[float, Act]]:
    """Return all actions of a run, with their times."""
    found = [*SCRIPTS[run]]
    for entry in OF_PODS:
        match entry:
            case {"run": each, "t": at, "pod": name, "on": node, "tolerations": tolerations} if each == run:
                found.append((at, placed(name, node, tolerations)))
            case {"run": each, "t": at, "pod": name, "gone": True} if each == run:
                found.append((at, removed(name)))
    return sorted(found, key=lambda act: act[0])
