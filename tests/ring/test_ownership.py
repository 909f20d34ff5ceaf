# SPDX-License-Identifier: Apache-2.0
"""Ownership: work that may begin, work in hand, and writes of which nobody knows whether they landed."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest

from apimachinery.errors import ConnectionLost, LeadershipLost
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream
from controller_runtime.election.term import Term
from controller_runtime.ring.ownership import Ownership, RingTransport, turn_in_hand
from controller_runtime.ring.records import Assignment
from controller_runtime.ring.slots import SLOTS, set_of
from controller_runtime.testing.simulation import SimulatedHost, Simulation

RING = Assignment(5, ("a",) * SLOTS, (5,) * SLOTS, "uid", 1)
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
        ownership.own(set_of([1, 2]), RING)
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


def test_a_slot_that_is_given_away_keeps_its_token_until_it_is_another_members(bench: Bench) -> None:
    bench.ownership.own(set_of([1, 2]), attrs.evolve(RING, epoch=6, since=(6,) * SLOTS), given=set_of([2]))
    kept, ours = bench.ownership.turn(1), bench.ownership.turn(2)
    assert kept is not None
    assert ours is not None
    assert (kept.token.epoch, ours.token.epoch) == (5, 6)

    bench.ownership.own(set_of([2]), RING, given=set_of([2]))
    bench.ownership.own(set_of([1, 2]), RING, given=set_of([2]))
    assert bench.ownership.turn(1) is None, "no assignment gives it to us"


def test_the_end_of_the_last_work_for_a_slot_that_drains_is_told(bench: Bench) -> None:
    told: list[int] = []
    bench.ownership.on_idle = lambda: told.append(bench.ownership.drained(set_of([1, 2])))
    for turn in (bench.ownership.turn(1), bench.ownership.turn(1), bench.ownership.turn(2)):
        assert turn is not None
        bench.ownership.end(turn)
    assert told == []

    first, second = bench.ownership.turn(1), bench.ownership.turn(1)
    bench.ownership.drain(set_of([1]))
    for turn in (first, second):
        assert turn is not None
        bench.ownership.end(turn)
    assert told == [set_of([1, 2])]


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


@attrs.define
class Answering(Losing):
    """A transport that answers each request with one status."""

    status: int = 200

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        return HTTPResponse(self.status)


@pytest.mark.parametrize(
    ("status", "keeps"), [(200, False), (409, False), (429, False), (500, True), (502, True), (503, True), (504, True)]
)
def test_a_write_that_a_server_may_do_after_its_answer_keeps_its_slot(bench: Bench, status: int, keeps: bool) -> None:
    turn = bench.ownership.turn(1)
    assert turn is not None
    with turn:
        RingTransport(Answering(status=status)).request(PATCH, bench.until)
    bench.ownership.drain(set_of([1]))

    assert bench.ownership.drained(set_of([1])) == (0 if keeps else set_of([1]))
    bench.sim.advance(10.0)
    assert bench.ownership.drained(set_of([1])) == set_of([1])


def test_work_of_an_ended_membership_sends_nothing_whatever_came_after_it(bench: Bench) -> None:
    turn = bench.ownership.turn(1)
    assert turn is not None
    bench.ownership.end_all("the lease was deleted")
    bench.ownership.begin(Term(bench.host, 2, bench.until + 10))
    bench.ownership.own(set_of([1]), RING)
    losing = Losing()

    with turn, pytest.raises(LeadershipLost, match="the lease was deleted"):
        RingTransport(losing).request(PATCH, bench.until)
    assert losing.deadlines == []
    assert bench.ownership.drained(set_of([1])) == 0  # a write that the turn had sent may land yet
    bench.sim.advance(10.0)
    assert bench.ownership.drained(set_of([1])) == set_of([1])


def test_a_reconcile_keeps_the_token_of_the_ownership_under_which_it_began(bench: Bench) -> None:
    old = bench.ownership.turn(1)
    assert old is not None
    later = attrs.evolve(RING, epoch=7, since=(7,) * SLOTS)
    bench.ownership.own(set_of([1]), later)
    new = bench.ownership.turn(1)
    assert new is not None

    with old:
        assert turn_in_hand(bench.ownership) is old
    assert old.token.order == (1, 5)
    assert new.token.order == (1, 7)


def test_the_later_of_two_writes_of_unknown_outcome_decides_when_a_slot_is_free(bench: Bench) -> None:
    early, late = bench.ownership.turn(1), bench.ownership.turn(1)
    assert early is not None
    assert late is not None
    early.unsure_until, late.unsure_until = bench.until - 5.0, bench.until
    bench.ownership.drain(set_of([1]))

    bench.ownership.end(late)
    bench.ownership.end(early)  # its deadline is of an earlier renewal

    bench.sim.advance(6.0)
    assert bench.ownership.drained(set_of([1])) == 0
    bench.sim.advance(4.0)
    assert bench.ownership.drained(set_of([1])) == set_of([1])
