# SPDX-License-Identifier: Apache-2.0
"""Our TTL controller leaves the annotations that the real one left after each act of a recorded script.

The recording lists what a script did to the nodes of a real cluster with Kubernetes
1.36.2, and which annotations the nodes had a few seconds after each act.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apimachinery.objects import ObjectKey, annotations_of
from controller_runtime.api.resources import NODES
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation
from controllers.node_ttl import ANNOTATION, node_ttl

pytestmark = pytest.mark.once

RECORDING = Path(__file__).parents[1] / "data" / "recordings" / "node-ttl-1.36.2.jsonl"

# While the script created 411 nodes in a burst, the event of one node's own annotation
# reached the real controller after the step had changed, so that node was advised twice.
# Ours sees the nodes one by one; until the restart that follows, one node may differ.
BURST, AFTER_THE_BURST = "create up to 500", "controller restarted in the overlap zone 450..500"


def recording() -> Iterator[tuple[str, dict[str, Any]]]:
    act = ""
    for line in RECORDING.read_text().splitlines():
        entry = json.loads(line)
        if entry["kind"] == "Input":
            act = entry["did"]
        else:
            yield act, entry["ttl"]


class Script:
    """Plays the acts of the recording on an embedded cluster."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.restarts = 0
        self.touches = 0
        self.cluster = EmbeddedCluster(sim.host("controller"))
        self.names: list[str] = []
        self._start()

    def _start(self) -> None:
        self.cluster.manager.add(node_ttl(self.cluster.manager, lazy=True))
        self.cluster.start()
        self.sim.settle()

    def play(self, act: str) -> None:
        for part in re.split(r"; |, then ", act):
            self.play_one(part)
        self.sim.advance(1.0)

    def play_one(self, part: str) -> None:
        if part.startswith("controller restarted"):
            self.restart()
        elif match := re.match(
            r"(?:create nodes n-001\.\.n-|create n-|create node |create up to |delete down to )(\d+)", part
        ):
            self.resize(int(match.group(1)))
        elif match := re.match(r"desired is 15: annotation of (\S+) set by hand to (.*)", part):
            self.patch(match.group(1), {"annotations": {ANNOTATION: json.loads(match.group(2))}})
        elif part.startswith("touch"):
            for name in re.findall(r"n-\d+", part):
                self.touches += 1
                self.patch(name, {"labels": {"touched": str(self.touches)}})

    def resize(self, count: int) -> None:
        while len(self.names) < count:
            self.names.append(f"n-{len(self.names) + 1:03d}")
            self.cluster.client.create(NODES, {"metadata": {"name": self.names[-1]}})
            self.sim.settle()
        while len(self.names) > count:
            self.cluster.client.delete(NODES, ObjectKey(self.names.pop()))
        self.sim.settle()

    def patch(self, name: str, metadata: dict[str, Any]) -> None:
        self.cluster.client.patch(NODES, ObjectKey(name), {"metadata": metadata})

    def restart(self) -> None:
        self.cluster.stop()
        self.restarts += 1
        host = self.sim.host(f"controller#{self.restarts}")
        self.cluster = EmbeddedCluster(host, server=self.cluster.server)
        self._start()

    def annotations(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for node in self.cluster.client.list(NODES, view=dict):
            found.setdefault(annotations_of(node)[ANNOTATION], []).append(node["metadata"]["name"])
        return found


def differences(recorded: dict[str, Any], ours: dict[str, list[str]]) -> int:
    """Return how many nodes have another annotation: compared by name if the recording has names, else by number."""
    off = 0
    for value in recorded.keys() | ours.keys():
        theirs, mine = recorded.get(value, 0), ours.get(value, [])
        off += len(set(theirs) ^ set(mine)) if isinstance(theirs, list) else abs(theirs - len(mine))
    return off


def test_every_recorded_act_leads_to_the_recorded_annotations(sim: Simulation) -> None:
    script, in_the_burst = Script(sim), False

    for act, recorded in recording():
        script.play(act)

        in_the_burst = (in_the_burst or act.startswith(BURST)) and not act.startswith(AFTER_THE_BURST)
        assert differences(recorded, script.annotations()) <= (2 if in_the_burst else 0), act
    assert script.restarts == 2
    script.cluster.stop()
