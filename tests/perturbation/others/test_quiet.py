# SPDX-License-Identifier: Apache-2.0
"""A rest comes after a while without changes and without work; pauses of the operator are measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.testing.perturbation.others.operator_process import Look
from controller_runtime.testing.perturbation.others.quiet import Quiet
from controller_runtime.testing.perturbation.record import MANAGER, STORY, Landed
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.perturbation import Name

NAME = Name("pods", "default/a")


class World:
    """A world in virtual time, in which something changes at given seconds of a wait."""

    def __init__(self, sim: Simulation, changes: dict[float, str], is_busy: Callable[[float], bool]) -> None:
        self.sim, self.changes, self.is_busy = sim, dict(changes), is_busy
        self.host = sim.host("here")
        self.began = self.host.monotonic()
        self.quiet = Quiet(self.host, self.pause, self.look)

    @property
    def now(self) -> float:
        return self.host.monotonic() - self.began

    def pause(self, seconds: float) -> None:
        for at in sorted(at for at in self.changes if at <= self.now + seconds):
            self.sim.advance(max(0.0, at - self.now))
            self.quiet.note(Landed(1, NAME, self.changes.pop(at), 1, 1, 1))
        self.sim.advance(seconds)

    def look(self) -> Look:
        return Look(alive=True, status=None, processes=1, busy=self.is_busy(self.now))


def never(now: float) -> bool:
    return False


@pytest.mark.parametrize(
    ("changes", "is_busy", "ends", "why"),
    [
        pytest.param({}, never, 2, "", id="nothing happens"),
        pytest.param({1.0: MANAGER, 2.0: MANAGER}, never, 4, "", id="two changes"),
        pytest.param({}, lambda now: now < 5, 7, "", id="it computes for five seconds"),
        pytest.param({}, lambda now: True, 12, "", id="it computes all the time, and changes nothing"),
        pytest.param(
            {float(second): MANAGER for second in range(1, 20)},
            never,
            12,
            "no rest came within 10 s: 12 changes came, the last one of pods default/a by the operator",
            id="a heartbeat",
        ),
        pytest.param(
            {8.0: STORY},
            lambda now: True,
            12,
            "no rest came within 10 s: 1 changes came, the last one of pods default/a by others",
            id="it computes all the time after a change",
        ),
    ],
)
def test_a_rest_comes_once_nothing_happens_for_two_seconds_or_it_is_said_why_not(
    sim: Simulation, changes: dict[float, str], is_busy: Callable[[float], bool], ends: float, why: str
) -> None:
    world = World(sim, changes, is_busy)

    assert world.quiet.wait_for(2, 10) == why
    assert ends - 0.2 < world.now < ends + 0.3


@pytest.mark.parametrize(
    ("changes", "is_busy", "lull"),
    [
        pytest.param({6.0: MANAGER, 7.0: MANAGER}, never, 6, id="a pause of its own"),
        pytest.param({6.0: STORY}, never, 0, id="another writer"),
        pytest.param({6.0: MANAGER}, lambda now: now < 5, 1, id="it computed meanwhile"),
    ],
)
def test_the_longest_pause_before_a_change_of_the_operator_is_measured(
    sim: Simulation, changes: dict[float, str], is_busy: Callable[[float], bool], lull: float
) -> None:
    world = World(sim, changes, is_busy)
    world.quiet.wait_for(10, 20)

    assert lull - 0.2 < world.quiet.lull < lull + 0.2


def test_a_change_outside_a_wait_is_no_pause(sim: Simulation) -> None:
    world = World(sim, {}, never)
    world.sim.advance(30)
    world.quiet.note(Landed(1, NAME, MANAGER, 1, 1, 1))

    assert world.quiet.lull == 0
