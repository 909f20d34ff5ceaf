# SPDX-License-Identifier: Apache-2.0
"""The environment of every system: time that passes with its faults, and a server that is restarted after crashes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apimachinery.http import Handler
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.system_faults import SystemFault

TURN = 1.0
"""Virtual seconds between two calls of `supervise`, at most."""


class Course:
    """Lets time pass in turns, and injects each fault when its time has come.

    Args:
        sim: The simulation.
        faults: The faults at given times, in order.
        supervise: Called before each turn; starts again what has ended.
        inject: Makes one of the faults happen.
    """

    def __init__(
        self,
        sim: Simulation,
        faults: Iterable[SystemFault],
        supervise: Callable[[], None],
        inject: Callable[[SystemFault], None],
    ) -> None:
        self._sim = sim
        self._to_come = [*faults]
        self._supervise = supervise
        self._inject = inject

    def pass_until(self, time: float) -> None:
        """Let time pass until `time`, in virtual seconds since the simulation began."""
        while time - self._sim.time > 1e-6:  # the simulation counts nanoseconds; sums of floats are less exact
            self._supervise()
            due = min([time, self._sim.time + TURN, *(fault.when for fault in self._to_come[:1])])
            self._sim.advance(max(0.0, due - self._sim.time))
            while self._to_come and self._to_come[0].when <= self._sim.time:
                self._inject(self._to_come.pop(0))


class ServerProcess:
    """The host of an API server, and the hosts that succeed it after crashes.

    Args:
        sim: The simulation.
        network: The network on which it serves.
        host: The first host.
        make: Returns a server for a host, on the disk of its predecessor.

    Attributes:
        host: The present host.
    """

    def __init__(
        self, sim: Simulation, network: Network, host: SimulatedHost, make: Callable[[SimulatedHost], Handler]
    ) -> None:
        self.host = host
        self._sim = sim
        self._network = network
        self._make = make
        self._starts_at: float | None = 0.0

    def supervise(self) -> None:
        """Start the server if the time until its start has passed."""
        if self._starts_at is not None and self._sim.time >= self._starts_at:
            self._starts_at = None
            if self.host.crashed:
                self.host = self._sim.restart(self.host)
            self.host.spawn("boot", self._boot)

    def die(self, seconds: float) -> None:
        """Kill the server; it is started again after `seconds`."""
        self._sim.crash(self.host)
        self._starts_at = self._sim.time + seconds

    def _boot(self) -> None:
        self._network.serve(self.host, self._make(self.host))
