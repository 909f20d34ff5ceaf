# SPDX-License-Identifier: Apache-2.0
"""The state that a view shows, taken from a manager."""

from __future__ import annotations

from typing import Any

import pytest
from kit.manager.managing import Bench, Calling

from apimachinery.objects import Cached, ObjectKey, Received, cached_from_bytes
from apimachinery.stop import Stop
from controller_runtime.api.resources import LEASES, NODES, PODS, Resource
from controller_runtime.cache.store import Delta
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controller_runtime.program.kinds import KindCounter, KindCounts
from controller_runtime.program.snapshot import EventTail, SnapshotSource
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer


class NodesElsewhere:
    """A panel that shows the nodes."""

    covers: tuple[Resource[Any], ...] = (NODES,)

    def fields(self) -> dict[str, object]:
        return {}

    def render(self) -> str:
        return ""


@pytest.fixture
def bench(sim: Simulation) -> Bench:
    host = sim.host("r0")
    manager = Manager(host, InProcessTransport(host, APIServer(host)))
    manager.add(Controller("idle", Calling(lambda request: None)).watch(NODES).follow(PODS, lambda delta: ()))
    return Bench(sim, host, manager, Stop(host))


def ready(name: str, status: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": status}]}}


def test_the_collections_that_controllers_watch_are_counted_by_condition(bench: Bench) -> None:
    source = SnapshotSource(bench.manager, kinds=True, events=False)
    bench.start()
    for name, status in (("a", "True"), ("b", "True"), ("c", "False")):
        bench.manager.client.create(NODES, ready(name, status))
    bench.sim.advance(0.1)

    before = source.take()
    bench.manager.client.delete(NODES, bench.manager.lister(NODES).keys()[0])
    bench.manager.informer(LEASES)
    bench.sim.advance(0.1)
    after = source.take()
    bench.finish()

    assert before.kinds == (KindCounts("Node", 3, {"Ready": (2, 1, 0)}), KindCounts("Pod", 0))
    assert [(kind.name, kind.objects) for kind in after.kinds] == [("Node", 2), ("Pod", 0), ("Lease", 0)]
    assert [(c.name, c.errors) for c in before.controllers] == [("idle", 0)]


def test_a_mapper_that_raises_counts_as_an_error_of_its_controller(bench: Bench) -> None:
    def nameless(delta: Delta) -> list[ObjectKey]:
        raise KeyError("name")

    bench.create("a", "b")
    bench.manager.add(Controller("names", Calling(lambda request: None)).watch(NODES, map=nameless))
    source = SnapshotSource(bench.manager, kinds=False, events=False)
    bench.start()

    _, controller = source.take().controllers
    bench.finish()

    assert (controller.name, controller.reconciles) == ("names", 0)
    assert controller.errors >= 2  # each of the two nodes, and later tries


def test_what_a_panel_shows_is_not_counted_twice(bench: Bench) -> None:
    source = SnapshotSource(bench.manager, [NodesElsewhere()], kinds=True, events=True)  # type: ignore[list-item]

    assert [kind.name for kind in source.take().kinds] == ["Pod"]


def test_nothing_is_counted_or_watched_unless_asked(bench: Bench) -> None:
    source = SnapshotSource(bench.manager, kinds=False, events=False)

    assert source.take().kinds == ()
    assert [*bench.manager.informers] == []


def test_selectors_tell_two_collections_of_a_kind_apart(bench: Bench) -> None:
    bench.manager.informer(PODS, namespace="there", label_selector="a=b")
    source = SnapshotSource(bench.manager, kinds=True, events=False)

    assert [kind.name for kind in source.take().kinds] == ["Pod in there with a=b", "Node", "Pod"]


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"Ready": (10, 2, 0)}, "Ready 10, not 2", id="some are not"),
        pytest.param({"Ready": (10, 0, 2)}, "Ready 10, unknown 2", id="some say nothing"),
        pytest.param({"Ready": (0, 12, 0), "DiskPressure": (0, 12, 0)}, "Ready 0, not 12", id="no pressure"),
        pytest.param({"Ready": (12, 0, 0), "DiskPressure": (1, 11, 0)}, "Ready 12; DiskPressure 1, not 11", id="some"),
    ],
)
def test_conditions_are_told_as_text(conditions: dict[str, tuple[int, int, int]], text: str) -> None:
    assert KindCounts("Cabin", 12, conditions).text() == text


def test_objects_that_cannot_be_read_count_as_ones_without_conditions(sim: Simulation) -> None:
    counter = KindCounter(sim.host("here"), "Cabin")
    strange = Received(b'{"status":3}', "a", "", "", "1")
    counter.observe(Delta(None, strange))

    assert counter.count() == KindCounts("Cabin", 1)
    counter.observe(Delta(strange, None))
    assert counter.count() == KindCounts("Cabin", 0)


def event(reason: str) -> Cached:
    return cached_from_bytes(
        f'{{"metadata":{{"name":"e"}},"type":"Normal","reason":"{reason}","note":"told",'
        '"regarding":{"kind":"Node","name":"n"}}'.encode()
    )


def test_the_last_events_are_kept_and_old_ones_at_the_start_are_not() -> None:
    tail = EventTail(size=2)

    tail.observe(Delta(None, event("Old"), initial=True))
    for reason in ("One", "Two", "Three"):
        tail.observe(Delta(None, event(reason)))
    tail.observe(Delta(event("Three"), None))

    assert tail.lines() == ["Normal Two node/n: told", "Normal Three node/n: told"]
