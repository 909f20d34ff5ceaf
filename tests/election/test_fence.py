# SPDX-License-Identifier: Apache-2.0
"""The fence of a leadership: requests that begin too late, and requests that wait too long before they are sent."""

from __future__ import annotations

import pytest

from apimachinery.errors import ConnectionLost, LeadershipLost
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.deadlines import DeadlineTransport
from controller_runtime.client.transport import Stream
from controller_runtime.election.term import Term, leadership_limit
from controller_runtime.testing.faults import Delayed, Faults, FaultyTransport, no_faults
from controller_runtime.testing.simulation import SimulatedHost, Simulation

WRITE = HTTPRequest("PATCH", "/api/v1/nodes/a")
UNTIL = 10.0


class Wire:
    """A `transport.Transport` that notes each request and when it was sent."""

    def __init__(self, host: SimulatedHost) -> None:
        self.host = host
        self.sent: list[float] = []

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self.sent.append(self.host.monotonic())
        return HTTPResponse(200)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        self.request(request, deadline)
        raise ConnectionLost("no stream")

    def close(self) -> None:
        """Do nothing: there are no connections."""


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("a")


def fenced(host: SimulatedHost, faults: Faults = no_faults) -> tuple[DeadlineTransport, Wire, Term]:
    wire = Wire(host)
    term = Term(host, 7, host.monotonic() + UNTIL)
    return DeadlineTransport(FaultyTransport(host, wire, faults), leadership_limit(lambda: term)), wire, term


@pytest.mark.parametrize("how", ["request", "stream"])
def test_what_waits_past_the_end_of_a_leadership_is_not_sent(sim: Simulation, host: SimulatedHost, how: str) -> None:
    """It may wait for a credential plugin, for the server's address, or to be sent again after a refusal."""
    transport, wire, _ = fenced(host, lambda number, request: Delayed(UNTIL + 1.0))

    with pytest.raises(ConnectionLost):
        getattr(transport, how)(WRITE, host.monotonic() + 30.0)

    assert wire.sent == []
    assert sim.time == pytest.approx(UNTIL)


def test_a_leadership_ends_while_its_machine_is_suspended(sim: Simulation, host: SimulatedHost) -> None:
    transport, wire, term = fenced(host)
    began = host.monotonic()

    sim.suspend(host, UNTIL - 1.0)
    sim.advance(UNTIL - 1.0)
    assert host.monotonic() == pytest.approx(began), "the monotonic clock stood still"
    assert transport.request(WRITE, host.monotonic() + 30.0).status == 200
    assert term.held.until == pytest.approx(began + 1.0)

    sim.suspend(host, 2.0)
    sim.advance(2.0)
    with pytest.raises(LeadershipLost):
        transport.request(WRITE, host.monotonic() + 30.0)
    assert len(wire.sent) == 1
    assert not term.extend(host.elapsed() + UNTIL), "a renewal that was under way comes too late"


def test_what_is_sent_in_time_has_its_own_deadline(host: SimulatedHost) -> None:
    transport, wire, _ = fenced(host, lambda number, request: Delayed(UNTIL - 1.0))

    assert transport.request(WRITE, host.monotonic() + 30.0).status == 200
    assert len(wire.sent) == 1


@pytest.mark.scenario("LE-22")
@pytest.mark.parametrize("how", ["request", "stream"])
def test_nothing_begins_after_the_end(sim: Simulation, host: SimulatedHost, how: str) -> None:
    """A late worker's write is refused, and never sent."""
    transport, wire, _ = fenced(host)
    sim.advance(UNTIL)

    with pytest.raises(LeadershipLost, match="PATCH /api/v1/nodes/a was not sent"):
        getattr(transport, how)(WRITE, host.monotonic() + 30.0)

    assert wire.sent == []


def test_a_refusal_says_why_the_leadership_is_over(host: SimulatedHost) -> None:
    """A runnable's request may be refused before the elector reports the loss; then that failure ends the run."""
    transport, _, term = fenced(host)
    term.end("it is held by b")
    term.end("the later reason")

    with pytest.raises(LeadershipLost, match="leadership is lost, it is held by b"):
        transport.request(WRITE, host.monotonic() + 30.0)


def test_a_leadership_that_is_renewed_lets_pass_what_begins_then(sim: Simulation, host: SimulatedHost) -> None:
    transport, wire, term = fenced(host)
    sim.advance(UNTIL - 1.0)
    assert term.extend(host.monotonic() + UNTIL)
    sim.advance(2.0)

    transport.request(WRITE, host.monotonic() + 30.0)

    assert len(wire.sent) == 1


def test_without_a_leadership_everything_passes(host: SimulatedHost) -> None:
    wire = Wire(host)

    DeadlineTransport(wire, leadership_limit(lambda: None)).request(WRITE, host.monotonic() + 30.0)

    assert len(wire.sent) == 1
