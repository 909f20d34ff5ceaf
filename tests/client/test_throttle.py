# SPDX-License-Identifier: Apache-2.0
"""A client limits its own requests: so many at once, then so many a second, and no request waits in vain."""

from __future__ import annotations

import logging

import pytest
from kit.client.recorder import Recorder

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import text_of
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.client.throttle import ThrottledTransport
from controller_runtime.testing.simulation import SimulatedHost, Simulation

GET = HTTPRequest("GET", "/x")


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


@pytest.fixture
def inner() -> Recorder:
    return Recorder(HTTPResponse(200, {}, b'{"metadata":{"name":"n"}}'))


def spawn_askers(host: SimulatedHost, transport: ThrottledTransport, count: int, patience: float) -> list[str]:
    """Starts callers that each make one request, and returns the errors of those that failed."""
    failed: list[str] = []

    def ask() -> None:
        try:
            transport.request(GET, host.monotonic() + patience)
        except ConnectionLost as error:
            failed.append(str(error))

    for number in range(count):
        host.spawn(f"asker-{number}", ask)
    return failed


def test_a_burst_goes_at_once_and_the_rest_one_by_one(sim: Simulation, host: SimulatedHost, inner: Recorder) -> None:
    transport = ThrottledTransport(host, inner, qps=2.0, burst=3)
    began = host.monotonic()
    failed = spawn_askers(host, transport, 6, patience=60.0)
    times = []

    for _ in range(5):
        sim.settle()
        times.append(len(inner.asked))
        sim.advance(0.5)

    assert (times, failed) == ([3, 4, 5, 6, 6], [])
    assert host.monotonic() - began == pytest.approx(2.5)


def test_quiet_time_saves_up_one_burst_and_no_more(sim: Simulation, host: SimulatedHost, inner: Recorder) -> None:
    transport = ThrottledTransport(host, inner, qps=10.0, burst=2)
    sim.advance(3600.0)

    spawn_askers(host, transport, 5, patience=60.0)
    sim.settle()

    assert len(inner.asked) == 2
    sim.advance(0.35)
    assert len(inner.asked) == 5


def test_who_would_wait_past_the_deadline_fails_at_once_and_takes_no_turn(
    sim: Simulation, host: SimulatedHost, inner: Recorder
) -> None:
    transport = ThrottledTransport(host, inner, qps=1.0, burst=1)
    transport.request(GET, host.monotonic() + 1.0)

    for _ in range(5):
        with pytest.raises(
            ConnectionLost, match=r"not sent: the client's limit of 1 requests a second would hold it 1"
        ):
            transport.request(GET, host.monotonic() + 0.5)
    patient = spawn_askers(host, transport, 1, patience=1.5)
    sim.advance(1.0)

    assert (len(inner.asked), patient) == (2, [])


def test_what_was_late_without_waiting_is_the_inner_ones_to_refuse(host: SimulatedHost, inner: Recorder) -> None:
    ThrottledTransport(host, inner, qps=1.0, burst=1).request(GET, host.monotonic() - 1.0)

    assert len(inner.asked) == 1


def test_closing_sends_home_who_waits(sim: Simulation, host: SimulatedHost, inner: Recorder) -> None:
    transport = ThrottledTransport(host, inner, qps=0.1, burst=1)
    failed = spawn_askers(host, transport, 3, patience=60.0)
    sim.settle()

    transport.close()
    sim.settle()

    assert len(failed) == 2
    assert all("the transport was closed" in text for text in failed)
    sim.advance(30.0)
    transport.request(GET, host.monotonic() + 1.0)


def test_copies_of_a_limited_client_share_its_limit_and_others_have_none(host: SimulatedHost, inner: Recorder) -> None:
    free = Client(host, inner)
    limited = free.limited(qps=0.001, burst=2)

    limited.get(NODES, ObjectKey("n"), dict)
    limited.within(5.0).get(NODES, ObjectKey("n"), dict)

    with pytest.raises(ConnectionLost, match="limit"):
        limited.writing(dry_run=True).get(NODES, ObjectKey("n"), dict)
    free.get(NODES, ObjectKey("n"), dict)
    assert len(inner.asked) == 3


def test_a_long_wait_is_told_but_not_each_of_many(
    sim: Simulation, host: SimulatedHost, inner: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    transport = ThrottledTransport(host, inner, qps=0.5, burst=1)

    spawn_askers(host, transport, 4, patience=60.0)
    sim.advance(8.0)

    assert [text_of(r) for r in caplog.records if r.levelno == logging.WARNING] == [
        "request waits for the client's own limit"
    ]


@pytest.mark.parametrize(("qps", "burst"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_a_limit_that_lets_nothing_through_is_refused(
    host: SimulatedHost, inner: Recorder, qps: float, burst: int
) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        Client(host, inner).limited(qps, burst)
