# SPDX-License-Identifier: Apache-2.0
"""Taint eviction with objects that have odd values, cannot be decoded, or were replaced by others of their name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kit.controllers.evicting import TAINT, UNREACHABLE, Evicting, tolerates

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES, PODS, Resource
from controller_runtime.cache.transforms import edited
from controller_runtime.testing.simulation import Simulation

LOST = {"key": UNREACHABLE, "effect": "NoExecute"}


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[Evicting]:
    cluster = Evicting(sim)
    cluster.node()
    yield cluster
    cluster.end()


def unreadable(field: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Return a function that puts `value` into a field of the spec of objects whose name begins with `odd`."""

    def spoil(obj: dict[str, Any]) -> None:
        if obj["metadata"]["name"].startswith("odd"):
            obj["spec"][field] = value

    return spoil


@pytest.mark.parametrize(
    ("resource", "field", "value"),
    [
        pytest.param(PODS, "tolerations", [{"key": 7}], id="a key that is a number"),
        pytest.param(PODS, "tolerations", [{"tolerationSeconds": "soon"}], id="seconds that are a word"),
        pytest.param(PODS, "tolerations", "all", id="tolerations that are a word"),
        pytest.param(NODES, "taints", [{"effect": "NoExecute"}], id="a taint without a key"),
        pytest.param(NODES, "taints", {"key": "k"}, id="taints that are no list"),
    ],
)
def test_what_cannot_be_read_is_left_alone_with_a_line_and_others_go_on(
    sim: Simulation, caplog: pytest.LogCaptureFixture, resource: Resource[Any], field: str, value: object
) -> None:
    cluster = Evicting(sim, {resource: edited(unreadable(field, value))})
    for name in ("odd", "n"):
        cluster.node(name)
    cluster.pod("odd", node="odd")
    cluster.pod("p")
    cluster.start()
    for name in ("odd", "n"):
        cluster.taint(name, TAINT)
    sim.advance(600.0)

    assert cluster.leaving() == ["p"]
    lines = [record for record in caplog.records if "left alone until it or its node changes" in record.getMessage()]
    assert len(lines) == 2, "one when it was seen first, one when its node was tainted"
    cluster.end()


@pytest.mark.parametrize("seconds", [0, -1, -(2**63)])
def test_seconds_that_are_none_are_over_at_once(cluster: Evicting, seconds: int) -> None:
    cluster.pod("p", tolerates("dedicated", seconds))
    cluster.start()

    cluster.taint("n", TAINT)

    assert cluster.is_leaving("p")
    assert cluster.controller.errors == 0


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_a_pod_that_takes_the_name_of_one_that_has_to_leave_is_judged_by_itself(cluster: Evicting, method: str) -> None:
    cluster.pod("p")
    cluster.start()

    def replace() -> None:
        cluster.world.delete(PODS, ObjectKey("p", "default"), grace_period_seconds=0)
        containers = [{"name": "main", "image": "x"}]
        spec = {"nodeName": "n", "containers": containers, "tolerations": [{"operator": "Exists"}]}
        cluster.world.create(PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": spec})

    cluster.before[method] = replace
    cluster.taint("n", TAINT)
    cluster.sim.advance(60.0)

    assert not cluster.is_leaving("p")
    assert "conditions" not in cluster.get("p")["status"]


def test_a_node_that_takes_the_name_of_one_that_was_lost_keeps_the_pods(cluster: Evicting) -> None:
    cluster.pod("p", tolerates(UNREACHABLE, 20))
    cluster.start()
    cluster.taint("n", LOST)

    def replace() -> None:
        cluster.world.delete(NODES, ObjectKey("n"))
        cluster.world.create(NODES, {"metadata": {"name": "n"}})

    cluster.before["GET"] = replace
    cluster.sim.advance(600.0)

    assert "GET n" in cluster.asked
    assert not cluster.is_leaving("p")


def test_a_node_that_is_made_anew_and_lost_again_is_waited_for_anew(cluster: Evicting) -> None:
    cluster.pod("p", tolerates(UNREACHABLE, 20))
    cluster.start()
    cluster.taint("n", LOST)
    cluster.sim.advance(15.0)

    cluster.world.delete(NODES, ObjectKey("n"))
    cluster.node("n")
    cluster.taint("n", LOST)
    cluster.sim.advance(19.0)
    assert not cluster.is_leaving("p")

    cluster.sim.advance(1.1)
    assert cluster.is_leaving("p")
