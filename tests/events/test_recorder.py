# SPDX-License-Identifier: Apache-2.0
"""The event recorder never delays its callers, and writes to a server that may not answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kit.occurrences import Sink
from kubernetes.client import V1Node

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.models import model_of
from apimachinery.objects import AnyObject, cached_from_bytes
from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.events.occurrence import OccurrenceFate
from controller_runtime.events.recorder import QUEUED, EventAPI, EventRecorder
from controller_runtime.testing.simulation import SimulatedHost, Simulation

NODE: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}}


class Running:
    """A recorder that runs on a thread of its own and writes to a sink."""

    def __init__(self, host: SimulatedHost, sink: Sink, api: EventAPI = EventAPI.EVENTS) -> None:
        self.sink = sink
        self.host = host
        self.recorder = EventRecorder(host, Client(host, sink), component="example.com/c", api=api)
        self.stop = Stop(host)

    def start(self) -> None:
        self.thread = self.host.spawn("recorder", lambda: self.recorder.run(self.stop))

    def __enter__(self) -> Running:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        assert self.thread.join_until(self.host.monotonic() + 200.0)

    def tell(self, reason: str = "R", message: str = "m", times: int = 1) -> None:
        for _ in range(times):
            self.recorder.event(NODE, "Normal", reason, message)

    def counts(self) -> dict[str, int]:
        return {fate.name: count for fate, count in self.recorder.counts().items() if count}


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("h")


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def running(host: SimulatedHost, sink: Sink) -> Iterator[Running]:
    with Running(host, sink) as running:
        yield running


@pytest.mark.scenario("EV-01")
@pytest.mark.parametrize(
    ("api", "collection", "count"),
    [
        pytest.param(EventAPI.EVENTS, "/apis/events.k8s.io/v1", ("series", "count"), id="events.k8s.io"),
        pytest.param(EventAPI.CORE, "/api/v1", ("count",), id="core"),
    ],
)
def test_the_same_event_twice_is_one_create_and_one_patch(
    sim: Simulation, host: SimulatedHost, sink: Sink, api: EventAPI, collection: str, count: tuple[str, ...]
) -> None:
    """On the wire: a POST into the namespace of events, then a PATCH of that event to a count of 2."""
    with Running(host, sink, api) as running:
        running.tell(times=2)
        sim.settle()

        [name] = sink.events
        path = f"{collection}/namespaces/default/events"
        assert [(r.method, r.path) for r in sink.asked] == [("POST", path), ("PATCH", f"{path}/{name}")]
        found: Any = sink.events[name]
        for part in count:
            found = found[part]
        assert (found, running.counts()) == (2, {"WRITTEN": 2})


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(NODE, id="dict"),
        pytest.param(model_of(V1Node, NODE), id="model"),
        pytest.param(cached_from_bytes(json.dumps(NODE).encode()), id="cached"),
    ],
)
def test_an_event_tells_what_it_is_about_and_who_reports(sim: Simulation, running: Running, obj: AnyObject) -> None:
    running.recorder.event(obj, "Warning", "Broken", "it broke", action="Mending", field_path="spec")
    sim.settle()

    [event] = running.sink.events.values()
    assert event["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "fieldPath": "spec"}
    assert (event["type"], event["reason"], event["note"]) == ("Warning", "Broken", "it broke")
    assert (event["action"], event["reportingController"]) == ("Mending", "example.com/c")
    assert event["reportingInstance"] == "example.com/c-h"
    assert event["metadata"]["name"].startswith("n.")


def test_what_an_event_cannot_hold_is_made_to_fit(sim: Simulation, running: Running) -> None:
    role = {"apiVersion": "v1", "kind": "ClusterRole", "metadata": {"name": "system:node", "uid": "u"}}

    running.recorder.event(role, "Normal", "R", "\ud800" + "ä" * 600)
    sim.settle()

    [event] = running.sink.events.values()
    assert event["metadata"]["name"].startswith("clusterrole.")
    assert (event["note"], event["action"]) == ("?" + "ä" * 511, "R")


@pytest.mark.parametrize(
    ("type_", "reason", "action", "error"),
    [
        pytest.param("Error", "R", "A", "must be Normal or Warning, not 'Error'", id="type"),
        pytest.param("Normal", "", "A", "need 1 to 128 bytes, not ''", id="no reason"),
        pytest.param("Normal", "R" * 129, "A", "need 1 to 128 bytes", id="long reason"),
        pytest.param("Normal", "R", "A" * 129, "need 1 to 128 bytes", id="long action"),
    ],
)
def test_what_a_server_would_refuse_is_refused_at_once(
    running: Running, type_: str, reason: str, action: str, error: str
) -> None:
    with pytest.raises(ValueError, match=error):
        running.recorder.event(NODE, type_, reason, "m", action=action)


def test_a_component_that_is_no_name_is_refused(host: SimulatedHost) -> None:
    with pytest.raises(ValueError, match="component 'a b': name part"):
        EventRecorder(host, Client(host, Sink()), component="a b")


@pytest.mark.scenario("EV-09")
@pytest.mark.parametrize(
    ("answer", "fate"),
    [
        pytest.param(409, OccurrenceFate.FAILED, id="conflict"),
        pytest.param(403, OccurrenceFate.FAILED, id="forbidden"),
        pytest.param(422, OccurrenceFate.FAILED, id="invalid"),
    ],
)
def test_a_refusal_is_final(sim: Simulation, host: SimulatedHost, answer: int, fate: OccurrenceFate) -> None:
    """A write that the server refuses is dropped and counted, and the next event is sent at once."""
    with Running(host, Sink(answer)) as running:
        running.tell()
        running.tell("next")
        sim.settle()

        assert running.sink.methods() == ["POST", "POST"]
        assert running.counts() == {"FAILED": 1, "WRITTEN": 1}


@pytest.mark.scenario("EV-09")
@pytest.mark.parametrize("answer", [pytest.param(None, id="no answer"), pytest.param(503, id="unavailable")])
def test_a_write_without_an_answer_is_tried_twelve_times(
    sim: Simulation, host: SimulatedHost, answer: int | None
) -> None:
    """A write to an unreachable server is tried 12 times: again within 10 s, then every 10 to 11 s."""
    with Running(host, Sink(*[answer] * 12)) as running:
        running.tell()
        running.tell("next")
        sim.advance(10.0)
        soon = len(running.sink.asked)
        sim.advance(89.0)
        most = len(running.sink.asked)
        sim.advance(40.0)

        assert soon == 2
        assert 9 <= most <= 11
        assert running.sink.methods() == ["POST"] * 13
        assert running.counts() == {"FAILED": 1, "WRITTEN": 1}


def test_a_server_that_asks_for_patience_gets_it(sim: Simulation, host: SimulatedHost) -> None:
    with Running(host, Sink(429)) as running:
        running.sink.retry_after = 60

        running.tell()
        sim.advance(59.0)
        before = len(running.sink.asked)
        sim.advance(2.0)

        assert (before, len(running.sink.asked)) == (1, 2)


@pytest.mark.scenario("EV-09")
def test_a_write_that_arrived_without_its_answer_is_not_made_twice(sim: Simulation, host: SimulatedHost) -> None:
    """If a create was done but its answer was lost, AlreadyExists counts as success."""
    with Running(host, Sink(None, loses_only_answers=True)) as running:
        running.tell()
        sim.advance(10.0)

        assert running.sink.methods() == ["POST", "POST"]
        assert running.counts() == {"WRITTEN": 1}


def test_an_event_that_the_server_has_deleted_is_created_again_with_its_count(
    sim: Simulation, running: Running
) -> None:
    running.tell()
    sim.settle()
    running.sink.events.clear()

    running.tell()
    sim.settle()

    assert running.sink.methods() == ["POST", "PATCH", "POST"]
    [event] = running.sink.events.values()
    assert event["series"]["count"] == 2


@pytest.mark.scenario("EV-11")
def test_events_on_top_of_a_thousand_are_dropped_and_nobody_waits(
    sim: Simulation, host: SimulatedHost, sink: Sink
) -> None:
    """Before it runs, or while the server is silent, up to 1000 occurrences wait; more are counted as dropped."""
    running = Running(host, sink)
    before = host.monotonic()

    running.tell(times=QUEUED + 7)

    assert running.counts() == {"DROPPED": 7}
    assert host.monotonic() == before
    running.start()
    sim.settle()
    assert running.counts() == {"DROPPED": 7, "WRITTEN": 2, "HELD": QUEUED - 2}
    running.stop.set()
    sim.settle()


@pytest.mark.scenario("EV-12")
def test_a_stop_before_the_start_writes_what_waits_and_ends(sim: Simulation, host: SimulatedHost, sink: Sink) -> None:
    """A recorder stopped before it runs writes the events that wait and returns; later events are dropped."""
    running = Running(host, sink)
    running.tell(times=3)

    running.stop.set()
    running.start()
    sim.settle()
    running.tell()
    sim.advance(1000.0)

    assert running.thread.join_until(host.monotonic())
    assert [event["series"]["count"] for event in sink.events.values()] == [3]
    assert running.counts() == {"HELD": 1, "WRITTEN": 3, "DROPPED": 1}


@pytest.mark.scenario("EV-12")
def test_a_stop_while_it_retries_ends_it_soon(sim: Simulation, host: SimulatedHost) -> None:
    """Stopped while no server answers, it tries each remaining write once and returns within seconds."""
    running = Running(host, Sink(*[None] * 100))
    running.start()
    running.tell("first")
    running.tell("second")
    sim.advance(30.0)
    tries = len(running.sink.asked)

    running.stop.set()
    sim.settle()

    assert running.thread.join_until(host.monotonic())
    assert len(running.sink.asked) == tries + 1
    assert running.counts() == {"FAILED": 2}


@pytest.mark.scenario("EV-12")
def test_a_drain_ends_when_it_is_cancelled(sim: Simulation, host: SimulatedHost, sink: Sink) -> None:
    """Cancelled before it has written all events, it counts those that are left as failed."""
    running = Running(host, sink)
    running.tell(times=3)

    running.stop.cancel()
    running.start()
    sim.settle()

    assert sink.asked == []
    assert running.counts() == {"HELD": 1, "FAILED": 3}


class SlowSink(Sink):
    """A sink that takes two seconds for each request."""

    def __init__(self, host: SimulatedHost) -> None:
        super().__init__()
        self._pause = Stop(host, "slow")

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self._pause.wait(2.0)
        return super().request(request, deadline)


def test_a_drain_takes_a_few_seconds_at_most(sim: Simulation, host: SimulatedHost) -> None:
    running = Running(host, SlowSink(host))
    for number in range(9):
        running.tell(f"R{number}")

    running.stop.set()
    running.start()
    sim.advance(7.0)

    assert running.thread.join_until(host.monotonic())
    assert running.counts() == {"WRITTEN": 3, "FAILED": 6}


@pytest.mark.scenario("EV-13")
def test_a_series_ends_by_itself_after_six_quiet_minutes(sim: Simulation, running: Running) -> None:
    """The last count of a series is written six minutes after its last occurrence, without a new occurrence."""
    running.tell(times=5)
    sim.settle()
    [event] = running.sink.events.values()
    early = event["series"]["count"]
    sim.advance(359.0)
    still = running.sink.methods()

    sim.advance(2.0)

    assert (early, event["series"]["count"]) == (2, 5)
    assert still == ["POST", "PATCH"]
    running.tell()
    sim.settle()
    assert len(running.sink.events) == 2
