# SPDX-License-Identifier: Apache-2.0
"""Readiness and age of a watch that receives no events."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from kit.cache.scripted import Act, Cut, End, Pause, Refused, ScriptedServer, failure, page, watched
from kit.nodes import bookmark_line, error_line

from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.patience import Patience
from controller_runtime.manager.problems import problem_of
from controller_runtime.testing.simulation import Simulation

OVERDUE = Patience().overdue


class Program:
    """An informer against a script, with its readiness and its metrics."""

    def __init__(self, sim: Simulation, *script: Act) -> None:
        self.sim = sim
        self.host = sim.host("r0")
        self.stop = Stop(self.host)
        self.informers = Informers(self.host, ScriptedServer(self.host, *script), CacheOptions(streaming=False))
        self.informer = self.informers.of(Collection(NODES))
        self.informers.start(self.stop)
        sim.settle()

    @property
    def problem(self) -> str:
        return problem_of(self.informer, self.host)

    @property
    def age(self) -> float:
        """Return the value of the metric of silence."""
        return self.host.monotonic() - self.informer.reflector.liveness.heard_at


Make = Callable[..., Program]


@pytest.fixture
def make(sim: Simulation) -> Make:
    def build(*script: Act) -> Program:
        program = Program(sim, *script)
        sim.check_end(lambda: program.stop.set() or sim.settle())  # type: ignore[arg-type]
        return program

    return build


def test_a_server_that_was_restarted_and_is_quiet_since_is_no_problem(make: Make) -> None:
    """There is no problem after a bookmark a minute before the kill, three refusals, and two minutes of silence."""
    kill = [Pause(60.0), bookmark_line(6), Pause(60.0), Cut()]
    p = make(page(5), watched(*kill), Refused(), Refused(), Refused(), watched(Pause(121.0), bookmark_line(6)))

    for _ in range(300):
        p.sim.advance(1.0)
        assert p.problem == ""


@pytest.mark.scenario("RF-30")
def test_a_proxy_that_takes_watches_up_and_swallows_all_is_told_in_time(make: Make) -> None:
    """When each watch is accepted and stays silent, the age counts from the last event, and readiness shows it."""
    p = make(page(5), watched(bookmark_line(6)), *[watched()] * 10, failure(503, "ServiceUnavailable"))

    p.sim.advance(OVERDUE - 1.0)
    assert (p.problem, p.informer.reflector.liveness.idle, p.age) == ("", 1, OVERDUE - 1.0)

    p.sim.advance(2.0)
    assert p.problem == "nodes has heard nothing for 201 s"


@pytest.mark.parametrize(
    ("ways", "reason"),
    [
        pytest.param([Refused()], "connection refused", id="refused"),
        pytest.param([failure(503, "ServiceUnavailable", "etcd is down")], "etcd is down", id="unavailable"),
        pytest.param(
            [watched(error_line(500, "broken")), *[failure(403, "no role")] * 99],
            "no role",
            id="taken up and broken each time",
        ),
    ],
)
def test_a_server_that_does_not_serve_the_watch_is_told_with_its_reason(
    make: Make, ways: list[Act], reason: str
) -> None:
    p = make(page(5), watched(bookmark_line(6), Cut()), *ways * 100)

    p.sim.advance(OVERDUE + 5.0)

    assert re.fullmatch(rf"nodes has heard nothing for 20\d s: {reason}", p.problem)


def test_a_word_or_a_new_list_ends_the_problem(make: Make) -> None:
    p = make(page(5), watched(), watched(Pause(100.0), bookmark_line(6), End()), watched(bookmark_line(7)))
    p.sim.advance(OVERDUE + 10.0)
    assert p.problem

    p.sim.advance(60.0)

    assert (p.problem, p.informer.last_error) == ("", "")
    assert p.age < 60.0


def test_a_watch_that_was_never_filled_is_told(make: Make) -> None:
    p = make(failure(403, "Forbidden", "no role"), failure(403, "Forbidden", "no role"))

    assert p.problem == "nodes has no initial list yet: no role"
