# SPDX-License-Identifier: Apache-2.0
"""Leaderships and slots among real threads: what has ended stays ended, and no work is in hand where none may be."""

from __future__ import annotations

import random
from functools import partial

from kit.crowd import together

from apimachinery.stop import Stage, Stop
from apimachinery.system import SystemHost
from controller_runtime.election.term import Term
from controller_runtime.ring.ownership import Ownership
from controller_runtime.ring.records import Assignment
from controller_runtime.ring.slots import ALL, set_of

SLOTS, ROUNDS, WORKERS, LOOKS = 8, 400, 4, 50_000


def test_no_thread_leads_once_another_has_seen_the_end() -> None:
    host = SystemHost()
    terms = [Term(host, number, host.monotonic() + 1_000.0) for number in range(100)]
    ended = [False] * len(terms)

    def look() -> None:
        for number, term in enumerate(terms):
            while True:
                was_over = ended[number]
                if term.is_over():
                    ended[number] = True
                    break
                assert not was_over, "a leadership came back"

    def extend() -> None:
        for number, term in enumerate(terms):
            before = 0.0
            while True:
                was_over, until = ended[number], term.held.until
                assert before <= until, "a deadline went back"
                before = until
                if not term.extend(until + 1.0):
                    break
                assert not was_over, "a leadership was extended after its end"
                if until > terms[-1].held.until + 20.0 or number == len(terms) - 1:
                    term.end("another replica leads")

    together(*[look] * WORKERS, extend)

    assert all(ended)
    assert not any(term.extend(host.monotonic() + 1_000.0) for term in terms)


def test_no_work_is_in_hand_in_a_slot_that_counts_as_drained() -> None:
    host = SystemHost()
    ownership = Ownership(host)
    ownership.begin(Term(host, 1, host.monotonic() + 1_000.0))
    ring = Assignment(1, ("me",) * SLOTS, (1,) * SLOTS)
    ownership.own(ALL, ring)
    at_work, done = [[0] * SLOTS for _ in range(WORKERS)], [0] * WORKERS

    def work(number: int) -> None:
        chance = random.Random(number)
        while done[number] < ROUNDS:
            slot = chance.randrange(SLOTS)
            if (turn := ownership.turn(slot)) is not None:
                with turn:
                    at_work[number][slot] += 1
                    done[number] += bool(sum(range(100)))  # takes a while
                    at_work[number][slot] -= 1

    def move() -> None:
        chance = random.Random(99)
        while min(done) < ROUNDS:
            slot = chance.randrange(SLOTS)
            ownership.drain(1 << slot)
            assert not ownership.owns(slot)
            looks = 0
            while not ownership.drained(1 << slot):
                assert ownership.in_hand & ~ALL == 0
                assert (looks := looks + 1) < LOOKS, f"slot {slot} is never drained"
            # Between here and `take` the slot is another replica's.
            assert [busy[slot] for busy in at_work] == [0] * WORKERS, f"work in slot {slot} after it was given back"
            ownership.own(ALL, ring)

    together(*(partial(work, number) for number in range(WORKERS)), move)

    assert ownership.in_hand == 0
    assert ownership.drained(set_of(range(SLOTS))) == set_of(range(SLOTS))


def test_a_stop_calls_each_callback_once_and_wakes_every_waiter() -> None:
    host = SystemHost()
    stops = [Stop(host) for _ in range(60)]
    called = [[0] * len(stops) for _ in range(WORKERS)]

    def call(number: int, place: int) -> None:
        called[number][place] += 1

    def add(number: int) -> None:
        for place, stop in enumerate(stops):
            stop.on_set(partial(call, number, place))

    def each(do: str) -> None:
        for stop in stops:
            getattr(stop, do)()

    def wait() -> None:
        for stop in stops:
            assert stop.wait_until(None, Stage.CANCELLED)

    together(*(partial(add, number) for number in range(WORKERS)), wait, partial(each, "set"), partial(each, "cancel"))

    assert called == [[1] * len(stops) for _ in range(WORKERS)]
