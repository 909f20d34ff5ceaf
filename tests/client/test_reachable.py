# SPDX-License-Identifier: Apache-2.0
"""Callers that wait for a server continue as soon as it gives an answer that counts."""

from __future__ import annotations

import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop
from controller_runtime.client.counting import CountingTransport
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.reachable import ServerReachable
from controller_runtime.testing.simulation import SimulatedHost, Simulation


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("here")


class Waiter:
    """Waits for ten seconds."""

    def __init__(self, host: SimulatedHost, reachable: ServerReachable, stop: Stop) -> None:
        self.outcome: tuple[bool, float] | None = None

        def wait() -> None:
            self.outcome = reachable.wait(stop, 10.0), host.monotonic()

        host.spawn("waiter", wait)


def test_who_waits_goes_on_once_the_server_answers(sim: Simulation, host: SimulatedHost) -> None:
    reachable = ServerReachable(host)
    waiters = [Waiter(host, reachable, Stop(host)) for _ in range(2)]
    sim.advance(3.0)

    reachable.answered()
    sim.settle()

    assert [waiter.outcome for waiter in waiters] == [(True, host.monotonic())] * 2


def test_an_answer_before_the_wait_does_not_count(sim: Simulation, host: SimulatedHost) -> None:
    reachable, began = ServerReachable(host), host.monotonic()
    reachable.answered()

    waiter = Waiter(host, reachable, Stop(host))
    sim.advance(20.0)

    assert waiter.outcome == (False, began + 10.0)


def test_a_stop_ends_the_wait(sim: Simulation, host: SimulatedHost) -> None:
    stop = Stop(host)
    waiter = Waiter(host, ServerReachable(host), stop)
    sim.advance(3.0)

    stop.set()
    sim.settle()

    assert waiter.outcome == (False, host.monotonic())


class Constant:
    """A server with one answer."""

    def __init__(self, status: int) -> None:
        self._answer = HTTPResponse(status)

    def handle(self, request: HTTPRequest, on_ready: object = None) -> HTTPResponse:
        return self._answer


@pytest.mark.parametrize(
    ("status", "ends_it"),
    [
        pytest.param(200, True, id="done"),
        pytest.param(404, True, id="refused"),
        pytest.param(429, False, id="overloaded"),
        pytest.param(503, False, id="broken, or only a proxy"),
    ],
)
def test_answers_of_a_server_that_works_end_the_wait(
    sim: Simulation, host: SimulatedHost, status: int, ends_it: bool
) -> None:
    transport = CountingTransport(host, InProcessTransport(host, Constant(status)))
    waiter = Waiter(host, transport.reachable, Stop(host))
    sim.settle()

    transport.request(HTTPRequest("GET", "/"), host.monotonic() + 1.0)
    sim.settle()

    assert (waiter.outcome is not None) == ends_it
    sim.advance(20.0)
