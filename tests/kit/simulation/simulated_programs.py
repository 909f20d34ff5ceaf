# SPDX-License-Identifier: Apache-2.0
"""Targets for threads in the simulation's own tests."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.host import Host
from apimachinery.stop import Stop


def every(host: Host, seconds: float, act: Callable[[], object]) -> Callable[[], None]:
    """Return a thread's target that calls `act` every `seconds` and never ends."""

    def run() -> None:
        stop = Stop(host, "ticker")
        while not stop.wait(seconds):
            act()

    return run


def wait_for_ever(host: Host, label: str = "nothing") -> Callable[[], None]:
    def run() -> None:
        condition = host.condition(label)
        with condition:
            while True:
                condition.wait_until(None)

    return run
