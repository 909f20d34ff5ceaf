# SPDX-License-Identifier: Apache-2.0
"""The taint eviction on a server that leaves writes of some pods unanswered: the pods of other nodes leave in time."""

from __future__ import annotations

import pytest
from kit.controllers.beating import ERROR
from kit.controllers.evicting import TAINT, Evicting

from controller_runtime.testing.faults import Fault, LostRequest
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.once


def evicting(sim: Simulation, *nodes: str, pods: int) -> Evicting:
    """Return a started controller, nodes with so many pods each, and one node `other` with the pod `free`."""
    cluster = Evicting(sim)
    for node in nodes:
        cluster.node(node)
        for index in range(pods):
            cluster.pod(f"{node}-{index}", node=node)
    cluster.node("other")
    cluster.pod("free", node="other")
    cluster.start()
    return cluster


def fail(cluster: Evicting, method: str, fault: Fault, *nodes: str, pods: int) -> None:
    """Let each request of that method for the pods of these nodes meet a fault."""
    cluster.faults |= {f"{method} {node}-{index}": fault for node in nodes for index in range(pods)}


def test_pods_whose_writes_hang_do_not_hold_up_the_pods_of_another_node(sim: Simulation) -> None:
    """Each write takes 30 s to time out; without a limit twenty of them would occupy all workers for a minute."""
    cluster = evicting(sim, "n", pods=20)
    fail(cluster, "PATCH", LostRequest(), "n", pods=20)

    cluster.taint("n", TAINT)
    cluster.taint("other", TAINT)
    sim.advance(0.1)

    assert cluster.leaving() == ["free"]
    cluster.end()


def test_three_nodes_with_pods_whose_writes_hang_leave_workers_for_the_others(sim: Simulation) -> None:
    nodes = ("a", "b", "c")
    cluster = evicting(sim, *nodes, pods=6)
    for node, method in zip(nodes, ("PATCH", "DELETE", "PATCH"), strict=True):
        fail(cluster, method, LostRequest(), node, pods=6)

    for node in (*nodes, "other"):
        cluster.taint(node, TAINT)
    sim.advance(0.1)

    assert cluster.leaving() == ["free"]
    cluster.end()


def test_a_pod_whose_write_hangs_leaves_a_place_for_the_others_of_its_node(sim: Simulation) -> None:
    cluster = evicting(sim, "n", pods=20)
    cluster.faults["PATCH n-0"] = LostRequest()

    cluster.taint("n", TAINT)
    sim.advance(0.1)

    assert len(cluster.leaving()) == 19
    cluster.end()


def test_pods_whose_writes_hung_leave_once_the_server_answers(sim: Simulation) -> None:
    cluster = evicting(sim, "n", pods=20)
    fail(cluster, "PATCH", LostRequest(), "n", pods=20)
    cluster.taint("n", TAINT)
    sim.advance(100.0)
    assert cluster.leaving() == []

    cluster.faults.clear()
    sim.advance(100.0)

    assert len(cluster.leaving()) == 20
    cluster.end()


def test_pods_that_wait_go_on_if_those_before_them_are_deleted(sim: Simulation) -> None:
    cluster = evicting(sim, "n", pods=8)
    cluster.faults["PATCH"] = LostRequest()
    cluster.taint("n", TAINT)
    waiting = [f"n-{index}" for index in range(8) if f"PATCH n-{index}" not in cluster.asked]
    assert len(waiting) == 6, "two are tried"

    for name in waiting[:3]:
        cluster.delete(name, grace=0)
    cluster.faults.clear()
    sim.advance(40.0)

    assert set(waiting[3:]) <= {*cluster.leaving()}
    cluster.end()


def test_waiting_behind_the_other_pods_of_a_node_does_not_shorten_the_delays_of_a_pod_that_fails(
    sim: Simulation,
) -> None:
    cluster = evicting(sim, "n", pods=20)
    fail(cluster, "PATCH", ERROR, "n", pods=20)

    cluster.taint("n", TAINT)
    sim.advance(100.0)

    tries = [cluster.asked.count(f"PATCH n-{index}") for index in range(20)]
    assert max(tries) < 20, "5 ms, doubling: 15 tries in 100 s"
    assert min(tries) > 10
    cluster.end()
