# SPDX-License-Identifier: Apache-2.0
"""The look-up of the node's name: a resolver that hangs delays neither the status nor the end of the program."""

from __future__ import annotations

import subprocess
import sys

import pytest

from controller_runtime.testing.simulation import Simulation
from controllers.agent.resolver import TIMEOUT, Resolver


class SlowResolver:
    """A resolver that takes some seconds to answer."""

    def __init__(self, sim: Simulation, *, seconds: float) -> None:
        self.host = sim.host("node")
        self.seconds = seconds
        self.asked = 0
        self.answer: list[str] | Exception = ["192.0.2.7"]
        self._condition = self.host.condition("resolver under test")

    def __call__(self, name: str) -> list[str]:
        self.asked += 1
        due = self.host.monotonic() + self.seconds
        with self._condition:
            while self.host.monotonic() < due:
                self._condition.wait_until(due)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_quick_answer_is_this_looks(sim: Simulation) -> None:
    system = SlowResolver(sim, seconds=TIMEOUT / 2)
    resolver = Resolver(system.host, "n1", system)

    assert resolver.addresses() == ["192.0.2.7"]
    system.answer = ["192.0.2.8"]
    assert resolver.addresses() == ["192.0.2.8"]


def test_a_slow_answer_is_the_next_looks(sim: Simulation) -> None:
    system = SlowResolver(sim, seconds=5.0)
    resolver = Resolver(system.host, "n1", system)
    began = system.host.monotonic()

    assert resolver.addresses() == ()
    assert system.host.monotonic() == began + TIMEOUT
    assert resolver.addresses() == ()
    assert system.host.monotonic() == began + TIMEOUT, "nobody waits twice"
    assert system.asked == 1

    sim.advance(10.0)
    assert resolver.addresses() == ["192.0.2.7"]


@pytest.mark.parametrize("error", [OSError("no such name"), UnicodeError("no name")])
def test_a_name_that_is_not_known_has_no_addresses(sim: Simulation, error: Exception) -> None:
    system = SlowResolver(sim, seconds=0.0)
    resolver = Resolver(system.host, "n1", system)
    resolver.addresses()
    system.answer = error

    assert resolver.addresses() == ()


HANGING = """
import time
from apimachinery.system import SystemHost
from controllers.agent.resolver import Resolver
print(Resolver(SystemHost(), "n1", lambda name: time.sleep(3600)).addresses())
"""


@pytest.mark.timeout(60)
def test_a_resolver_that_hangs_does_not_keep_the_program_from_ending() -> None:
    outcome = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, check=True)

    assert outcome.stdout == "()\n"
