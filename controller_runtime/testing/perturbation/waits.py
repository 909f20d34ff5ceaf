# SPDX-License-Identifier: Apache-2.0
"""Lets time pass for a perturbation itself, which is not part of the story."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from controller_runtime.testing.simulation import Simulation


class OwnWaits:
    """The waits and requests of a run that the test did not ask for.

    Args:
        simulation: Its time.

    Attributes:
        is_own: True while the run itself waits or writes, so that it is not part of the story.

    Threads: the simulation's root, which runs the test.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.is_own = False

    @contextmanager
    def own(self) -> Iterator[None]:
        """Take all waits and writes in the block for the run's own."""
        before, self.is_own = self.is_own, True
        try:
            yield
        finally:
            self.is_own = before

    def advance(self, seconds: float) -> None:
        """Let virtual seconds pass, after all threads have to wait."""
        with self.own():
            self._simulation.advance(seconds)

    def settle(self) -> None:
        """Wait until all threads have to wait."""
        self.advance(0.0)
