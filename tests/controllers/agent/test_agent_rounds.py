# SPDX-License-Identifier: Apache-2.0
"""The rounds of a node agent: their times, the posts of the status, and the renewals of the lease beside them."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import pytest
from kit.controllers.agent_bench import GI, NAME, AgentBench, Asked, settled_bench
from kit.controllers.beating import ERROR, answered

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.testing.faults import LostRequest
from controller_runtime.testing.simulation import Simulation
from controllers.agent.reporter import TRIES
from controllers.agent.run import AgentOptions, settings_of
from controllers.heartbeat.node_lease import NAMESPACE

OVERLOADED = answered(429, "TooManyRequests", details={"retryAfterSeconds": 3})


@pytest.fixture
def bench(sim: Simulation) -> AgentBench:
    return settled_bench(sim)


def of_node(asked: list[Asked]) -> list[str]:
    return [each.what for each in asked if "leases" not in each.what]


@pytest.mark.scenario("B-08")
def test_the_first_round_posts_even_if_nothing_differs(sim: Simulation, bench: AgentBench) -> None:
    """The first round after a start sends a PATCH even if nothing differs from the server."""
    bench.end()
    bench.asked()

    bench.start(0.2)

    assert of_node(bench.asked()) == ["POST nodes", "GET nodes", "PATCH nodes/status"]
    bench.end()


@pytest.mark.scenario("B-09")
def test_an_unchanged_status_is_posted_around_its_interval() -> None:
    """The second PATCH of an unchanged status comes at the first round at or after 300 s and a delay within 150 s;
    those after it come each 300 s."""
    gaps = []
    for seed in range(3):
        with Simulation(seed) as sim:
            bench = AgentBench(sim)
            bench.start(1200.0)
            times = [each.at for each in bench.asked() if each.what == "PATCH nodes/status"]
            bench.end()
        gaps.append([b - a for a, b in pairwise(times)])

    firsts = sorted(first for first, *_ in gaps)
    assert 150.0 <= firsts[0] <= firsts[-1] < 450.0 + 10.4
    assert firsts[-1] - firsts[0] > 10.4, "it is drawn, and not just the round at which it falls due"
    assert all(later for _, *later in gaps)
    assert all(300.0 <= gap < 310.4 for _, *later in gaps for gap in later)


@pytest.mark.scenario("B-11")
def test_times_of_heartbeats_alone_are_not_posted(sim: Simulation, bench: AgentBench) -> None:
    """If only lastHeartbeatTime would change, a round inside the interval sends no request at all."""
    sim.advance(100.0)

    assert of_node(bench.asked()) == []
    bench.end()


@pytest.mark.scenario("B-13")
def test_a_change_of_capacity_is_posted_in_its_round(sim: Simulation, bench: AgentBench) -> None:
    """Memory that changes inside the interval is posted in that round: heartbeat times are now, transitions stay."""
    before = bench.node()["status"]["conditions"]

    bench.see(memory=16 * GI)
    sim.advance(10.5)

    assert of_node(bench.asked()) == ["PATCH nodes/status"]
    node = bench.node()
    assert node["status"]["capacity"]["memory"] == "16Gi"
    after = node["status"]["conditions"]
    assert [c["lastTransitionTime"] for c in after] == [c["lastTransitionTime"] for c in before]
    (beat,) = {c["lastHeartbeatTime"] for c in after}
    assert (bench.host.now() - datetime.fromisoformat(beat)).total_seconds() < 12.0
    bench.end()


@pytest.mark.scenario("B-16")
def test_the_first_try_asks_the_cache_and_the_others_the_server(sim: Simulation, bench: AgentBench) -> None:
    """With the Node in the cache the first try sends no GET; after it failed the other four send one each."""
    bench.faults["PATCH nodes/status"].extend([ERROR] * TRIES)

    bench.see(memory=16 * GI)
    sim.advance(10.5)

    assert of_node(bench.asked()) == ["PATCH nodes/status"] + ["GET nodes", "PATCH nodes/status"] * 4
    assert bench.hooks == 4
    bench.end()


def test_a_change_back_is_posted_although_the_cache_knows_nothing_of_the_change(
    sim: Simulation, bench: AgentBench
) -> None:
    bench.end()
    bench.lines_of_the_watch = 2  # the Node as it was, and the end of the list
    bench.start(15.0)

    for memory in (16 * GI, 8 * GI):
        bench.see(memory=memory)
        sim.advance(10.5)

    assert bench.node()["status"]["capacity"]["memory"] == "8Gi"
    assert of_node(bench.asked())[-4:] == ["GET nodes", "PATCH nodes/status"] * 2
    bench.end()


@pytest.mark.scenario("B-18")
def test_the_interval_counts_from_the_success(sim: Simulation) -> None:
    """A PATCH that fails twice and then succeeds: the time of the success counts, and the hook was called once."""
    bench = AgentBench(sim, report_interval=60.0)
    bench.start(15.0)  # this covers the first post, whose delay is drawn; the third post has no delay
    bench.faults["PATCH nodes/status"].extend([None, LostRequest(), LostRequest()])

    sim.advance(300.0)

    times = [each.at for each in bench.asked() if each.what == "PATCH nodes/status"][1:6]
    assert [round(b - a) for a, b in pairwise(times[1:4])] == [10, 10]  # each waits for its answer
    assert 60.0 <= times[4] - times[3] < 70.5
    assert bench.hooks == 1
    bench.end()


def test_a_server_that_is_silent_is_asked_five_times_a_round_and_hangs_nothing(
    sim: Simulation, bench: AgentBench
) -> None:
    bench.faults["PATCH nodes/status"].extend([LostRequest()] * TRIES)

    bench.see(memory=16 * GI)
    sim.advance(75.0)

    assert bench.hooks >= 4
    assert bench.node()["status"]["capacity"]["memory"] == "16Gi"
    bench.end()


def test_a_server_that_asks_for_patience_is_given_it(sim: Simulation) -> None:
    bench = AgentBench(sim)
    bench.faults["POST nodes"].append(OVERLOADED)
    bench.faults["PATCH nodes/status"].append(OVERLOADED)

    bench.start(20.0)

    times = [each.at for each in bench.asked() if each.what in ("POST nodes", "PATCH nodes/status")]
    assert [round(b - a, 1) for a, b in pairwise(times)] == [3.0, 0.0, 3.0]
    bench.end()


@pytest.mark.scenario("B-19")
def test_a_range_of_pod_addresses_is_news_once(sim: Simulation, bench: AgentBench) -> None:
    """spec.podCIDRs that become non-empty make one round report a change, and the next one none."""
    node = bench.node()
    node["spec"] |= {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}
    bench.world.update(NODES, node)

    sim.advance(60.0)

    assert of_node(bench.asked()) == ["PATCH nodes/status"]
    bench.end()


@pytest.mark.scenario("B-14")
@pytest.mark.scenario("B-20")
def test_a_label_of_the_platform_that_was_removed_is_restored(sim: Simulation, bench: AgentBench) -> None:
    """If another client removes the os label, the next round restores it via nodes/status; the patch has no `spec`."""
    bench.world.patch(NODES, ObjectKey(NAME), {"metadata": {"labels": {"kubernetes.io/os": None}}})

    sim.advance(10.5)

    (patch,) = bench.patches()
    assert patch["metadata"] == {"labels": {"kubernetes.io/os": "linux"}}
    assert "spec" not in patch
    assert bench.node()["metadata"]["labels"]["kubernetes.io/os"] == "linux"
    bench.end()


@pytest.mark.scenario("B-15")
def test_addresses_are_replaced_whole(sim: Simulation, bench: AgentBench) -> None:
    """A patch of addresses that differ ends with the replace directive; the server has the new list in its order."""
    bench.see(local=["192.0.2.9"], routed=["192.0.2.9"])

    sim.advance(10.5)

    new = [{"type": "InternalIP", "address": "192.0.2.9"}, {"type": "Hostname", "address": NAME}]
    (patch,) = bench.patches()
    assert patch["status"]["addresses"] == [*new, {"$patch": "replace"}]
    assert bench.node()["status"]["addresses"] == new
    bench.end()


@pytest.mark.scenario("B-29")
def test_a_status_that_hangs_holds_up_no_renewal(sim: Simulation, bench: AgentBench) -> None:
    """While requests about the status hang, the lease is renewed in time."""
    bench.faults["PATCH nodes/status"].extend([LostRequest()] * 50)

    bench.see(memory=16 * GI)
    sim.advance(100.0)

    renewals = [each.at for each in bench.asked() if each.what == "PUT leases"]
    assert len(renewals) in (9, 10)
    assert max(b - a for a, b in pairwise(renewals)) < 10.5
    bench.end()


def test_renewals_that_fail_repeatedly_drop_the_connections_too(sim: Simulation, bench: AgentBench) -> None:
    bench.faults["PUT leases"].extend([ERROR] * TRIES)

    sim.advance(10.5)

    assert bench.hooks == TRIES - 1
    bench.end()


def test_a_shorter_lease_is_renewed_as_much_more_often(sim: Simulation) -> None:
    bench = AgentBench(sim, lease_duration=8)
    bench.start(60.0)

    renewals = [each.at for each in bench.asked() if each.what == "PUT leases"]
    assert len(renewals) >= 27
    assert all(2.0 <= b - a <= 2.08 for a, b in pairwise(renewals))
    assert bench.world.get(LEASES, ObjectKey(NAME, NAMESPACE), dict)["spec"]["leaseDurationSeconds"] == 8
    bench.end()


@pytest.mark.scenario("B-32")
def test_an_address_that_is_not_known_keeps_nothing_else_from_being_posted(sim: Simulation, bench: AgentBench) -> None:
    """A setter that fails leaves its part as it was; later ones still run, and the round posts."""
    addresses = bench.node()["status"]["addresses"]

    bench.see(local=[], routed=[], memory=16 * GI, memory_available=0)
    sim.advance(10.5)

    status = bench.node()["status"]
    assert status["addresses"] == addresses
    assert status["capacity"]["memory"] == "16Gi"
    assert bench.condition("MemoryPressure")["status"] == "True"
    bench.end()


@pytest.mark.scenario("B-33")
def test_whoever_sets_the_update_frequency_alone_sets_both(sim: Simulation) -> None:
    """Every round posts with an update frequency of 20 s and no report frequency."""
    settings = settings_of(AgentOptions(node_status_update_frequency=20.0), NAME)
    assert settings.report_interval == 20.0
    assert settings_of(AgentOptions(), NAME).report_interval == 300.0

    bench = AgentBench(sim, update_interval=20.0, report_interval=20.0)
    bench.start(200.0)

    assert len(bench.patches()) >= 5
    bench.end()
