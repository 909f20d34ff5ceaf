# SPDX-License-Identifier: Apache-2.0
"""What every system lives in: time that passes with its faults, and a server that is booted anew after it died."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controller_runtime.api.http import Handler
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.system_faults import SystemFault

TURN = 1.0
"""Virtual seconds between two looks of those who supervise, at most."""


class Course:
    """Lets time pass, a turn at a time, and happen what is due.

    Args:
        sim: Whose time.
        faults: What befalls the system, by time.
        supervise: Begins each turn.
        befall: Lets one of the faults happen.
    """

    def __init__(
        self,
        sim: Simulation,
        faults: Iterable[SystemFault],
        supervise: Callable[[], None],
        befall: Callable[[SystemFault], None],
    ) -> None:
        self._sim = sim
        self._to_come = [*faults]
        self._supervise = supervise
        self._befall = befall

    def pass_until(self, time: float) -> None:
        """Let time pass until then, in virtual seconds since the simulation began."""
        while time - self._sim.time > 1e-6:  # it counts nanoseconds, and sums of floats do not
            self._supervise()
            due = min([time, self._sim.time + TURN, *(fault.when for fault in self._to_come[:1])])
            self._sim.advance(max(0.0, due - self._sim.time))
            while self._to_come and self._to_come[0].when <= self._sim.time:
                self._befall(self._to_come.pop(0))


class ServerProcess:
    """The host of an API server, and its successors.

    Args:
        sim: Where it is.
        network: On which it serves.
        host: The first one.
        make: Makes the server, on the disk of its predecessor.

    Attributes:
        host: The present one.
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
        """Boot it if its time has come."""
        if self._starts_at is not None and self._sim.time >= self._starts_at:
            self._starts_at = None
            if self.host.crashed:
                self.host = self._sim.restart(self.host)
            self.host.spawn("boot", self._boot)

    def die(self, seconds: float) -> None:
        """Be killed, and booted anew after `seconds`."""
        self._sim.crash(self.host)
        self._starts_at = self._sim.time + seconds

    def _boot(self) -> None:
        self._network.serve(self.host, self._make(self.host))
