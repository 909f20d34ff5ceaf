# SPDX-License-Identifier: Apache-2.0
"""Taint eviction compared with a recording of Kubernetes' own: the same taints and pods, deletions and events.

Two controllers of Kubernetes 1.36.2 were recorded, taint eviction and the node lifecycle, which taints nodes. The
replay sets the recorded taints itself and compares what happens to the pods.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kit.controllers.evicting import Evicting, tolerates

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.once

RECORDING = Path(__file__).parents[2] / "data" / "recordings" / "taint-eviction-1.36.2.jsonl"
RUNS = ("L1", "L2", "L8", "L10", "L10b")
DEVIATIONS = {
    # The pod was deleted before the real controller was restarted, which counted down for it again all the same.
    "L8": {("a-1-tol30", "Cancelling")},
}
TOLERANCE = 1.1
"""Seconds. The server writes whole seconds, and the recording tenths."""

OURS = ("not-ready", "unreachable")


def recorded(run: str) -> list[dict[str, Any]]:
    entries = map(json.loads, RECORDING.read_text().splitlines())
    return [entry for entry in entries if entry["run"] == run]


def full(key: str) -> str:
    return f"node.kubernetes.io/{key}" if key in OURS else key


def taint(text: str) -> dict[str, str]:
    """Parse `key=value:Effect`."""
    name, effect = text.split(":")
    key, _, value = name.partition("=")
    return {"key": full(key), "value": value, "effect": effect}


def toleration(text: str) -> dict[str, Any]:
    """Parse `key=value:Effect Ns`, where all but the colon is optional."""
    match = re.fullmatch(r"([^=:]*)(?:=(\w+))?:(\w*)(?: (-?\d+)s)?", text)
    assert match, text
    key, value, effect, seconds = match.groups()
    made = tolerates(full(key), None if seconds is None else int(seconds), effect=effect)
    return made if value is None else {**made, "operator": "Equal", "value": value}


class Script:
    """Repeats the recorded actions, and notes when pods are deleted."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.cluster = Evicting(sim)
        self.nodes: set[str] = set()
        self.deleted: dict[str, float] = {}
        self.has_started = False

    def play(self, entry: dict[str, Any]) -> None:
        self.sim.advance(max(0.0, entry["t"] - self.sim.time))
        self.look()
        match entry:
            case {"controller": "killed"}:
                self.cluster.kill()
            case {"controller": _}:
                self.cluster.restart() if self.has_started else self.cluster.start()
                self.has_started = True
            case {"node": name, "gone": True}:
                self.cluster.world.delete(NODES, ObjectKey(name))
                self.nodes.discard(name)
            case {"node": name, "taints": taints}:
                put = self.cluster.taint if name in self.nodes else self.cluster.node
                put(name, *map(taint, taints))
                self.nodes.add(name)
            case {"pod": name, "gone": True}:
                self.cluster.delete(name, grace=0)
            case {"pod": name, "on": node, "tolerations": tolerations}:
                self.cluster.pod(name, *map(toleration, tolerations), node=node)
            case {"pod": name, "tolerations": tolerations}:
                others = [one for one in tolerations if one.partition(":")[0] not in OURS]
                self.cluster.tolerate(name, *map(toleration, others))
        self.look()

    def look(self) -> None:
        self.sim.settle()
        for name in self.cluster.leaving():
            self.deleted.setdefault(name, self.cluster.time_of_deletion(name))


@pytest.mark.parametrize("run", RUNS)
def test_the_same_pods_are_deleted_at_the_same_times_and_the_same_is_told(sim: Simulation, run: str) -> None:
    script, entries = Script(sim), recorded(run)

    for entry in entries:
        script.play(entry)
    sim.advance(2.0)
    script.look()

    expected: dict[str, float] = {}
    for entry in entries:
        if entry.get("deleted"):
            expected.setdefault(entry["pod"], entry["t"])
    assert script.deleted == pytest.approx(expected, abs=TOLERANCE)
    told = {(entry["pod"], entry["told"]) for entry in entries if "told" in entry} - DEVIATIONS.get(run, set())
    assert {(pod, word) for word, _, pod in (event.partition(" ") for event in script.cluster.events())} == told
    assert script.cluster.controller.errors == 0
    script.cluster.end()
