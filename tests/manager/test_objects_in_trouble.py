# SPDX-License-Identifier: Apache-2.0
"""The reports of a manager about single objects that its controllers cannot deal with."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Literal

import attrs
import msgspec
import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import text_of
from apimachinery.objects import ObjectKey, labels_of
from controller_runtime.api.resources import EVENTS, LEASES, NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Stream
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.health import health_of
from controller_runtime.manager.inspection import describe
from controller_runtime.manager.metrics import Metrics
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node


class Metadata(msgspec.Struct):
    name: str
    labels: dict[str, Literal["a", "b"]] = {}


class Strict(msgspec.Struct):
    """A view that cannot hold every node."""

    metadata: Metadata


@attrs.frozen
class Reading(Reconciler):
    """Reads its node."""

    nodes: Lister[Strict]

    def reconcile(self, request: Request) -> Result:
        self.nodes.get(request)
        return Result()


def zone_of(delta: Delta) -> Iterable[Request]:
    return [ObjectKey(labels_of(delta.object)["zone"])]


def readyz(cluster: EmbeddedCluster, path: str = "/readyz", *, trusted: bool = True) -> tuple[int, str]:
    request = HTTPRequest("GET", path, [("verbose", "")])
    response = health_of(cluster.manager).answer(request, trusted=trusted)
    return response.status, response.body.decode()


def mapped_badly(cluster: EmbeddedCluster) -> None:
    cluster.manager.add(Controller("zones", Reading(cluster.manager.lister(NODES, Strict))).watch(NODES, map=zone_of))
    cluster.user.create(NODES, a_node("n1"))
    cluster.user.create(NODES, a_node("n2"))


@pytest.mark.embedded_cluster(allow_panics=True)
def test_objects_that_cannot_be_mapped_are_shown_and_leave_the_manager_ready(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    mapped_badly(cluster)
    cluster.start()
    simulation.settle()

    status, says = readyz(cluster)
    assert status == 200
    assert "[!]mappers ok, but: zones fails for Node n1: KeyError: 'zone' (and 1 more)\n" in says
    assert says.endswith("readyz check passed\n")
    assert readyz(cluster, "/readyz/mappers")[0] == 200
    assert "[!]mappers ok, but: reason withheld\n" in readyz(cluster, trusted=False)[1]
    (shown,) = describe(cluster.manager)["controllers"]
    assert shown["failing"] == [
        {"kind": "Node", "key": name, "failures": 1, "error": "KeyError: 'zone'"} for name in ("n1", "n2")
    ]
    text = Metrics(cluster.manager).text().decode()
    assert 'controller_runtime_mapper_failing_objects{controller="zones",kind="Node"} 2.0\n' in text
    assert 'controller_runtime_mapper_errors_total{controller="zones",kind="Node"} 2.0\n' in text


@pytest.mark.embedded_cluster(allow_panics=True)
def test_objects_that_are_mended_are_shown_no_more(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    mapped_badly(cluster)
    cluster.start()
    simulation.settle()
    for name in ("n1", "n2"):
        cluster.user.patch(NODES, ObjectKey(name), {"metadata": {"labels": {"zone": "z"}}})
    simulation.settle()

    assert "[+]mappers ok\n" in readyz(cluster)[1]
    assert describe(cluster.manager)["controllers"][0]["failing"] == []


def reading(cluster: EmbeddedCluster, name: str = "reading") -> None:
    cluster.manager.add(Controller(name, Reading(cluster.manager.lister(NODES, Strict))).watch(NODES))
    cluster.user.create(NODES, a_node("bad", labels={"zone": "z"}))


TEXT = "Invalid enum value 'z' at $.metadata.labels[...]"


def test_an_object_that_cannot_be_read_is_shown_and_told_of_by_an_event(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    reading(cluster)
    cluster.start()
    simulation.advance(60.0)

    (event,) = cluster.user.list(EVENTS, view=dict)
    assert (event["type"], event["reason"], event["note"]) == ("Warning", "Unreadable", f"reading: {TEXT}")
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("Node", "bad")
    assert event["reportingController"] == "reading"
    status, says = readyz(cluster)
    assert status == 200
    assert f"[!]objects ok, but: reading cannot read Node bad: {TEXT}\n" in says
    (shown,) = describe(cluster.manager)["controllers"]
    assert shown["unreadable"] == [{"request": "bad", "error": f"Node bad: {TEXT}"}]
    text = Metrics(cluster.manager).text().decode()
    assert 'controller_runtime_unreadable_objects_total{controller="reading",kind="Node"} 1.0\n' in text


def test_a_manager_without_such_objects_has_no_recorder(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    reading(cluster)
    cluster.user.delete(NODES, ObjectKey("bad"))
    cluster.start()
    simulation.advance(60.0)

    assert cluster.manager.recorders == []


def test_a_recorder_of_the_programs_own_tells_it(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    recorder = cluster.manager.recorder("reading")
    reading(cluster)
    cluster.start()
    simulation.advance(60.0)

    assert cluster.manager.recorders == [recorder]
    assert len(cluster.user.list(EVENTS)) == 1


def test_a_controller_whose_name_no_component_can_have_is_told_of_in_the_log_alone(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    reading(cluster, "no component")
    cluster.start()
    simulation.advance(60.0)

    assert cluster.user.list(EVENTS) == []
    assert "[!]objects ok, but: no component cannot read Node bad" in readyz(cluster)[1]


@attrs.frozen
class WithoutEvents:
    """A transport whose user may not write events."""

    inner: InProcessTransport

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if request.path.endswith("/events"):
            return HTTPResponse(403, {}, b'{"kind":"Status","reason":"Forbidden","message":"events is forbidden"}')
        return self.inner.request(request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        return self.inner.stream(request, deadline)

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def silent(simulation: Simulation, cluster: EmbeddedCluster) -> Iterator[EmbeddedCluster]:
    """Return a cluster whose manager may not write events."""
    host = simulation.host("silent")
    inner = InProcessTransport(host, cluster.server)
    with EmbeddedCluster(host, server=cluster.server, transport=WithoutEvents(inner)) as silent:
        yield silent


def test_without_the_right_to_write_events_one_line_says_so_and_all_goes_on(
    simulation: Simulation, silent: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    reading(silent)
    silent.user.create(NODES, a_node("bad-2", labels={"zone": "z"}))
    silent.start()
    simulation.advance(60.0)
    silent.user.create(LEASES, {"metadata": {"name": "l", "namespace": "default"}})

    lost = [text_of(each) for each in caplog.records if "lost" in text_of(each) and each.levelno >= logging.WARNING]
    assert lost == ["events are lost: let the role create and patch them"]
    assert len(describe(silent.manager)["controllers"][0]["unreadable"]) == 2
    assert not silent.manager.stopping.is_set()
