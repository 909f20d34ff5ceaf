# SPDX-License-Identifier: Apache-2.0
"""A reflector that lost the server goes on as soon as it answers another client of the process."""

from __future__ import annotations

from collections.abc import Callable

from kit.cache.reflecting import Scene
from kit.cache.scripted import Refused, failure, page, watched

BUSY = failure(429, "TooManyRequests")
Make = Callable[..., Scene]


STEADY: dict[str, float] = {"initial": 1.0, "factor": 10.0, "jitter": 0.0}
"""The waits: 1 s, 10 s and 30 s."""


def since_lost(s: Scene) -> list[float]:
    """Return when the watch was asked for, in seconds since the first time."""
    return [round(time - s.server.times[1], 3) for time in s.server.times[1:]]


def test_who_lost_the_server_goes_on_once_it_answers_others(scene: Make) -> None:
    s = scene(page(5), *[Refused()] * 2, watched(), streaming=False, **STEADY)
    s.sim.advance(3.0)
    assert since_lost(s) == [0.0, 1.0]

    s.reachable.answered()
    s.sim.settle()

    assert since_lost(s) == [0.0, 1.0, 3.0]


def test_who_lost_the_server_heeds_no_word_before_the_first_delay_is_over(scene: Make) -> None:
    s = scene(page(5), *[Refused()] * 2, watched(), streaming=False, **STEADY)
    s.sim.advance(1.5)

    s.reachable.answered()
    s.sim.advance(9.4)
    assert since_lost(s) == [0.0, 1.0]

    s.sim.advance(0.1)
    assert since_lost(s) == [0.0, 1.0, 11.0]


def test_a_server_that_answers_all_but_the_watch_is_asked_at_every_second_word(scene: Make) -> None:
    s = scene(page(5), *[Refused()] * 5, watched(), streaming=False, **STEADY)

    for _ in range(100):
        s.sim.advance(1.0)
        s.reachable.answered()

    assert since_lost(s) == [0.0, 1.0, 2.0, 32.0, 33.0, 63.0]


def test_who_was_refused_by_the_server_itself_waits_to_the_end(scene: Make) -> None:
    s = scene(page(5), BUSY, BUSY, watched(), streaming=False, **STEADY)
    s.sim.advance(5.0)

    s.reachable.answered()
    s.sim.settle()

    assert since_lost(s) == [0.0, 1.0]
