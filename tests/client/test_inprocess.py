# SPDX-License-Identifier: Apache-2.0
"""The transport without a network works under virtual time; its contract is in test_transport_contract."""

from __future__ import annotations

import pytest
from kit.client.echo import EchoHandler

from apimachinery.errors import ConnectionLost, StreamIdle
from apimachinery.http import HTTPRequest
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.simulation import LockHeld, Simulation

WATCH = HTTPRequest("GET", "/watch")


def test_a_watch_without_a_reader_is_refused_by_the_server(sim: Simulation) -> None:
    host = sim.host("client")

    assert InProcessTransport(host, EchoHandler(host)).request(WATCH, host.monotonic() + 1).status == 400


def test_a_reader_on_another_host_is_woken_by_the_server(sim: Simulation) -> None:
    client, server = sim.host("client"), sim.host("server")
    handler = EchoHandler(server)
    stream = InProcessTransport(client, handler).stream(WATCH, client.monotonic() + 1)
    read: list[object] = []
    client.spawn("reader", lambda: read.append(stream.read(client.monotonic() + 60)))
    sim.advance(30)
    assert read == []

    server.spawn("writer", lambda: handler.watches[0].say(b"{}"))
    sim.settle()

    assert read == [[b"{}"]]


def test_a_silent_stream_is_idle_exactly_at_the_deadline(sim: Simulation) -> None:
    host = sim.host("client")
    stream = InProcessTransport(host, EchoHandler(host)).stream(WATCH, host.monotonic() + 1)
    began = host.monotonic()

    with pytest.raises(StreamIdle):
        stream.read(began + 45)

    assert host.monotonic() - began == pytest.approx(45, abs=0.001)


def test_closing_wakes_a_blocked_reader_without_time_passing(sim: Simulation) -> None:
    host = sim.host("client")
    handler = EchoHandler(host)
    stream = InProcessTransport(host, handler).stream(WATCH, host.monotonic() + 1)
    read: list[object] = []
    host.spawn("reader", lambda: read.append(stream.read(host.monotonic() + 60)))
    sim.settle()

    stream.close()
    sim.settle()

    assert read == [None]
    assert handler.watches[0].closed


def test_what_the_server_did_not_announce_is_found_when_it_said_to_look_again(sim: Simulation) -> None:
    host = sim.host("client")
    handler = EchoHandler(host)
    stream = InProcessTransport(host, handler).stream(HTTPRequest("GET", "/wakeful"), host.monotonic() + 1)
    read: list[object] = []
    host.spawn("reader", lambda: read.append(stream.read(host.monotonic() + 60)))
    sim.settle()

    handler.watches[0].say(b"bookmark", aloud=False)
    sim.advance(0.02)

    assert read == [[b"bookmark"]]


@pytest.mark.parametrize("seed", range(30))
def test_no_line_is_lost_or_doubled_between_writer_and_reader(seed: int) -> None:
    with Simulation(seed) as sim:
        host = sim.host("r0")
        handler = EchoHandler(host)
        stream = InProcessTransport(host, handler).stream(WATCH, host.monotonic() + 1)
        watch, read = handler.watches[0], list[bytes]()

        def write(first: int) -> None:
            for number in range(first, 50, 2):
                watch.say(b"%d" % number)

        def consume() -> None:
            while len(read) < 50:
                read.extend(stream.read(host.monotonic() + 10) or ())

        host.spawn("even", lambda: write(0))
        host.spawn("odd", lambda: write(1))
        host.spawn("reader", consume)
        sim.advance(1)

        assert sorted(map(int, read)) == list(range(50))


def test_a_call_under_a_lock_is_caught(sim: Simulation) -> None:
    host = sim.host("client")
    transport = InProcessTransport(host, EchoHandler(host))

    with host.lock("careless"), pytest.raises(LockHeld):
        transport.request(HTTPRequest("GET", "/echo"), host.monotonic() + 1)


def test_a_late_call_does_not_reach_the_server(sim: Simulation) -> None:
    host = sim.host("client")
    handler = EchoHandler(host)

    with pytest.raises(ConnectionLost):
        InProcessTransport(host, handler).stream(WATCH, host.monotonic() - 1)

    assert not handler.watches
