# SPDX-License-Identifier: Apache-2.0
"""The events and the log of a node agent, and its last post at shutdown."""

from __future__ import annotations

import pytest
from kit.controllers.agent_bench import MACHINE, NAME, AgentBench, settled_bench

from apimachinery.log import fields_of
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation
from controllers.agent.agent import add_node_agent
from controllers.agent.settings import Settings
from controllers.heartbeat.node_lease import NAMESPACE


@pytest.fixture
def bench(sim: Simulation) -> AgentBench:
    return settled_bench(sim)


@pytest.mark.scenario("B-30")
def test_a_reboot_is_told_once(sim: Simulation, bench: AgentBench) -> None:
    """Given another boot id than the stored one, one Rebooted event is written and none after it."""
    bench.end()
    bench.see(boot_id="b2")

    bench.start(15.0)
    bench.see(boot_id="b3")
    sim.advance(30.0)

    assert bench.node()["status"]["nodeInfo"]["bootID"] == "b3"
    assert bench.events().count("Rebooted") == 1
    bench.end()


def test_what_is_not_known_is_logged_once(sim: Simulation, bench: AgentBench, caplog: pytest.LogCaptureFixture) -> None:
    bench.see(local=[], routed=[])
    sim.advance(60.0)
    bench.see(local=MACHINE.local, routed=MACHINE.routed)
    sim.advance(60.0)

    said = [record for record in caplog.records if "part of the status is not known" in record.message]
    assert len(said) == 1
    assert "no address is known at which n1 can be reached" in str(fields_of(said[0]))
    bench.end()


def test_events_tell_of_the_start_and_of_what_has_changed(sim: Simulation, bench: AgentBench) -> None:
    bench.see(tasks_limit=100, memory_available=0)
    bench.world.patch(NODES, ObjectKey(NAME), {"spec": {"unschedulable": True}})
    sim.advance(60.0)

    assert bench.events() == sorted(
        [
            "Starting",
            "NodeHasSufficientMemory",
            "NodeHasNoDiskPressure",
            "NodeHasSufficientPID",
            "NodeHasInsufficientMemory",
            "NodeNotSchedulable",
        ]
    )
    bench.end()


def test_with_a_grace_for_shutdown_the_last_word_is_not_ready(sim: Simulation) -> None:
    bench = AgentBench(sim, shutdown_grace=5.0)
    bench.start(15.0)
    renewed = bench.world.get(LEASES, ObjectKey(NAME, NAMESPACE), dict)

    bench.end()

    ready = bench.condition("Ready")
    assert (ready["status"], ready["reason"], ready["message"]) == (
        "False",
        "KubeletNotReady",
        "node is shutting down",
    )
    assert bench.world.get(LEASES, ObjectKey(NAME, NAMESPACE), dict) == renewed
    bench.start(15.0)
    assert bench.condition("Ready")["status"] == "True"
    bench.end()


@pytest.mark.parametrize("seed", range(20))
def test_the_last_word_is_told_as_an_event_too(seed: int) -> None:
    with Simulation(seed=seed) as sim:
        bench = AgentBench(sim, shutdown_grace=5.0)
        bench.start(15.0)
        before = bench.events()

        bench.end()

        assert "NodeNotReady" not in before
        assert bench.events() == sorted([*before, "NodeNotReady"])


def test_a_program_that_is_cancelled_says_no_last_word(sim: Simulation) -> None:
    bench = AgentBench(sim)
    cluster = EmbeddedCluster(bench.host, server=bench.server)
    reporter = add_node_agent(cluster.manager, bench, Settings(name=NAME, register=False, shutdown_grace=5.0))
    stop = Stop(bench.host)
    stop.cancel()

    reporter.run(stop)

    assert cluster.transport.requests == []


def test_without_one_node_and_lease_stay_as_they_are(sim: Simulation, bench: AgentBench) -> None:
    before = bench.node(), bench.world.get(LEASES, ObjectKey(NAME, NAMESPACE), dict)

    bench.end()

    assert (bench.node(), bench.world.get(LEASES, ObjectKey(NAME, NAMESPACE), dict)) == before
    assert bench.asked() == []
