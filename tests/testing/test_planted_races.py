# SPDX-License-Identifier: Apache-2.0
"""The simulation finds planted races within a stated number of seeds, and no fault in correct code."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.testing.simulation import Simulation


class CorrectQueue:
    """A queue that gives each key to one worker at a time; a key that is added meanwhile is given out again later."""

    def __init__(self, host: Host) -> None:
        self.condition = host.condition("queue")
        self.ready: list[str] = []
        self.processing: list[str] = []
        self.again: list[str] = []

    def add(self, key: str) -> None:
        with self.condition:
            if key in self.processing:
                if key not in self.again:
                    self.again.append(key)
            elif key not in self.ready:
                self.ready.append(key)
                self.notify()

    def get(self) -> str:
        with self.condition:
            while not self.ready:
                self.condition.wait_until(None)
            key = self.ready.pop(0)
            self.processing.append(key)
            return key

    def done(self, key: str) -> None:
        with self.condition:
            self.processing.remove(key)
            if key in self.again:
                self.again.remove(key)
                self.ready.append(key)
                self.notify()

    def notify(self) -> None:
        self.condition.notify()


class TakesAndMarksInTwoSections(CorrectQueue):
    def get(self) -> str:
        with self.condition:
            while not self.ready:
                self.condition.wait_until(None)
            key = self.ready.pop(0)
        with self.condition:
            self.processing.append(key)
        return key


class WaitsWithoutALoop(CorrectQueue):
    def get(self) -> str:
        with self.condition:
            if not self.ready:
                self.condition.wait_until(None)
            key = self.ready.pop(0)
            self.processing.append(key)
            return key


class NotifiesOnlyTheFirst(CorrectQueue):
    def notify(self) -> None:
        if len(self.ready) == 1:
            self.condition.notify()


def run(queue_class: type[CorrectQueue], seed: int) -> None:
    """Let two workers take the keys that the test adds: no key has two workers, none waits while a worker is idle."""
    with Simulation(seed) as sim:
        host = sim.host("r0")
        queue, pause, in_hand = queue_class(host), Stop(host, "reconcile"), []

        def work() -> None:
            while True:
                key = queue.get()
                in_hand.append(key)
                pause.wait(1.0)
                in_hand.remove(key)
                queue.done(key)

        @sim.check
        def one_hand_a_key() -> None:
            assert len(set(in_hand)) == len(in_hand), f"one key in two hands: {in_hand}"

        for i in range(2):
            host.spawn(f"worker-{i}", work)
        for key in ("a", "b", "a", "a"):
            queue.add(key)
        sim.settle()
        assert not queue.ready or len(in_hand) == 2, f"left lying: {queue.ready}"
        sim.advance(10.0)
        assert not queue.ready


def first_failure(queue_class: type[CorrectQueue], seeds: Iterable[int]) -> tuple[int, str] | None:
    for seed in seeds:
        try:
            run(queue_class, seed)
        except (AssertionError, IndexError) as error:
            return seed, str(error)
    return None


@pytest.mark.parametrize(
    ("planted", "within", "symptom"),
    [
        pytest.param(TakesAndMarksInTwoSections, 100, "one key in two hands", id="two sections"),
        pytest.param(WaitsWithoutALoop, 100, "pop from empty list", id="no loop around the wait"),
        pytest.param(NotifiesOnlyTheFirst, 100, "left lying", id="no notify"),
    ],
)
def test_a_planted_race_is_found_within_so_many_seeds(planted: type[CorrectQueue], within: int, symptom: str) -> None:
    failure = first_failure(planted, range(within))

    assert failure is not None
    assert symptom in failure[1]


def test_the_correct_queue_is_clean() -> None:
    assert first_failure(CorrectQueue, range(500)) is None
