# SPDX-License-Identifier: Apache-2.0
"""The counting transport passes everything on, and counts it."""

from __future__ import annotations

import pytest

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest
from controller_runtime.client.counting import NO_ANSWER, CountingTransport
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.faults import Delayed, FaultyTransport, Refused, scripted
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

NODES = HTTPRequest("GET", "/api/v1/nodes")
WATCH = HTTPRequest("GET", "/api/v1/nodes", (("watch", "1"),))


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("here")


def counting(host: SimulatedHost, *faults: Delayed | Refused | None) -> CountingTransport:
    inner = InProcessTransport(host, APIServer(host))
    script = {number: fault for number, fault in enumerate(faults) if fault is not None}
    return CountingTransport(host, FaultyTransport(host, inner, scripted(script)))


def test_answers_are_counted_by_code_and_method(host: SimulatedHost) -> None:
    transport = counting(host)
    deadline = host.monotonic() + 1.0

    transport.request(NODES, deadline)
    transport.request(NODES._replace(path="/api/v1/nodes/none"), deadline)
    transport.stream(WATCH, deadline).close()
    transport.request(NODES._replace(method="PUT"), deadline)

    assert transport.counters().answers == {("200", "GET"): 2, ("404", "GET"): 1, ("405", "PUT"): 1}


def test_durations_are_those_of_the_answers(host: SimulatedHost) -> None:
    transport = counting(host, Delayed(0.3), Delayed(0.1))
    deadline = host.monotonic() + 1.0

    transport.request(NODES, deadline)
    transport.stream(WATCH, deadline).close()

    durations = transport.counters().durations["GET"]
    assert durations.count == 2
    assert durations.total == pytest.approx(0.4)


def test_what_was_not_answered_is_counted_and_raised(host: SimulatedHost) -> None:
    transport = counting(host, Refused(), Refused())
    deadline = host.monotonic() + 1.0

    with pytest.raises(ConnectionLost):
        transport.request(NODES, deadline)
    with pytest.raises(ConnectionLost):
        transport.stream(WATCH, deadline)

    assert transport.counters().answers == {(NO_ANSWER, "GET"): 2}


def test_as_a_string_it_is_where_the_server_is(host: SimulatedHost) -> None:
    assert str(counting(host)) == "in-process"


def test_counters_are_a_copy(host: SimulatedHost) -> None:
    transport = counting(host)
    before = transport.counters()

    transport.request(NODES, host.monotonic() + 1.0)

    assert before.answers == {}
    assert before.durations == {}
