# SPDX-License-Identifier: Apache-2.0
"""The surroundings of a fake of an outside service: whose thread calls it, and how a call waits."""

from __future__ import annotations

import enum
from collections.abc import Callable

import attrs

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.testing.outside.calls import Observer
from controller_runtime.testing.simulation.simulation import SimulatedHost
from controller_runtime.testing.simulation.tasks import Crashed


class Caller(enum.Enum):
    """The origin of a call to an outside service."""

    PROGRAM = "the program under test"
    TEST = "the test"
    OTHER = "another part of the cluster, a check, or any caller in real time"


@attrs.define
class Place:
    """The surroundings of a fake of an outside service.

    Attributes:
        program: Returns the host of the present process of the program.
        is_checking: Returns True while a check of the test is evaluated.
        written: Called after each change by a call of the program, with a text that says when; checks the conditions
            that always have to hold.
        observer: Decides how calls go.
    """

    program: Callable[[], Host]
    is_checking: Callable[[], bool]
    written: Callable[[str], None]
    observer: Observer

    def caller(self) -> Caller:
        """Return the owner of the calling thread.

        Raises:
            Crashed: The thread belongs to a process that has ended.
        """
        host = self.program()
        if not isinstance(host, SimulatedHost) or host.scheduler.observing or self.is_checking():
            return Caller.OTHER
        task, root = host.scheduler.current, host.scheduler.root
        if task is root:
            return Caller.TEST
        if task.machine.dead or host.scheduler.closed:
            raise Crashed(f"host {task.machine.name} is gone")
        return Caller.PROGRAM if task.machine is host.machine else Caller.OTHER

    def leave(self, label: str) -> None:
        """Let other threads of the simulation run, as during a call to another machine.

        Args:
            label: The text for the call in the trace of the simulation.

        Raises:
            LockHeld: The caller holds a lock.
        """
        host = self.program()
        assert isinstance(host, SimulatedHost), "only a simulation has callers that are the program"
        host.leaving(label)

    def wait(self, seconds: float) -> None:
        """Wait for `seconds` of virtual time."""
        if seconds:
            Stop(self.program(), "an answer of the outside").wait(seconds)

    def end_program(self) -> None:
        """Kill the program, from one of its threads; this call never returns."""
        host = self.program()
        self.observer.end_program()
        Stop(host, "end of the program").wait_until(None)
