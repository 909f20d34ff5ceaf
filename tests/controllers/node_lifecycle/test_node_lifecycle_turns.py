# SPDX-License-Identifier: Apache-2.0
"""The queue of the nodes of one zone, without a cluster: row by row, and compared with a model."""

from __future__ import annotations

import math
from collections.abc import Iterable

import hypothesis.strategies as st
import pytest
from hypothesis import given

from controllers.node_lifecycle.turns import Turns

pytestmark = pytest.mark.once


class World:
    """Nodes that ask when they arrive, at the time that they were given and when they are woken, and never else.

    The model keeps a queue and a bucket of its own, and compares.
    """

    def __init__(self) -> None:
        self.turns = Turns(0.1, 0.0)
        self.now = 0.0
        self.bucket = 1.0
        self.line: list[str] = []
        self.held: set[str] = set()
        self.alarms: dict[str, float] = {}
        self.given: list[tuple[str, float]] = []

    def ask(self, name: str) -> None:
        self.alarms.pop(name, None)
        if name not in self.held and name not in self.line:
            self.line.append(name)
        wait = self.turns.ask(name, self.now)
        if wait == 0.0:
            self._take(name)
        elif wait is not None:
            self.alarms[name] = self.now + wait

    def leave(self, name: str) -> None:
        self._gone(name)
        self.held.discard(name)
        self._wake(self.turns.leave(name))

    def step_aside(self, name: str) -> None:
        self._gone(name)
        self._wake(self.turns.step_aside(name))

    def give_back(self, name: str) -> None:
        """Let a node with a turn, or one that waits, give its place back."""
        self._gone(name)
        if name in self.held:
            self.held.discard(name)
            self.bucket = min(1.0, self.bucket + 1.0)
        self._wake(self.turns.give_back(name, self.now))

    def set_rate(self, rate: float) -> None:
        self._wake(self.turns.set_rate(rate, self.now))

    def empty_if_full(self) -> None:
        """Empty the bucket as before a rise from zero, which wakes the first node."""
        self.bucket = 0.0 if self.bucket > 1.0 - 1e-6 else self.bucket
        self.turns.empty_if_full(self.now)
        self._wake(self.turns.set_rate(0.0, self.now) + self.turns.set_rate(0.1, self.now))

    def pass_time(self, seconds: float) -> None:
        until = self.now + seconds
        while self.alarms and min(self.alarms.values()) <= until:
            name = min(self.alarms, key=self.alarms.__getitem__)
            self._move(max(self.now, self.alarms[name]))
            self.ask(name)
        self._move(until)

    def check(self) -> None:
        """Check that the first node asks exactly when its turn is due, and each other once it is first."""
        assert self.turns.waiting == self.line
        assert self.turns.given == len(self.given)
        if self.line and self.turns.rate:
            due = self.now + (1.0 - self.bucket) / self.turns.rate
            assert self.alarms.get(self.line[0], math.inf) == pytest.approx(due, abs=1e-3)

    def _take(self, name: str) -> None:
        if name not in self.held:
            assert self.line[0] == name, "first come, first served"
            assert self.bucket > 1.0 - 1e-5, "never more turns than the rate allows"
            self.bucket = max(0.0, self.bucket - 1.0)
            self.line.remove(name)
            self.held.add(name)
            self.given.append((name, self.now))
        self._wake(self.turns.take(name, self.now))

    def _gone(self, name: str) -> None:
        self.alarms.pop(name, None)
        if name in self.line:
            self.line.remove(name)

    def _wake(self, names: Iterable[str]) -> None:
        for name in names:
            self.ask(name)

    def _move(self, to: float) -> None:
        self.bucket = min(1.0, self.bucket + (to - self.now) * self.turns.rate)
        self.now = to


@pytest.mark.scenario("NL-09")
def test_the_line_is_first_come_first_served_and_knows_each_once() -> None:
    """A node that asks again keeps its place; the first one has a time, all others are woken."""
    turns = Turns(0.1, 0.0)

    assert [turns.ask(name, 0.0) for name in "abca"] == [0.0, None, None, 0.0]
    assert turns.waiting == ["a", "b", "c"]
    assert turns.take("a", 0.0) == ["b"]
    assert [turns.ask(name, 2.0) for name in "bc"] == [pytest.approx(8.0), None]


@pytest.mark.scenario("NL-09")
def test_a_node_that_leaves_makes_room() -> None:
    """A node that left is not served, the one behind it takes its place, and one that returns is the last."""
    world = World()
    for name in "abcd":
        world.ask(name)
    world.leave("b")
    world.leave("d")
    world.ask("b")

    world.pass_time(30.0)

    assert world.given == [("a", 0.0), ("c", pytest.approx(10.0)), ("b", pytest.approx(20.0))]


@pytest.mark.scenario("NL-09")
def test_a_turn_that_could_not_be_used_is_kept_until_the_node_leaves() -> None:
    """A node whose write failed asks again and has its turn at once; once it has left it waits like any other."""
    turns = Turns(0.1, 0.0)
    turns.ask("a", 0.0)
    turns.take("a", 0.0)

    assert turns.step_aside("a") == []
    assert turns.ask("a", 1.0) == 0.0
    assert turns.take("a", 1.0) == []
    assert turns.given == 1
    turns.leave("a")

    assert turns.ask("a", 1.0) == pytest.approx(9.0)


def test_a_turn_that_is_given_back_is_the_next_ones_at_once() -> None:
    turns = Turns(0.1, 0.0)
    for name in "ab":
        turns.ask(name, 0.0)
    turns.take("a", 0.0)
    assert turns.ask("b", 0.0) == pytest.approx(10.0)

    assert turns.give_back("a", 1.0) == ["b"]

    assert turns.ask("b", 1.0) == 0.0
    assert turns.given == 0


def test_a_turn_after_which_a_write_may_have_been_sent_is_not_given_to_another() -> None:
    turns = Turns(0.1, 0.0)
    for name in "ab":
        turns.ask(name, 0.0)
    turns.take("a", 0.0)
    turns.step_aside("a")

    assert turns.give_back("a", 1.0) == []

    assert turns.ask("b", 1.0) == pytest.approx(9.0)
    assert turns.given == 1


def test_a_change_of_rate_is_told_to_the_first_and_to_those_that_have_a_turn() -> None:
    """A turn is not valid at rate zero, and only the change of rate wakes a node whose write failed before."""
    turns = Turns(0.1, 0.0)
    for name in "abc":
        turns.ask(name, 0.0)
    turns.take("a", 0.0)

    assert turns.set_rate(0.0, 1.0) == ["a", "b"]
    assert [turns.ask(name, 1.0) for name in "ab"] == [None, None]
    assert turns.set_rate(0.0, 2.0) == []
    assert turns.set_rate(0.1, 3.0) == ["a", "b"]

    assert turns.ask("a", 3.0) == 0.0
    assert turns.ask("b", 3.0) == pytest.approx(9.0), (
        "a second of the ten had passed, and the standstill does not count"
    )


NAMES = st.sampled_from("abcdef")
ACTS = st.one_of(
    st.tuples(st.sampled_from(["ask", "ask", "leave", "step_aside"]), NAMES),
    st.tuples(st.just("pass_time"), st.floats(0, 30)),
    st.tuples(st.just("set_rate"), st.sampled_from([0.0, 0.01, 0.1])),
    st.tuples(st.just("empty_if_full")),
)


@given(st.lists(ACTS, max_size=60))
def test_whatever_happens_the_line_moves_at_its_rate_and_no_node_waits_longer_than_its_place_says(
    acts: list[tuple[str, ...]],
) -> None:
    world = World()

    for act, *arguments in acts:
        getattr(world, act)(*arguments)
        world.check()


@given(st.lists(st.tuples(NAMES, st.floats(0, 30)), min_size=1, max_size=20))
def test_nodes_that_must_not_use_their_turn_take_none_from_the_others(alive: list[tuple[str, float]]) -> None:
    world = World()

    for served, (name, pause) in enumerate(alive):
        world.ask(name)
        world.give_back(name)
        world.given = world.given[:served]
        world.check()
        world.pass_time(pause)
        world.ask(f"dead-{served}")
        world.pass_time(10.0)
        assert world.given[-1][0] == f"dead-{served}"
