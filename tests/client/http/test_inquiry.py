# SPDX-License-Identifier: Apache-2.0
"""A question is asked once, and each caller waits for the answer until its own deadline."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apimachinery.host import Thread
from controller_runtime.client.http.inquiry import Inquiry
from controller_runtime.testing.simulation import SimulatedHost, Simulation


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


class Slow:
    """Answers 42 after ten seconds."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host
        self._condition = host.condition("slow")
        self.asked = 0

    def __call__(self) -> int:
        self.asked += 1
        answers_at = self._host.monotonic() + 10.0
        with self._condition:
            while self._host.monotonic() < answers_at:
                self._condition.wait_until(answers_at)
        return 42


def waiting(host: SimulatedHost, inquiry: Inquiry[int], *patience: float) -> list[tuple[float, bool]]:
    """Returns for each caller the time at which its wait ended, and whether the inquiry was over then."""
    told: list[tuple[float, bool]] = []

    def wait(deadline: float) -> None:
        is_over = inquiry.is_over_by(deadline)
        told.append((host.monotonic(), is_over))

    for number, seconds in enumerate(patience):
        host.spawn(f"caller-{number}", lambda seconds=seconds: wait(host.monotonic() + seconds))
    return told


def test_each_waits_to_his_own_deadline_and_it_is_asked_once(sim: Simulation, host: SimulatedHost) -> None:
    slow = Slow(host)
    inquiry = Inquiry(host, "slow", slow)
    began = host.monotonic()

    told = waiting(host, inquiry, 3.0, 60.0, 5.0, 60.0)
    sim.advance(60.0)

    assert [(at - began, is_over) for at, is_over in told] == [(3.0, False), (5.0, False), (10.0, True), (10.0, True)]
    assert (inquiry.answer, inquiry.failure, slow.asked) == (42, None, 1)


def test_nothing_is_asked_before_somebody_wants_to_know(sim: Simulation, host: SimulatedHost) -> None:
    slow = Slow(host)

    inquiry = Inquiry(host, "slow", slow)
    sim.advance(60.0)

    assert (slow.asked, inquiry.is_over) == (0, False)


def test_a_failure_is_an_end(host: SimulatedHost) -> None:
    inquiry: Inquiry[int] = Inquiry(host, "division", lambda: 1 // 0)

    assert inquiry.is_over_by(host.monotonic() + 1.0)
    assert (inquiry.answer, type(inquiry.failure)) == (None, ZeroDivisionError)


def test_given_up_it_lets_all_go_at_once_those_who_come_later_too(sim: Simulation, host: SimulatedHost) -> None:
    inquiry = Inquiry(host, "slow", Slow(host))
    began = host.monotonic()
    told = waiting(host, inquiry, 60.0, 60.0)
    sim.advance(1.0)

    inquiry.give_up()
    sim.settle()
    told_later = waiting(host, inquiry, 60.0)
    sim.settle()

    assert [(at - began, is_over) for at, is_over in told + told_later] == [(1.0, False)] * 3
    sim.advance(60.0)


def test_without_threads_whoever_comes_first_asks_himself(
    sim: Simulation, host: SimulatedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, target: Callable[[], None], *, daemon: bool = False) -> Thread:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(host, "spawn", refuse)
    inquiry = Inquiry(host, "quick", lambda: 42)

    assert inquiry.is_over_by(host.monotonic() + 1.0)
    assert inquiry.answer == 42
