# SPDX-License-Identifier: Apache-2.0
"""A reconcile that ends because an object cannot be read waits until the object changes."""

from __future__ import annotations

import logging
from typing import Any, Literal

import attrs
import msgspec
import pytest
from kit.noting import Bench

from apimachinery.errors import Conflict, DecodeError, TerminalError
from apimachinery.log import fields_of, text_of
from apimachinery.objects import ObjectKey, cached_from_bytes
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES, NODES, PODS
from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.cache.lister import Lister
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.unreadable import covers


class Metadata(msgspec.Struct):
    name: str
    annotations: dict[str, Literal["warm", "cold"]] = {}


class Strict(msgspec.Struct):
    """A view that cannot hold every node: its annotations may have other values."""

    metadata: Metadata


@attrs.frozen
class Reading(Reconciler):
    """Reads its node, as a class that cannot hold each of them."""

    nodes: Lister[Strict]
    tries: list[str] = attrs.field(factory=list)
    read: list[str] = attrs.field(factory=list)

    def reconcile(self, request: Request) -> Result:
        self.tries.append(str(request))
        self.nodes.get(request)
        self.read.append(str(request))
        return Result()


@pytest.fixture
def reading(bench: Bench) -> Reading:
    return Reading(Lister(bench.informers.of(Collection(NODES)).store, NODES, Strict))


def unreadable(controller: Controller) -> list[tuple[str, str]]:
    trouble = controller.trouble()
    assert trouble is not None
    count, first = trouble.unreadable.first(9)
    assert count == len(first)
    return [(str(each.request), each.text) for each in first]


TEXT = "Node bad: Invalid enum value 'x' at $.metadata.annotations[...]"


def test_it_is_not_retried_until_it_changes_and_is_reconciled_then(
    bench: Bench, reading: Reading, caplog: pytest.LogCaptureFixture
) -> None:
    controller = Controller("reading", reading).watch(NODES)
    bench.start(controller)
    bench.create("bad", "good")
    bench.annotate("bad", "x")
    bench.sim.settle()
    before = len(reading.tries)
    bench.sim.advance(3600.0)
    assert len(reading.tries) == before
    assert unreadable(controller) == [("bad", TEXT)]

    bench.client.patch(NODES, ObjectKey("bad"), {"metadata": {"annotations": None}})
    bench.sim.settle()

    assert reading.read[-1] == "bad"
    assert unreadable(controller) == []
    told = [record for record in caplog.records if text_of(record).startswith("object cannot be read")]
    assert [fields_of(record)["error"] for record in told] == [TEXT]
    assert not any(record.exc_info for record in told)


def test_it_is_told_once_however_often_it_changes(
    bench: Bench, reading: Reading, caplog: pytest.LogCaptureFixture
) -> None:
    controller = Controller("reading", reading).watch(NODES)
    bench.start(controller)
    bench.create("bad")
    bench.sim.settle()
    for number in range(10):
        bench.client.patch(
            NODES, ObjectKey("bad"), {"metadata": {"annotations": {"zone": "x"}, "labels": {"l": f"{number}"}}}
        )
        bench.sim.settle()

    told = [record for record in caplog.records if text_of(record).startswith("object cannot be read")]
    assert [record.levelno for record in told] == [logging.WARNING]
    trouble, counters = controller.trouble(), controller.counters()
    assert trouble is not None
    assert counters is not None
    assert trouble.unreadable.counts() == {"Node": 10}
    assert counters[0].terminal_errors == 10


def test_its_end_is_forgotten_when_the_object_is_deleted(bench: Bench, reading: Reading) -> None:
    controller = Controller("reading", reading).watch(NODES)
    bench.start(controller)
    bench.create("bad")
    bench.annotate("bad", "x")
    bench.sim.settle()
    assert len(unreadable(controller)) == 1

    bench.client.delete(NODES, ObjectKey("bad"))
    bench.sim.settle()

    assert unreadable(controller) == []


def test_an_object_that_the_controller_does_not_watch_is_tried_again(bench: Bench, reading: Reading) -> None:
    """Its change would cause no reconcile, so waiting for it could be forever."""
    controller = Controller("reading", reading).watch(LEASES, map=lambda delta: [ObjectKey("bad")])
    bench.start(controller)
    bench.create("bad")
    bench.annotate("bad", "x")
    bench.sim.settle()
    bench.client.create(LEASES, {"metadata": {"name": "l", "namespace": "default"}})
    bench.sim.advance(1.0)

    assert len(reading.tries) > 5
    assert unreadable(controller) == []


def raising(error: Exception) -> Reconciler:
    @attrs.frozen
    class Raising(Reconciler):
        def reconcile(self, request: Request) -> Result:
            seen.append(str(request))
            raise error

    seen: list[str] = []
    made = Raising()
    tries[id(made)] = seen
    return made


tries: dict[int, list[str]] = {}
POD = cached_from_bytes(b'{"metadata":{"name":"p","namespace":"web","labels":{"app":"a"}}}')
NODE = cached_from_bytes(b'{"metadata":{"name":"bad"}}')
OF_NODE = UnreadableObject(NODES, NODE, "Expected int")


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "is_final"),
    [
        pytest.param(OF_NODE, True, id="itself"),
        pytest.param(caused(ValueError("v"), OF_NODE), True, id="cause"),
        pytest.param(ExceptionGroup("g", [OF_NODE, TerminalError("t")]), True, id="beside a terminal error"),
        pytest.param(ExceptionGroup("g", [OF_NODE, Conflict("c", code=409)]), False, id="beside another error"),
        pytest.param(UnreadableObject(PODS, POD, "Expected int"), False, id="of another kind"),
        pytest.param(DecodeError("a page of a proxy"), False, id="an answer"),
    ],
)
def test_which_errors_wait_for_a_change(bench: Bench, error: Exception, is_final: bool) -> None:
    reconciler = raising(error)
    bench.start(Controller("raising", reconciler).watch(NODES))
    bench.create("a")
    bench.sim.advance(1.0)

    assert (len(tries[id(reconciler)]) == 1) == is_final


def test_a_terminal_error_of_the_reconcilers_own_keeps_its_text(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    controller = Controller("raising", raising(caused(TerminalError("left alone"), OF_NODE))).watch(NODES)
    bench.start(controller)
    bench.create("a")
    bench.sim.advance(1.0)

    assert unreadable(controller) == []
    told = [fields_of(record)["error"] for record in caplog.records if text_of(record) == "reconcile failed for good"]
    assert told == ["TerminalError: left alone (caused by UnreadableObject: Node bad: Expected int)"]


@pytest.mark.parametrize(
    ("collection", "is_covered"),
    [
        pytest.param(Collection(PODS), True, id="all"),
        pytest.param(Collection(PODS, "web"), True, id="its namespace"),
        pytest.param(Collection(PODS, "other"), False, id="another namespace"),
        pytest.param(Collection(PODS, label_selector="app=a"), True, id="its labels"),
        pytest.param(Collection(PODS, label_selector="app=b"), False, id="other labels"),
        pytest.param(Collection(PODS, field_selector="spec.nodeName=n"), False, id="fields"),
        pytest.param(Collection(PODS.only_metadata()), False, id="metadata alone"),
        pytest.param(Collection(LEASES), False, id="another kind"),
    ],
)
def test_a_watch_covers_what_it_is_sure_to_report(collection: Collection, is_covered: bool) -> None:
    assert covers(collection, UnreadableObject(PODS, POD, "Expected int")) == is_covered


def test_the_error_names_the_object_and_where_it_is_wrong(bench: Bench, reading: Reading) -> None:
    bench.start(Controller("reading", reading).watch(NODES))
    bench.create("bad")
    bench.annotate("bad", "x")
    bench.sim.settle()

    with pytest.raises(UnreadableObject, match=r"^Node bad: Invalid enum value 'x' at \$") as raised:
        reading.nodes.get(ObjectKey("bad"))

    error: Any = raised.value
    assert (error.resource, error.key, error.cached.name) == (NODES, ObjectKey("bad"), "bad")
