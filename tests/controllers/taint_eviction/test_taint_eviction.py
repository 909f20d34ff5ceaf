# SPDX-License-Identifier: Apache-2.0
"""Taint eviction on an embedded cluster: which pods are deleted, when, and with which events."""

from __future__ import annotations

from typing import Any

import pytest
from kit.controllers.evicting import NOT_READY, TAINT, UNREACHABLE, Evicting, tolerates

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import EVENTS, NODES
from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def cluster(sim: Simulation) -> Any:
    cluster = Evicting(sim)
    cluster.node()
    cluster.start()
    yield cluster
    cluster.end()


def unreachable(effect: str = "NoExecute", key: str = UNREACHABLE) -> dict[str, str]:
    return {"key": key, "effect": effect}


@pytest.mark.scenario("F-39")
def test_a_pod_that_does_not_tolerate_the_taint_is_deleted_at_once_and_says_why(cluster: Evicting) -> None:
    """The pod has the condition DisruptionTarget before it is deleted, and its own grace period runs."""
    cluster.pod("p")

    cluster.taint("n", TAINT)

    pod = cluster.get("p")
    condition = pod["status"]["conditions"][-1]
    assert condition.pop("lastTransitionTime")
    assert condition.pop("lastProbeTime") is None
    assert condition == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "observedGeneration": 1,
    }
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    assert cluster.asked == ["GET n", "PATCH p", "DELETE p"]
    assert cluster.events() == ["Marking p"]


@pytest.mark.scenario("F-39")
def test_the_event_has_upstreams_words(cluster: Evicting) -> None:
    """The event has upstream's type, component and message."""
    cluster.pod("p")

    cluster.taint("n", TAINT)
    cluster.sim.settle()

    (event,) = cluster.world.list(EVENTS, "default", view=dict)
    assert (event["type"], event["reason"]) == ("Normal", "TaintManagerEviction")
    assert event["note"] == "Marking for deletion Pod default/p"
    assert event["reportingController"] == "taint-eviction-controller"
    assert event["regarding"]["uid"] == cluster.get("p")["metadata"]["uid"]


@pytest.mark.scenario("F-40")
def test_a_pod_without_tolerations_of_its_own_stays_for_300_s_on_a_node_that_is_lost(cluster: Evicting) -> None:
    """The API server gives the pod two tolerations of 300 s; they run from when the taint is first seen."""
    cluster.pod("p")
    assert cluster.get("p")["spec"]["tolerations"] == [tolerates(NOT_READY, 300), tolerates(UNREACHABLE, 300)]

    cluster.taint("n", unreachable())
    cluster.sim.advance(299.9)
    assert not cluster.is_leaving("p")

    cluster.sim.advance(0.2)
    assert cluster.is_leaving("p")


@pytest.mark.scenario("F-41")
def test_the_shortest_of_the_tolerations_decides(cluster: Evicting) -> None:
    """A pod that tolerates one taint for 30 s and another for 100 s is deleted after 30 s."""
    cluster.pod("p", tolerates(UNREACHABLE, 100), tolerates("dedicated", 30))

    cluster.taint("n", TAINT, unreachable())
    cluster.sim.advance(29.9)
    assert not cluster.is_leaving("p")

    cluster.sim.advance(0.2)
    assert cluster.is_leaving("p")


@pytest.mark.scenario("F-42")
@pytest.mark.parametrize("seconds", [1000, 1, 0])
def test_another_tolerance_does_not_move_a_time_that_runs(cluster: Evicting, seconds: int) -> None:
    """A toleration of 100 s that becomes longer or shorter leaves the deletion at 100 s."""
    cluster.pod("p", tolerates("dedicated", 100))
    cluster.taint("n", TAINT)
    cluster.sim.advance(20.0)

    cluster.tolerate("p", tolerates("dedicated", seconds))
    cluster.sim.advance(79.9)
    assert not cluster.is_leaving("p")

    cluster.sim.advance(0.2)
    assert cluster.is_leaving("p")
    assert cluster.events() == ["Marking p"]


@pytest.mark.scenario("F-43")
def test_a_node_that_returns_keeps_its_pods(cluster: Evicting) -> None:
    """If the taint is removed in time the deletion is cancelled, and an event says so."""
    cluster.pod("p")
    cluster.taint("n", unreachable())
    cluster.sim.advance(299.0)

    cluster.taint("n")
    cluster.sim.advance(3600.0)

    assert not cluster.is_leaving("p")
    assert cluster.events() == ["Cancelling p"]
    assert cluster.asked == []


@pytest.mark.scenario("F-44")
def test_a_taint_that_is_not_tolerated_ends_the_wait(cluster: Evicting) -> None:
    """A second taint that is not tolerated cancels the wait, and the pod is deleted at once."""
    cluster.pod("p")
    cluster.taint("n", unreachable())
    cluster.sim.advance(10.0)

    cluster.taint("n", unreachable(), TAINT)

    assert cluster.is_leaving("p")
    assert cluster.events() == ["Cancelling p", "Marking p"]


def test_a_taint_that_comes_again_is_waited_for_anew(cluster: Evicting) -> None:
    cluster.pod("p", tolerates("dedicated", 30))
    cluster.taint("n", TAINT)
    cluster.sim.advance(25.0)
    cluster.taint("n")

    cluster.taint("n", TAINT)
    cluster.sim.advance(29.0)

    assert not cluster.is_leaving("p")


def test_a_pod_that_tolerates_for_ever_stays(cluster: Evicting) -> None:
    cluster.pod("every", {"operator": "Exists"})
    cluster.pod("these", tolerates(), tolerates(UNREACHABLE))

    cluster.taint("n", TAINT, unreachable())
    cluster.sim.advance(86400.0)

    assert cluster.leaving() == []
    assert cluster.asked == []
    assert cluster.events() == []


def test_a_toleration_that_comes_in_time_keeps_the_pod(cluster: Evicting) -> None:
    cluster.pod("p", tolerates("dedicated", 40))
    cluster.taint("n", TAINT)

    cluster.tolerate("p", tolerates("dedicated"))
    cluster.sim.advance(100.0)

    assert not cluster.is_leaving("p")
    assert cluster.events() == ["Cancelling p"]


@pytest.mark.parametrize("effect", ["NoSchedule", "PreferNoSchedule"])
def test_taints_of_other_effects_are_of_no_concern(cluster: Evicting, effect: str) -> None:
    cluster.pod("p")

    cluster.taint("n", {**TAINT, "effect": effect})
    cluster.sim.advance(1000.0)

    assert cluster.leaving() == []


def test_a_pod_that_comes_to_a_tainted_node_leaves_again(cluster: Evicting) -> None:
    cluster.taint("n", TAINT)

    cluster.pod("none")
    cluster.pod("a-while", tolerates("dedicated", 20))

    assert cluster.leaving() == ["none"]
    cluster.sim.advance(20.1)
    assert cluster.leaving() == ["a-while", "none"]


def test_a_pod_without_a_node_is_of_no_concern_until_it_is_bound(cluster: Evicting) -> None:
    cluster.taint("n", TAINT)
    cluster.pod("p", node="")
    cluster.sim.advance(10.0)
    assert not cluster.is_leaving("p")

    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    cluster.bind("p", binding)

    assert cluster.is_leaving("p")


def test_a_time_that_runs_outlives_the_node(cluster: Evicting) -> None:
    cluster.pod("p")
    cluster.taint("n", unreachable())
    cluster.sim.advance(100.0)

    cluster.world.delete(NODES, ObjectKey("n"))
    cluster.sim.advance(199.0)
    assert not cluster.is_leaving("p")

    cluster.sim.advance(1.1)
    assert cluster.is_leaving("p")


def test_a_node_that_was_made_anew_without_the_taint_keeps_its_pods(cluster: Evicting) -> None:
    cluster.pod("p")
    cluster.taint("n", unreachable())
    cluster.world.delete(NODES, ObjectKey("n"))
    cluster.sim.advance(100.0)

    cluster.node("n")
    cluster.sim.advance(1000.0)

    assert not cluster.is_leaving("p")
    assert cluster.events() == ["Cancelling p"]


def test_a_namesake_has_a_time_of_its_own(cluster: Evicting) -> None:
    cluster.pod("p", tolerates("dedicated", 45))
    cluster.taint("n", TAINT)
    cluster.sim.advance(12.0)

    cluster.delete("p", grace=0)
    cluster.pod("p", tolerates("dedicated", 60))
    cluster.sim.advance(59.9)
    assert not cluster.is_leaving("p")

    cluster.sim.advance(0.2)
    assert cluster.is_leaving("p")
    assert cluster.events() == ["Cancelling p", "Marking p"]


def test_a_pod_that_is_deleted_already_is_left_alone(cluster: Evicting) -> None:
    cluster.pod("p")
    cluster.delete("p")
    before = cluster.get("p")

    cluster.taint("n", TAINT)
    cluster.sim.advance(100.0)

    assert cluster.get("p") == before
    assert cluster.events() == []


def test_a_clock_that_jumps_moves_nothing(cluster: Evicting) -> None:
    cluster.pod("p")
    cluster.taint("n", unreachable())

    cluster.sim.jump(cluster.host, 86400.0)
    cluster.sim.advance(299.0)
    assert not cluster.is_leaving("p")
    cluster.sim.jump(cluster.host, -2 * 86400.0)

    cluster.sim.advance(1.1)
    assert cluster.is_leaving("p")


def test_toleration_seconds_beyond_every_clock_are_for_ever(cluster: Evicting) -> None:
    cluster.pod("p", tolerates("dedicated", 2**63 - 1))

    cluster.taint("n", TAINT)
    cluster.sim.advance(86400.0)

    assert not cluster.is_leaving("p")
    assert cluster.controller.errors == 0


def test_what_is_counted(cluster: Evicting) -> None:
    for name in ("a", "b"):
        cluster.pod(name)
    cluster.pod("stays", {"operator": "Exists"})

    cluster.taint("n", TAINT)

    assert cluster.text("taint_eviction_controller_pod_deletions_total") == ["2.0"]
    assert cluster.text("taint_eviction_controller_pod_deletion_duration_seconds_count") == ["2.0"]
