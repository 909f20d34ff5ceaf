# SPDX-License-Identifier: Apache-2.0
"""Workloads end as a real kube-controller-manager leaves them, after each step of the recorded stories."""

from __future__ import annotations

import difflib
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from kit.controllers.workload_states import play
from kit.controllers.workload_stories import STORIES

from controller_runtime.api.resources import NAMESPACES
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation

RECORDINGS = Path(__file__).resolve().parent / "data" / "recordings.json.gz"
REST = 3.0
"""Seconds of virtual time in which everything comes to rest after a step that does not say more."""


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(RECORDINGS.read_bytes()))
    return found


@pytest.mark.parametrize("name", STORIES)
def test_a_story_goes_as_it_was_recorded(sim: Simulation, name: str) -> None:
    with EmbeddedCluster(sim.host("manager"), workloads=True) as cluster:
        cluster.start()
        cluster.user.create(NAMESPACES, {"metadata": {"name": "story"}})
        sim.advance(1.0)

        states = play(cluster.user, "story", STORIES[name], lambda seconds: sim.advance(seconds + REST))

    for number, (ours, real) in enumerate(zip(states, recorded()[name], strict=True)):
        assert ours == real, f"after step {number + 1}:\n" + difference(real, ours)


def difference(real: Any, ours: Any) -> str:
    texts = [json.dumps(each, indent=1, sort_keys=True).splitlines() for each in (real, ours)]
    return "\n".join(difflib.unified_diff(*texts, "recorded", "ours", lineterm="", n=2))
