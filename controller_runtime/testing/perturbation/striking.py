# SPDX-License-Identifier: Apache-2.0
"""Carries out the plan of one run at its point of the story."""

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
"""Virtual seconds for which a restart is shown an old state, so that other controllers act on what comes of it."""

AWAY = 1.0
"""Virtual seconds from a crash to the start of the next manager, in which other controllers go on."""


class Managed(Protocol):
    """The cluster of a manager."""

    def kill(self) -> None:
        """End the manager."""

    def restart(self) -> None:
        """Begin another one."""


class Striker:
    """Carries out one plan.

    Args:
        plan: The plan; None for a calm run.
        cluster: Its manager ends and begins again.
        seen: The server as the manager sees it.
        first: The server's version when the run began.
        host: The server's host.
        waits: Lets time pass.

    Attributes:
        phase: How far the plan has come.

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
        """True while a change waits at the gate, or will, so that the program cannot be where it would be."""
        return isinstance(self.phase, Holding) and self.phase.gate.holds

    @property
    def has_diverted_a_call(self) -> bool:
        """True once a call to an outside service went another way than usual."""
        return isinstance(self._plan, OutsideFault) and self.phase.happened

    @property
    def leaves_the_story(self) -> bool:
        """True if the test cannot go on: the change that follows the missed one is a later step of the story."""
        return isinstance(self._plan, Missed) and self._plan.by_story and self.is_withholding

    def at_rest(self, rest: int) -> None:
        """Carry the plan out if it is for this rest, or has waited for one."""
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
        """Let late changes come, if there are any; they have been late until the rest of the world was at rest."""
        if isinstance(self.phase, Holding) and self.phase.gate.holds:
            self._pass(self.phase.gate)
            self._waits.settle()

    def landed(self, change: Landed) -> None:
        """End the watches with 410 once the change after the missed one has come, so that only this one is seen."""
        match self._plan, self.phase:
            case Missed(name, version, _), Holding(gate) if name == change.name and change.version > version:
                if gate.holds:
                    self._pass(gate, expires=True)

    def course(self, number: int) -> Course:
        """Return how the manager's call of this number goes."""
        if self._seen.crash_at is not None and self._seen.crash_at[0] == number:
            return ENDS_AFTER if self._seen.crash_at[1] else ENDS_BEFORE
        match self._plan:
            case OutsideFault(call, fault) if call == number and isinstance(self.phase, NotYet):
                self.phase = Done()
                return COURSES[Fault(fault)]
            case _:
                return AS_USUAL

    def end_program(self) -> None:
        """End the manager, from one of its own threads, and have another one start."""
        self._host.spawn("perturbation", self.crash)

    def crash(self) -> None:
        """End the manager, from a thread of the server, and have another thread start a new one."""
        self.phase = Away()
        self._seen.crash_at = None
        self._cluster.kill()
        self._host.spawn("perturbation", self._come_back)

    def story_is_over(self) -> None:
        """Inject no further fault of the plan, because the last step of the story is over."""
        self._seen.crash_at = None

    def cannot(self, reason: str) -> None:
        """Note that the plan cannot be carried out to its end."""
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
