# SPDX-License-Identifier: Apache-2.0
"""One replica as a cluster runs it: a process that is started again whenever it has ended."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.errors import ControllerRuntimeError
from apimachinery.stop import Stop
from controller_runtime.election.elector import LeaderElector
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import SimulatedHost, Simulation

MakeManager = Callable[[SimulatedHost], Manager]
"""Returns the manager of a replica, with its controllers."""

RESTART = 1.0
"""Virtual seconds after which a program that ended by itself is started again."""


class Replica:
    """A host that runs a manager, and the hosts that succeed it after crashes.

    Attributes:
        host: The present host.
        elector: The elector of the present manager; None before there is one.
    """

    def __init__(self, sim: Simulation, host: SimulatedHost, make: MakeManager) -> None:
        self.host = host
        self.elector: LeaderElector | None = None
        self._sim = sim
        self._make = make
        self._stop: Stop | None = None
        self._has_ended = False
        self._starts_at: float | None = 0.0
        self._pause_before_start = RESTART

    @property
    def leads(self) -> bool:
        """True if it could act as the leader at this instant: dead and frozen processes cannot."""
        return self.elector is not None and not self.host.crashed and not self.host.paused and self.elector.is_leader()

    def supervise(self) -> None:
        """Start the program again if it has ended and the time until its start has passed."""
        now = self._sim.time
        if self._has_ended:
            self._has_ended = False
            self.die(self._pause_before_start)  # threads that are still running end with their process
            self._pause_before_start = RESTART
        if self._starts_at is not None and now >= self._starts_at:
            self._starts_at = None
            if self.host.crashed:
                self.host = self._sim.restart(self.host)
            self.host.spawn("program", self._run)

    def die(self, seconds: float) -> None:
        """Kill the process; it is started again after `seconds`."""
        self._sim.crash(self.host)
        self.elector = self._stop = None
        self._starts_at = self._sim.time + seconds

    def stop(self, seconds: float) -> None:
        """Ask the process to stop; it is started again `seconds` after it has ended."""
        if self._stop is not None and not self.host.crashed:
            self._pause_before_start = seconds
            self.host.spawn("signal", self._stop.set)

    def _run(self) -> None:
        stop = self._stop = Stop(self.host)
        manager = self._make(self.host)
        self.elector = manager.elector
        try:
            manager.run(stop)
        except ControllerRuntimeError as error:
            self._sim.note(f"{self.host.name} ends: {type(error).__name__}")
        self._has_ended = True
