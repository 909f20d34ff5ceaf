# SPDX-License-Identifier: Apache-2.0
"""Lets time pass for the framework itself, which is not recorded as a wait of the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from controller_runtime.testing.simulation import Simulation


class OwnWaits:
    """The waits and requests of a run that the test did not ask for.

    Args:
        simulation: The simulation, in which time advances.

    Attributes:
        is_own: True while the framework itself waits or writes, so that nothing is recorded as an action of the test.

    Threads: the simulation's root, which runs the test.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.is_own = False

    @contextmanager
    def own(self) -> Iterator[None]:
        """Count all waits and writes within the `with` block as those of the framework."""
        before, self.is_own = self.is_own, True
        try:
            yield
        finally:
            self.is_own = before

    def advance(self, seconds: float) -> None:
        """Let virtual seconds pass, and then wait until all threads are blocked."""
        with self.own():
            self._simulation.advance(seconds)

    def settle(self) -> None:
        """Wait until all threads are blocked."""
        self.advance(0.0)
