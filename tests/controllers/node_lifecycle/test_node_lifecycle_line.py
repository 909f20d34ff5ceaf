# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle: the queue in which the nodes of a zone wait for their eviction; no node may hold up the others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from kit.controllers.lifecycle_cluster import LifecycleCluster
from kit.controllers.refusing import refused

from apimachinery.http import HTTPRequest
from controller_runtime.testing.faults import Fault
from controller_runtime.testing.simulation import Simulation
from controllers.node_lifecycle.node_lifecycle import NodeLifecycle
from controllers.node_lifecycle.zones import ZoneState

pytestmark = pytest.mark.once

SEEDS = range(3)
WELL = ("well-1", "well-2", "well-3", "well-4", "well-5", "well-6")


@pytest.fixture(params=SEEDS)
def cluster(request: pytest.FixtureRequest) -> Iterator[LifecycleCluster]:
    """A controller, and a zone with enough healthy nodes; a test adds others."""
    made = LifecycleCluster(Simulation(seed=request.param))
    made.healthy(*WELL, zone="x")
    made.start()
    yield made
    made.end()


def fall_silent_in_order(cluster: LifecycleCluster, *names: str) -> None:
    """Let the last signs of life of nodes come a moment after one another, so that they wait in this order.

    The first is evicted before this returns."""
    cluster.healthy(*names, zone="x")
    for name in names:
        cluster.silence(name)
        cluster.run(0.2)
        cluster.renew(name)
    cluster.run(50.2)
    assert cluster.evicted() == [names[0]]


def evictions(cluster: LifecycleCluster, seconds: float) -> dict[str, float]:
    """Return in which second from now each node is evicted that is not evicted yet."""
    before, found = cluster.evicted(), dict[str, float]()
    for second in range(1, int(seconds) + 1):
        cluster.run(1.0)
        for name in cluster.evicted():
            if name not in before:
                found.setdefault(name, second)
    return found


def test_a_node_whose_lease_lives_but_which_never_posts_does_not_hold_up_its_zone(cluster: LifecycleCluster) -> None:
    fall_silent_in_order(cluster, "a", "b", "c", "d")

    cluster.live("b", posts=None)  # b is the next, and is not evicted for as long as it renews

    assert evictions(cluster, 40.0) == {"c": 10, "d": 20}
    assert cluster.status("b") == "Unknown"


def test_a_node_that_goes_on_to_live_in_the_middle_of_the_line_costs_nobody_a_turn(cluster: LifecycleCluster) -> None:
    fall_silent_in_order(cluster, "a", "b", "c", "d")

    cluster.live("c", posts=None)

    assert evictions(cluster, 40.0) == {"b": 10, "d": 20}


def test_a_node_that_only_the_server_knows_to_live_gives_its_turn_back(cluster: LifecycleCluster) -> None:
    """If the cache of leases is behind, a turn that must not be used passes to the next node at once."""
    fall_silent_in_order(cluster, "a", "b", "c")
    renewals = 0

    def renew_before_it_is_read(request: HTTPRequest) -> Fault | None:
        nonlocal renewals
        if request.method == "GET" and request.path.endswith("/leases/b"):
            renewals += 1
            cluster.renew("b")
        return None

    cluster.fault = renew_before_it_is_read

    assert evictions(cluster, 15.0) == {"c": 10}
    assert renewals == 1


def test_when_a_waiting_node_returns_those_behind_it_move_up(cluster: LifecycleCluster) -> None:
    fall_silent_in_order(cluster, "a", "b", "c", "d", "e")

    cluster.live("c")
    assert evictions(cluster, 22.0) == {"b": 10, "d": 20}
    cluster.silence("c")

    assert evictions(cluster, 12.0) == {"e": 8}


def test_when_all_between_the_first_and_the_last_of_a_long_line_return_the_last_is_the_next(
    cluster: LifecycleCluster,
) -> None:
    """The last node has the thirtieth place, which is 290 s after the first, and is evicted at the next turn."""
    cluster.healthy(*(f"more-{index}" for index in range(40)), zone="x")
    names = [f"n-{index:02d}" for index in range(30)]
    fall_silent_in_order(cluster, *names)

    cluster.live(*names[2:-1])

    assert evictions(cluster, 30.0) == {names[1]: 5, names[-1]: 15}


def test_a_node_whose_looks_fail_does_not_hold_up_its_zone(cluster: LifecycleCluster) -> None:
    """The node reports itself not ready, waits for its turn, and falls silent; its conditions cannot be written."""
    cluster.healthy(*(f"more-{index}" for index in range(10)), zone="x")
    before = [f"n-{index}" for index in range(5)]
    for name in (*before, "bad", "next"):
        cluster.healthy(name, zone="x", says={"Ready": "False"})
    fails = refused(500, "InternalError")
    cluster.fault = lambda request: fails if request.path.endswith("nodes/bad/status") else None
    cluster.silence("bad")

    cluster.run(52.0)
    assert cluster.evicted() == before
    assert cluster.status("bad") == "False"

    assert evictions(cluster, 20.0) == {"next": 8}


def test_a_node_that_asked_by_what_it_no_longer_is_does_not_hold_up_its_zone(cluster: LifecycleCluster) -> None:
    """The node becomes healthy between being read and asking for its turn, and the monitor sees that first."""
    fall_silent_in_order(cluster, "a", "b")
    reconciler = cluster.lifecycle.reconciler
    assert isinstance(reconciler, NodeLifecycle)

    reconciler.monitor.turn(WELL[0], 5.0)
    cluster.post(WELL[1], Ready="False")

    assert evictions(cluster, 30.0) == {"b": 10, WELL[1]: 20}
    assert cluster.zones()[0].waiting == 0


def test_a_node_whose_taint_cannot_be_written_uses_its_turn_up(cluster: LifecycleCluster) -> None:
    fall_silent_in_order(cluster, "a", "b", "c", "d")
    fails = refused(500, "InternalError")
    cluster.fault = lambda request: fails if request.path.endswith("nodes/b") else None

    assert evictions(cluster, 30.0) == {"c": 20, "d": 30}


def test_a_turn_that_could_not_be_used_before_a_partial_disruption_is_used_after_it(cluster: LifecycleCluster) -> None:
    """The change of the rate has to wake the node, because a dead node causes no events."""
    fails, names = refused(500, "InternalError"), [f"more-{index}" for index in range(4)]
    cluster.healthy("a", *names, zone="x")
    cluster.healthy("y", zone="y")
    cluster.fault = lambda request: fails if request.path.endswith("nodes/a") else None
    cluster.silence("a")
    cluster.run(51.0)
    assert cluster.status("a") == "Unknown"

    for name in (*WELL, *names[:3]):
        cluster.post(name, Ready="False")  # two of eleven are left
    cluster.fault = lambda request: None
    cluster.run(200.0)
    assert cluster.evicted() == []
    for name in (*WELL, *names[:3]):
        cluster.post(name, Ready="True")

    cluster.run(20.0)
    assert cluster.evicted() == ["a"]


def test_a_zone_that_passes_through_partial_disruption_goes_on_at_its_pace(cluster: LifecycleCluster) -> None:
    """The rest of the zone falls silent 9 s after the first eviction, one node after the other.

    For a moment the zone is partially disrupted, and then wholly. Only that moment delays the next eviction.
    """
    names = [f"z-{index}" for index in range(5)]
    cluster.healthy(*names, zone="z")
    cluster.silence(*names)
    cluster.run(9.0)
    for name in names[1:]:
        cluster.post(name)
    cluster.run(41.5)
    assert cluster.evicted() == names[:1]

    found = evictions(cluster, 40.0)

    assert sorted(found.values()) == [10, 20, 30, 40]
    assert [(zone.state, zone.rate) for zone in cluster.zones()][-1] == (ZoneState.FULL, 0.1)


def test_a_zone_that_recovers_has_the_time_of_one_turn(cluster: LifecycleCluster) -> None:
    """Nodes that are about to return with the zone are not evicted just before that."""
    names = [f"z-{index}" for index in range(5)]
    cluster.healthy(*names, zone="z")
    cluster.silence(*names[:3])
    cluster.run(100.0)
    assert cluster.evicted() == []

    cluster.live(names[0])

    assert sorted(evictions(cluster, 30.0).values()) == [10, 20]


def test_a_zone_of_45_nodes_that_dies_at_once_is_evicted_at_its_rate(cluster: LifecycleCluster) -> None:
    """Their last signs of life are spread over 9 s, so that the zone is partially disrupted for some of them."""
    names = [f"z-{index:02}" for index in range(45)]
    cluster.healthy(*names, zone="z")
    cluster.silence(*names)
    for group in range(5, 45, 5):
        cluster.run(1.1)
        for name in names[group:]:
            cluster.post(name)
    cluster.run(30.0)

    times = sorted(evictions(cluster, 80.0).values())

    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert len(times) >= 4
    assert 10 <= gaps[0] <= 20, "the moment of the partial disruption, at most"
    assert {*gaps[1:]} == {10}
