# SPDX-License-Identifier: Apache-2.0
"""Applies the fault of one run when its point is reached."""

from __future__ import annotations

from typing import Protocol

from apimachinery.stop import Stop
from controller_runtime.testing.outside.courses import AS_USUAL, COURSES, ENDS_AFTER, ENDS_BEFORE, Course, Fault
from controller_runtime.testing.perturbation.phase import Away, Done, Holding, NotYet, Phase, Void
from controller_runtime.testing.perturbation.plans import Crash, Lag, Missed, OutsideFault, Plan, Restart, Stale
from controller_runtime.testing.perturbation.record import Landed
from controller_runtime.testing.perturbation.server import ManagersServer
from controller_runtime.testing.perturbation.waits import OwnWaits
from controller_runtime.testing.simulation.simulation import SimulatedHost
from embedded_apiserver.perturbation import Gate, Past

LATE = 3.0
"""Virtual seconds for which a restarted manager is shown an old state, so that other controllers act on its effects."""

AWAY = 1.0
"""Virtual seconds from a crash to the start of the next manager, in which other controllers continue."""


class Managed(Protocol):
    """The cluster of a manager that can be restarted."""

    def kill(self) -> None:
        """End the manager, as a crash does."""

    def restart(self) -> None:
        """End the manager if it runs, and start a new one."""


class Striker:
    """Applies one fault at its point of the run.

    Args:
        plan: The plan, which says the fault and the point; None for a run without a fault.
        cluster: The cluster, whose manager is ended and started again.
        seen: The server as the manager sees it.
        first: The server's resourceVersion when the run began.
        host: The server's host.
        waits: Lets time pass.

    Attributes:
        phase: The phase of the fault.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(
        self,
        plan: Plan | None,
        cluster: Managed,
        seen: ManagersServer,
        first: int,
        host: SimulatedHost,
        waits: OwnWaits,
    ) -> None:
        self.phase: Phase = NotYet()
        self._plan, self._cluster, self._seen = plan, cluster, seen
        self._first, self._host, self._waits = first, host, waits
        match plan:
            case Crash(write, landed):
                seen.crash_at = (write, landed)
            case Lag(resource, version):
                self._hold(Gate(resource, first + version))
            case Missed(name, version, _):
                self._hold(Gate(name.resource, first + version))
            case _:
                pass

    @property
    def is_withholding(self) -> bool:
        """True while a change is hidden from the program, so that it cannot reach the expected state."""
        return isinstance(self.phase, Holding) and self.phase.gate.holds

    @property
    def has_diverted_a_call(self) -> bool:
        """True once a call to an outside service had its fault."""
        return isinstance(self._plan, OutsideFault) and self.phase.happened

    @property
    def leaves_the_story(self) -> bool:
        """True if the test's code must not continue: a later step of it makes the change that follows the hidden
        one.
        """
        return isinstance(self._plan, Missed) and self._plan.by_story and self.is_withholding

    def at_rest(self, rest: int) -> None:
        """Apply a fault that is due once nothing changes any more, and show the changes that were hidden until then.

        Args:
            rest: The number of times that the cluster has come to rest before.
        """
        match self._plan:
            case Restart(at) if at == rest:
                self._restart()
            case Stale(resource, version, at) if at == rest:
                self._seen.past = Past(resource, self._first + version)
                self._hold(Gate(resource, self._first + version + 1), happened=True)
                self._cluster.restart()
                self._waits.advance(LATE)
                self._seen.past = None
                self.open()
            case _:
                self.open()
        self._waits.settle()
        if isinstance(self.phase, Away):
            self._waits.advance(AWAY)

    def open(self) -> None:
        """Show hidden changes, if there are any, and wait until all threads are blocked."""
        if isinstance(self.phase, Holding) and self.phase.gate.holds:
            self._pass(self.phase.gate)
            self._waits.settle()

    def landed(self, change: Landed) -> None:
        """Handle a change: if it follows the hidden one of a `Missed` plan, end the watches with status 410, so that
        the manager sees only the later state.
        """
        match self._plan, self.phase:
            case Missed(name, version, _), Holding(gate) if name == change.name and change.version > version:
                if gate.holds:
                    self._pass(gate, expires=True)

    def course(self, number: int) -> Course:
        """Return how the manager's call to an outside service with this number goes."""
        if self._seen.crash_at is not None and self._seen.crash_at[0] == number:
            return ENDS_AFTER if self._seen.crash_at[1] else ENDS_BEFORE
        match self._plan:
            case OutsideFault(call, fault) if call == number and isinstance(self.phase, NotYet):
                self.phase = Done()
                return COURSES[Fault(fault)]
            case _:
                return AS_USUAL

    def end_program(self) -> None:
        """End the manager, called on one of its own threads, and start another one after `AWAY` seconds."""
        self._host.spawn("perturbation", self.crash)

    def crash(self) -> None:
        """End the manager, called on a thread of the server, and start another one after `AWAY` seconds."""
        self.phase = Away()
        self._seen.crash_at = None
        self._cluster.kill()
        self._host.spawn("perturbation", self._come_back)

    def story_is_over(self) -> None:
        """Cause no further crash, because the last step of the test is over."""
        self._seen.crash_at = None

    def cannot(self, reason: str) -> None:
        """Record why the fault cannot be carried out, or only in part; the run is then not judged."""
        self.phase = Void(reason)

    def _hold(self, gate: Gate, *, happened: bool = False) -> None:
        self._seen.filter = gate
        self.phase = Holding(gate, happened)

    def _pass(self, gate: Gate, *, expires: bool = False) -> None:
        self.phase = Done()
        gate.open(expires=expires)

    def _come_back(self) -> None:
        Stop(self._host, "away").wait(AWAY)
        self._restart()

    def _restart(self) -> None:
        self._cluster.restart()
        self.phase = Done()
