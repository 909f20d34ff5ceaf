# SPDX-License-Identifier: Apache-2.0
"""Records one run: each change with its writer, and the state at each rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller_runtime.testing.outside.calls import Watched
from controller_runtime.testing.outside.snapshots import Changed
from controller_runtime.testing.perturbation.record import OTHER, Landed, Rest, Run
from controller_runtime.testing.perturbation.states import States
from controller_runtime.testing.perturbation.telling import landed_of
from controller_runtime.testing.perturbation.world import LEFT_OUT, State, plainly
from controller_runtime.testing.simulation.scheduler import Scheduler
from controller_runtime.testing.simulation.tasks import Task
from embedded_apiserver import APIServer, Change
from embedded_apiserver.perturbation import Answer, Name


class Recorder:
    """Records changes, and the state at each rest.

    Args:
        run: The record.
        server: The server.
        scheduler: Knows the thread that writes.

    Attributes:
        first: The server's resourceVersion when the run began.
        lines: The connections to fakes of outside services, whose states are recorded, too.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(self, run: Run, server: APIServer, scheduler: Scheduler) -> None:
        self._run, self._storage, self._scheduler = run, server.storage, scheduler
        self._states = States(server)
        self._writers: dict[Task, tuple[str, int]] = {}
        self.first = self._states.first
        self.lines: list[Watched] = []

    @property
    def is_in_test(self) -> bool:
        """True if the calling thread is the one that runs the test."""
        return self._scheduler.current is self._scheduler.root

    def act_as(self, writer: tuple[str, int], carry_out: Callable[[], Answer]) -> Answer:
        """Carry out a request and return its answer; the changes that it makes are attributed to a writer.

        Args:
            writer: The writer, and the number of its request or step.
            carry_out: Sends the request and returns the answer.
        """
        task = self._scheduler.current
        self._writers[task] = writer
        try:
            return carry_out()
        finally:
            self._writers.pop(task, None)

    def landed(self, resource: str, change: Change) -> Landed | None:
        """Record a change, on the writer's thread, and return its record; None for kinds that are left out, such as
        events.
        """
        if resource.partition(".")[0] in LEFT_OUT:
            return None
        self._states.note(resource, change)
        writer = self._writers.get(self._scheduler.current, (OTHER, 0))
        landed = landed_of(resource, change, self.first, writer, self._run.steps, len(self._run.story))
        self._run.landed.append(landed)
        return landed

    def outside(self, outside: str, found: Changed, writer: tuple[str, int]) -> None:
        """Record a change of an outside service.

        Args:
            outside: The name of the service.
            found: The change.
            writer: The writer, and the number of its call or step.
        """
        self._run.landed.append(
            Landed(
                version=self._storage.version - self.first,
                name=Name(outside, found.key),
                writer=writer[0],
                number=writer[1],
                step=self._run.steps,
                phase=len(self._run.story),
                fields=found.fields,
                creates=found.creates,
                deletes=found.deletes,
            )
        )

    def rest(self, *, is_withheld: bool) -> None:
        """Record the state of a cluster that has come to rest.

        Args:
            is_withheld: True if a change is still hidden from the manager.
        """
        for line in self.lines:
            line.notice()
        reached = self._storage.version - self.first
        self._run.rests.append(Rest(self.present(), self._run.steps, reached, is_withheld))

    def present(self) -> State:
        """Return the present state; do not modify it."""
        return {**self._states.present(), **state_of(self.lines)} if self.lines else self._states.present()


def state_of(lines: Sequence[Watched]) -> State:
    """Return the states of outside services, keyed as objects are, with the service's name as the collection."""
    return {Name(line.name, key): [plainly(value)] for line in lines for key, value in line.present().items()}
