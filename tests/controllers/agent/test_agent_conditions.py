# SPDX-License-Identifier: Apache-2.0
"""The conditions that a node agent posts: pressure, Ready, and those of other clients."""

from __future__ import annotations

import attrs
import pytest
from kit.controllers.agent_bench import GI, MACHINE, AgentBench, settled_bench

from controller_runtime.api.resources import NODES
from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def bench(sim: Simulation) -> AgentBench:
    return settled_bench(sim)


@pytest.mark.scenario("B-22")
def test_pressure_holds_for_five_minutes_and_turns_once(sim: Simulation, bench: AgentBench) -> None:
    """Pressure that has ended stays True until 5 minutes after it was last measured, then turns False once."""
    bench.see(memory_available=0)
    sim.advance(10.5)
    assert bench.condition("MemoryPressure")["status"] == "True"
    seen_last = bench.host.monotonic()

    bench.see(memory_available=MACHINE.memory_available)
    turned = []
    for _ in range(60):
        sim.advance(10.0)
        condition = bench.condition("MemoryPressure")
        if condition["status"] == "False":
            turned.append((bench.host.monotonic() - seen_last, condition["lastTransitionTime"]))

    assert 290.0 <= turned[0][0] <= 311.0
    assert len({at for _, at in turned}) == 1
    bench.end()


@pytest.mark.scenario("B-23")
def test_a_condition_that_stays_keeps_its_words(sim: Simulation, bench: AgentBench) -> None:
    """MemoryPressure that stays False keeps its reason, message and transition time, even if others wrote them."""
    node = bench.node()
    node["status"]["conditions"][0] |= {"reason": "Outdated", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    bench.world.update(NODES, node, subresource="status")

    sim.advance(600.0)

    condition = bench.condition("MemoryPressure")
    assert (condition["reason"], condition["lastTransitionTime"]) == ("Outdated", "2020-01-01T00:00:00Z")
    assert condition["lastHeartbeatTime"] > "2020"
    bench.end()


@pytest.mark.scenario("B-25")
def test_a_machine_whose_disk_is_not_known_makes_no_ready_node(sim: Simulation) -> None:
    """Without ephemeral-storage in its capacity the node is not ready (KubeletNotReady); once that is known it is."""
    bench = AgentBench(sim, machine=attrs.evolve(MACHINE, disk=None, disk_available=None))
    bench.start(1.0)

    ready = bench.condition("Ready")
    assert (ready["status"], ready["reason"]) == ("False", "KubeletNotReady")
    assert ready["message"].endswith("ephemeral-storage")
    bench.see(disk=MACHINE.disk, disk_available=MACHINE.disk_available)
    sim.advance(0.5)  # at the start it looks more often

    assert bench.condition("Ready")["status"] == "True"
    bench.end()


def test_conditions_of_others_stay(sim: Simulation, bench: AgentBench) -> None:
    node = bench.node()
    node["status"]["conditions"].insert(0, {"type": "NetworkUnavailable", "status": "False", "reason": "RouteCreated"})
    bench.world.update(NODES, node, subresource="status")

    bench.see(memory=16 * GI)
    sim.advance(10.5)

    assert bench.condition("NetworkUnavailable")["reason"] == "RouteCreated"
    assert bench.node()["status"]["conditions"][-1]["type"] == "Ready"
    bench.end()
