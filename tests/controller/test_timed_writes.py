# SPDX-License-Identifier: Apache-2.0
"""Writes that change nothing but times, at the end of a `requeue_after`: which are counted, and where it is told."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs
import pytest

from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey, timestamp
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import LEASES, Resource
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.timed_writes import MOST_PLACES, TOLD, TimedWrites
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.metrics import Metrics
from controller_runtime.testing import EmbeddedCluster, Simulation

A = ObjectKey("a", "default")
PERIOD = 30.0


def patch(body: Any, path: str = "/api/v1/namespaces/default/pods/a") -> HTTPRequest:
    return HTTPRequest("PATCH", path, (), {}, json.dumps(body).encode())


def at(second: int, **more: object) -> dict[str, Any]:
    return {"status": {"at": f"2026-01-01T00:00:{second:02}Z", **more}}


@pytest.mark.parametrize(
    ("writes", "counted"),
    [
        ([patch(at(1))], 0),
        ([patch(at(1)), patch(at(2)), patch(at(3))], 2),
        ([patch(at(1, phase="a")), patch(at(2, phase="a"))], 1),
        ([patch(at(1, phase="a")), patch(at(2, phase="b"))], 0),
        ([patch({"data": {"n": 1}}), patch({"data": {"n": 1}})], 0),
        ([patch(at(1)), patch(at(2), "/api/v1/namespaces/default/pods/b")], 0),
        ([patch(at(n), "/apis/coordination.k8s.io/v1/namespaces/default/leases/a") for n in (1, 2)], 0),
        ([HTTPRequest("PUT", "/api/v1/nodes/a", (), {}, b"not JSON")] * 2, 0),
    ],
    ids=[
        "the first is not known to be one",
        "a time alone",
        "a time beside what stays",
        "a time beside a change",
        "no time",
        "another place",
        "a lease is there for times",
        "no JSON",
    ],
)
def test_a_write_counts_if_a_time_alone_differs_from_the_last_one(writes: list[HTTPRequest], counted: int) -> None:
    timed = TimedWrites()

    told = [timed.wrote("c", write) for write in writes]

    assert timed.counts["c"] == counted == sum(each is not None for each in told)


def test_the_places_that_are_remembered_are_bounded() -> None:
    timed = TimedWrites()
    for number in (*range(MOST_PLACES + 1), 0, MOST_PLACES):
        timed.wrote("c", patch(at(1), f"/api/v1/nodes/n{number}"))

    assert timed.counts["c"] == 1  # the newest place; the oldest was forgotten


@attrs.frozen
class Stamping(Reconciler):
    """Writes the time into an object, if the one there is older than a period."""

    client: Client
    host: Host
    resource: Resource[Any]
    stamp: Callable[[datetime], dict[str, Any]]
    written: dict[Request, float] = attrs.field(factory=dict)

    def reconcile(self, request: Request) -> Result:
        left = self.written.get(request, 0.0) + PERIOD - self.host.monotonic()
        if left > 0:
            return Result(requeue_after=left)
        self.written[request] = self.host.monotonic()
        self.client.patch(self.resource, request, self.stamp(self.host.now()))
        return Result(requeue_after=PERIOD)


def stamping(manager: Manager, resource: Resource[Any], stamp: Callable[[datetime], dict[str, Any]]) -> None:
    reconciler = Stamping(manager.client, manager.host, resource, stamp)
    manager.add(Controller("stamper", reconciler).watch(resource))


@pytest.mark.parametrize(
    ("resource", "stamp", "counts"),
    [
        pytest.param(CONFIG_MAPS, lambda now: {"data": {"at": timestamp(now)}}, True, id="a time alone"),
        pytest.param(CONFIG_MAPS, lambda now: {"data": {"n": str(now.timestamp())}}, False, id="a number"),
        pytest.param(LEASES, lambda now: {"spec": {"leaseTransitions": now.minute}}, False, id="a lease"),
    ],
)
def test_a_controller_that_stamps_is_counted_and_told_once(
    simulation: Simulation,
    cluster: EmbeddedCluster,
    caplog: pytest.LogCaptureFixture,
    resource: Resource[Any],
    stamp: Callable[[datetime], dict[str, Any]],
    counts: bool,
) -> None:
    caplog.set_level(logging.INFO, "controller_runtime.controller.self_wakes")
    cluster.run(lambda manager: stamping(manager, resource, stamp))
    cluster.user.create(resource, {"metadata": {"name": A.name, "namespace": A.namespace}})
    simulation.advance(PERIOD * (TOLD + 5) + 1.0)

    number = TOLD + 4 if counts else 0  # of the writes that time caused, the first has none to be compared with
    line = f'controller_runtime_reconcile_time_only_writes_total{{controller="stamper"}} {number}.0'
    assert line in Metrics(cluster.manager).text().decode()
    assert [record.message.partition(" controller=")[0] for record in caplog.records] == [
        "stamper writes nothing but times when time alone causes a reconcile: .data.at of configmaps/default/a, 10 "
        "such writes so far; each is an event for all that watch the object: write a time only beside another change, "
        "or keep it in a Lease"
    ] * counts
    assert cluster.manager.self_wakes.found() == []
