# SPDX-License-Identifier: Apache-2.0
"""Ownership: work that may begin, work in hand, and writes of which nobody knows whether they landed."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream
from controller_runtime.core.errors import ConnectionLost, LeadershipLost
from controller_runtime.election.term import Term
from controller_runtime.ring.ownership import Ownership, RingTransport
from controller_runtime.ring.slots import set_of
from controller_runtime.testing.simulation import SimulatedHost, Simulation

GET, PATCH = HTTPRequest("GET", "/api/v1/nodes/a"), HTTPRequest("PATCH", "/api/v1/nodes/a")


@attrs.define
class Losing:
    """A transport that sends requests and loses the answers."""

    deadlines: list[float] = attrs.field(factory=list)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self.deadlines.append(deadline)
        raise ConnectionLost("no answer in time")

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        raise NotImplementedError

    def close(self) -> None:
        pass


@attrs.define
class Bench:
    host: SimulatedHost
    ownership: Ownership
    sim: Simulation
    until: float


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Simulation(0) as sim:
        host = sim.host("a")
        ownership, until = Ownership(host), host.monotonic() + 10.0
        ownership.begin(Term(host, 1, until))
        ownership.take(set_of([1, 2]))
        yield Bench(host, ownership, sim, until)


def test_work_begins_for_owned_slots_alone(bench: Bench) -> None:
    assert bench.ownership.turn(1) is not None
    assert bench.ownership.turn(3) is None
    bench.sim.advance(10.0)
    assert bench.ownership.turn(1) is None, "ownership ends by itself"


def test_a_slot_is_drained_when_its_last_work_has_ended(bench: Bench) -> None:
    both = set_of([1, 2])
    first, second = bench.ownership.turn(1), bench.ownership.turn(1)
    assert first is not None
    assert second is not None
    bench.ownership.drain(both)

    assert bench.ownership.turn(1) is None
    assert bench.ownership.drained(both) == set_of([2])
    with first:
        pass
    assert bench.ownership.drained(both) == set_of([2])
    with second:
        pass
    assert bench.ownership.drained(both) == both


@pytest.mark.parametrize(("request_", "keeps"), [(PATCH, True), (GET, False)], ids=["a write", "a read"])
def test_a_write_whose_answer_was_lost_keeps_its_slot_until_the_deadline(
    bench: Bench, request_: HTTPRequest, keeps: bool
) -> None:
    losing = Losing()
    turn = bench.ownership.turn(1)
    assert turn is not None
    with turn, pytest.raises(ConnectionLost):
        RingTransport(losing).request(request_, bench.until + 60)
    bench.ownership.drain(set_of([1]))

    assert losing.deadlines == [bench.until], "a request is over by the end of the membership"
    assert bench.ownership.drained(set_of([1])) == (0 if keeps else set_of([1]))
    bench.sim.advance(10.0)
    assert bench.ownership.drained(set_of([1])) == set_of([1])


def test_work_of_an_ended_membership_sends_nothing_whatever_came_after_it(bench: Bench) -> None:
    turn = bench.ownership.turn(1)
    assert turn is not None
    bench.ownership.end_all("the lease was deleted")
    bench.ownership.begin(Term(bench.host, 2, bench.until + 10))
    bench.ownership.take(set_of([1]))
    losing = Losing()

    with turn, pytest.raises(LeadershipLost, match="the lease was deleted"):
        RingTransport(losing).request(PATCH, bench.until)
    assert losing.deadlines == []
    assert bench.ownership.drained(set_of([1])) == set_of([1])
