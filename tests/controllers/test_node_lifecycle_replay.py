# SPDX-License-Identifier: Apache-2.0
"""Our node lifecycle controller against a recording of the real one: same acts, same verdicts and taints.

The recording tells what a script did to four clusters with Kubernetes 1.36.2, and each
change of a node's Ready condition and taints. Wherever the real one had been at rest for a
while, ours must be where it was; the real one looks every 5 s, ours at once.
"""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from lifecycle_cluster import CONDITIONS, LifecycleCluster

from controller_runtime.api.objects import Request
from controller_runtime.api.resources import NODES
from controller_runtime.core.errors import NotFound
from controller_runtime.testing.simulation import Simulation

RECORDING = Path(__file__).parents[1] / "data" / "recordings" / "node-lifecycle-nodes-1.36.2.jsonl"
AT_REST = 6.0
"""Seconds before and after which the real one did nothing to a node: its period, and the phase of the renewals."""
ZONES = {"a": "zone-a", "b": "zone-b", "c": "zone-c"}

Act = Callable[[LifecycleCluster], object]
State = tuple[str, tuple[str, ...]] | None
"""Ready and the taints of a node; None where there is no such node."""


@attrs.frozen
class Deviation:
    """Where ours differs on purpose, or where the real one is not determined."""

    run: str
    node: str
    since: float
    until: float
    why: str


RACE = "the real one tainted a node just before it noticed that all were silent, and did not take it back"
ORDER = "who of a zone goes first is left to chance there"
NAMESAKE = "a node that is made again inherits the silence of its namesake there"
RESTART = "the real one strips all NoExecute taints when it starts; ours leaves those that still match"
DEVIATIONS = (
    Deviation("a", "b-2", 635.0, 800.0, RACE),
    Deviation("d", "u-1", 239.0, 340.0, RACE),
    Deviation("d", "u-6", 339.0, 356.0, ORDER),
    Deviation("d", "u-7", 339.0, 356.0, ORDER),
    *(Deviation("a", name, 529.0, 557.0, ORDER) for name in ("a-2", "a-3", "a-4")),
    *(Deviation("a", f"{zone}-{index}", 705.0, 747.0, ORDER) for zone in "ac" for index in range(1, 5)),
    Deviation("b", "l9-2", 270.0, 306.0, NAMESAKE),
    Deviation("b", "l9-3", 365.0, 400.0, NAMESAKE),
    Deviation("c", "c-1", 145.0, 215.0, RESTART),
)


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
    """The kubelet of a node posts something else from now on, and at once."""

    def act(cluster: LifecycleCluster) -> None:
        kubelet = cluster.kubelets[name]
        kubelet.says = {**kubelet.says, **conditions}
        cluster.post(name, **kubelet.says)  # type: ignore[arg-type]

    return act


def adds(name: str, **conditions: str) -> Act:
    return lambda cluster: cluster.post(name, **conditions)  # type: ignore[arg-type]


def edits(name: str, **spec: Any) -> Act:
    return lambda cluster: cluster.world.patch(NODES, Request(name), {"spec": spec})


def taint(text: str) -> dict[str, str]:
    key, effect = text.split(":")
    key, _, value = key.partition("=")
    return {"key": key if value else f"node.kubernetes.io/{key}", "value": value, "effect": effect}


def tainted(name: str, *taints: str) -> Act:
    return edits(name, taints=[taint(each) for each in taints])


def deleted(*names: str) -> Act:
    def act(cluster: LifecycleCluster) -> None:
        for name in names:
            cluster.world.delete(NODES, Request(name))
            cluster.kubelets.pop(name, None)

    return act


def mute(name: str, **kubelet: Any) -> Act:
    """Change what a kubelet does from now on."""

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
    cluster.world.patch(NODES, Request("l7-1"), patch, subresource="status")


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

ENTRIES = [json.loads(line) for line in RECORDING.read_text().splitlines()]


def recorded(run: str) -> dict[str, list[tuple[float, State]]]:
    """The states of each node, each with the second since when it held."""
    found: dict[str, list[tuple[float, State]]] = {}
    for entry in ENTRIES:
        if entry["run"] != run or "node" not in entry:
            continue
        states = found.setdefault(entry["node"], [])
        ready, taints = (states[-1][1] if states else None) or ("", ())
        state = (entry.get("ready", ready), tuple(sorted(entry.get("taints", taints))))
        states.append((entry["t"], None if entry.get("verb") == "DELETED" else state))
    return found


def state_of(cluster: LifecycleCluster, name: str) -> State:
    try:
        node = cluster.read(name)
    except NotFound:
        return None
    texts = []
    for each in node["spec"].get("taints", []):
        value = f"={each['value']}" if each.get("value") else ""
        texts.append(f"{each['key'].removeprefix('node.kubernetes.io/')}{value}:{each['effect']}")
    ready = next((c["status"] for c in node["status"].get("conditions", []) if c["type"] == "Ready"), "")
    return ready, tuple(sorted(texts))


def at_rest(states: list[tuple[float, State]], now: float) -> tuple[bool, State]:
    """Whether nothing changed around `now`, and what held."""
    times = [t for t, _ in states]
    index = bisect.bisect_right(times, now)
    before = now - times[index - 1] if index else AT_REST + 1
    after = times[index] - now if index < len(times) else AT_REST + 1
    return min(before, after) > AT_REST, states[index - 1][1] if index else None


@pytest.mark.parametrize("run", SCRIPTS)
def test_every_recorded_act_leads_to_the_recorded_verdicts(sim: Simulation, run: str) -> None:
    cluster, expected = LifecycleCluster(sim), recorded(run)
    script, differences, compared = [*SCRIPTS[run]], [], 0
    end = max(entry["t"] for entry in ENTRIES if entry["run"] == run)

    for second in range(int(SCRIPTS[run][0][0]), int(end)):
        while script and script[0][0] <= second + 1:
            at, act = script.pop(0)
            cluster.run(at - sim.time)
            act(cluster)
        cluster.run(second + 1 - sim.time)
        for name, states in expected.items():
            rests, theirs = at_rest(states, second + 1.0)
            excused = any(d.run == run and d.node == name and d.since <= second + 1 <= d.until for d in DEVIATIONS)
            if rests and not excused and cluster.cluster is not None and second > 5 + SCRIPTS[run][0][0]:
                compared += 1
                if (ours := state_of(cluster, name)) != theirs:
                    differences.append((second + 1, name, theirs, ours))
    cluster.end()

    assert differences == []
    assert compared > 500
