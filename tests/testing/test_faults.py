# SPDX-License-Identifier: Apache-2.0
"""A faulty transport makes the faults happen that it is given, and no others."""

from __future__ import annotations

import pytest
from kit.client.echo import EchoHandler

from apimachinery.errors import ConnectionLost, StreamIdle
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.faults import (
    Answered,
    CutReply,
    CutStream,
    Delayed,
    Fault,
    FaultyTransport,
    LostReply,
    LostRequest,
    Refused,
    SilentStream,
    scripted,
)
from controller_runtime.testing.simulation import SimulatedHost, Simulation

PUT = HTTPRequest("PUT", "/echo", (), {}, b"{}")
WATCH = HTTPRequest("GET", "/watch")


class Counting(EchoHandler):
    """Counts the requests that reach the server."""

    handled = 0

    def handle(self, request, on_ready=None):  # type: ignore[no-untyped-def]
        self.handled += 1
        return super().handle(request, on_ready)


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("client")


@pytest.fixture
def handler(host: SimulatedHost) -> Counting:
    return Counting(host)


def faulty(host: SimulatedHost, handler: Counting, *faults: Fault | None) -> FaultyTransport:
    script = {number: fault for number, fault in enumerate(faults) if fault is not None}
    return FaultyTransport(host, InProcessTransport(host, handler), scripted(script))


@pytest.mark.parametrize(
    ("fault", "seconds", "reaches_the_server"),
    [
        pytest.param(Refused(), 0, 0, id="refused"),
        pytest.param(LostRequest(), 5, 0, id="lost request"),
        pytest.param(LostReply(), 5, 1, id="lost reply"),
        pytest.param(CutReply(), 0, 1, id="cut reply"),
        pytest.param(Delayed(9), 5, 0, id="delayed beyond the deadline"),
    ],
)
def test_a_call_that_fails_takes_its_time_and_has_its_effect(
    host: SimulatedHost, handler: Counting, fault: Fault, seconds: float, reaches_the_server: int
) -> None:
    transport = faulty(host, handler, fault)
    began = host.monotonic()

    with pytest.raises(ConnectionLost, match="PUT /echo"):
        transport.request(PUT, began + 5)

    assert host.monotonic() - began == pytest.approx(seconds, abs=0.001)
    assert handler.handled == reaches_the_server
    assert transport.request(PUT, host.monotonic() + 5).status == 200


@pytest.mark.parametrize("fault", [Refused(), LostRequest(), LostReply(), CutReply()])
def test_a_stream_fails_as_a_request_does(host: SimulatedHost, handler: Counting, fault: Fault) -> None:
    transport = faulty(host, handler, fault)

    with pytest.raises(ConnectionLost):
        transport.stream(WATCH, host.monotonic() + 5)

    assert all(watch.closed for watch in handler.watches)


def test_a_delayed_request_arrives_later(host: SimulatedHost, handler: Counting) -> None:
    transport = faulty(host, handler, Delayed(3))
    began = host.monotonic()

    answer = transport.request(PUT, began + 5)

    assert (answer.status, host.monotonic() - began) == (200, pytest.approx(3, abs=0.001))


def test_an_answer_in_the_servers_place_is_for_requests_and_streams(host: SimulatedHost, handler: Counting) -> None:
    busy = HTTPResponse(429, {"retry-after": "1"})
    transport = faulty(host, handler, Answered(busy), Answered(busy))

    answer = transport.request(PUT, host.monotonic() + 5)
    stream = transport.stream(WATCH, host.monotonic() + 5)

    assert (answer, stream.response, stream.read(host.monotonic() + 5)) == (busy, busy, None)
    assert handler.handled == 0


def test_a_stream_is_cut_after_so_many_lines(host: SimulatedHost, handler: Counting) -> None:
    stream = faulty(host, handler, CutStream(after=2)).stream(WATCH, host.monotonic() + 5)
    handler.watches[0].say(b"1", b"2", b"3")

    assert stream.read(host.monotonic() + 5) == [b"1", b"2"]
    with pytest.raises(ConnectionLost) as caught:
        stream.read(host.monotonic() + 5)

    assert not isinstance(caught.value, StreamIdle)
    assert handler.watches[0].closed
    assert stream.read(host.monotonic() + 5) is None


def test_a_half_open_stream_is_silent_until_the_reader_gives_up(host: SimulatedHost, handler: Counting) -> None:
    stream = faulty(host, handler, SilentStream()).stream(WATCH, host.monotonic() + 5)
    handler.watches[0].say(b"unheard")
    began = host.monotonic()

    with pytest.raises(StreamIdle):
        stream.read(began + 45)

    assert host.monotonic() - began == pytest.approx(45, abs=0.001)


def test_closing_ends_the_silence(sim: Simulation, host: SimulatedHost, handler: Counting) -> None:
    stream = faulty(host, handler, SilentStream()).stream(WATCH, host.monotonic() + 5)
    read: list[object] = []
    host.spawn("reader", lambda: read.append(stream.read(host.monotonic() + 60)))
    sim.settle()

    stream.close()
    sim.settle()

    assert read == [None]


@pytest.mark.parametrize("fault", [LostRequest(), LostReply(), Delayed(9.0)], ids=lambda fault: type(fault).__name__)
def test_closing_gives_up_what_waits(sim: Simulation, host: SimulatedHost, handler: Counting, fault: Fault) -> None:
    transport = faulty(host, handler, fault)
    began, lost = host.monotonic(), list[str]()

    def ask() -> None:
        with pytest.raises(ConnectionLost) as caught:
            transport.request(PUT, began + 10.0)
        lost.append(str(caught.value))

    host.spawn("asker", ask)
    sim.settle()
    transport.close()
    sim.settle()

    assert (lost, host.monotonic()) == (["PUT /echo: given up"], began)
    assert transport.request(PUT, began + 10.0).status == 200


def test_calls_are_numbered_in_the_order_in_which_they_begin(host: SimulatedHost, handler: Counting) -> None:
    transport = faulty(host, handler, None, None, Refused())

    transport.request(PUT, host.monotonic() + 5)
    transport.stream(WATCH, host.monotonic() + 5).close()

    with pytest.raises(ConnectionLost):
        transport.request(PUT, host.monotonic() + 5)
