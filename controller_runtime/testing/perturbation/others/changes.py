# SPDX-License-Identifier: Apache-2.0
"""The changes of one run: they are recorded when the server commits them, and hidden from the operator as a plan
says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from apimachinery.host import Host
from controller_runtime.testing.outside.calls import Call
from controller_runtime.testing.outside.courses import Course
from controller_runtime.testing.outside.snapshots import Changed
from controller_runtime.testing.perturbation.others.outsides import Outsides, Recorder
from controller_runtime.testing.perturbation.others.properties import Properties
from controller_runtime.testing.perturbation.others.quiet import Quiet
from controller_runtime.testing.perturbation.others.server import WRITER, OperatorsServer
from controller_runtime.testing.perturbation.others.triggers import Point
from controller_runtime.testing.perturbation.record import MANAGER, OTHER, Landed, Rest, Run
from controller_runtime.testing.perturbation.states import States
from controller_runtime.testing.perturbation.telling import landed_of
from controller_runtime.testing.perturbation.world import State
from embedded_apiserver import APIServer, Change
from embedded_apiserver.perturbation import (
    UNREAD,
    AtChange,
    AtRest,
    Gate,
    Name,
    Past,
    PerturbedServer,
    matches,
)

_NEVER = 1 << 62
"""A resourceVersion that no change has: a gate with it hides nothing yet."""


class Changes:
    """Records the changes of a server from now on, and hides some from the operator for a while.

    Args:
        host: Creates the lock.
        server: The server.
        seen: The view of the server that the operator has.
        run: The record, to which changes are added.
        trigger: The point at which the fault happens; None for no fault.
        quiet: Notified of each change.
        properties: Checked after each change.
        outsides: The services outside of the cluster.

    Attributes:
        states: The states of the server.
        steps: The number of the user's actions that have begun.
        restarts: The number of restarts at rest: objects that exist by then should not disappear afterwards, as those
            that exist at any other rest.
        is_over: True once all actions of the story are done.
        fired: True once a hidden change has been shown or skipped.

    Threads: threads of the server and of proxies record changes; one thread calls all other methods.
    """

    def __init__(
        self,
        host: Host,
        server: APIServer,
        seen: PerturbedServer,
        run: Run,
        trigger: Point | None,
        quiet: Quiet,
        properties: Properties,
        outsides: Outsides,
    ) -> None:
        self.states = States(server)
        self.steps = self.restarts = 0
        self.is_over = self.fired = False
        self._server, self._seen, self._run, self._trigger, self._quiet = server, seen, run, trigger, quiet
        self._properties, self._outsides = properties, outsides
        # Guards the record and the counts: threads of the server write them.
        self._lock = host.lock("changes of a perturbed run")
        self._counts: Counter[str] = Counter()
        self._gate: Gate | None = None
        if isinstance(trigger, AtChange):
            self._hold(Gate(trigger.resource, _NEVER))
        server.storage.on_commit = self._landed

    @property
    def reached(self) -> int:
        """The newest resourceVersion, counted from the beginning of the run."""
        return self._server.storage.version - self.states.first

    @property
    def _phase(self) -> int:
        return len(self._run.rests) + self.restarts

    @property
    def holds(self) -> bool:
        """True while a change is hidden from the operator."""
        return self._gate is not None and not self._gate.is_open and self._gate.holds

    @property
    def has_begun(self) -> bool:
        """True once a change has come that is to be hidden, or an old state is shown: no operator can see it then,
        though none may be watching.
        """
        return self.fired or (self._gate is not None and self._gate.version != _NEVER)

    def present(self) -> State:
        """Return the present state of the cluster and the outside services; do not modify it."""
        return {**self.states.present(), **self._outsides.present()}

    def rest(self, *, is_withheld: bool = False) -> Rest:
        """Return the present state as that of a rest.

        Args:
            is_withheld: True if a change is still hidden from the operator.
        """
        return Rest(self.present(), self.steps, self.reached, is_withheld)

    def note_before(self) -> str:
        """Record the state at a rest before the fault; return the first property violated so far, or an empty text."""
        self._run.before.append(self.rest())
        return f"{self._properties.broken[0]}, before anything was perturbed" if self._properties.broken else ""

    def outside(self, outside: str, found: Sequence[Changed], number: int) -> None:
        """Record changes of an outside service.

        Args:
            outside: The name of the service.
            found: The changes.
            number: The number of the operator's call that made them; 0 for another cause.
        """
        writer = MANAGER if number else OTHER
        with self._lock:
            landed = [
                Landed(
                    self.reached, Name(outside, each.key), writer, number, self.steps, self._phase,
                    each.fields, each.creates, each.deletes,
                )
                for each in found
            ]  # fmt: skip
            self._run.landed += landed
        for one in landed:
            self._quiet.note(one)

    def is_before_the_next_change(self) -> bool:
        """Return whether a change is still hidden from the operator, and the user's action that makes the next one is
        to come.
        """
        trigger = self._trigger
        if not isinstance(trigger, AtChange) or not trigger.is_far or not self.holds:
            return False
        with self._lock:
            return self._counts[trigger.name] <= trigger.occurrence and not self.is_over

    def show_past(self, trigger: AtRest) -> None:
        """Show the operator an old state of `trigger.resource`, after its first `trigger.changes` changes, until `open`
        is called.
        """
        of_it = [each for each in self._run.landed if each.name.resource == trigger.resource][: trigger.changes]
        version = self.states.first + (of_it[-1].version if of_it else 0)
        self._seen.past = Past(trigger.resource, version)
        self._hold(Gate(trigger.resource, version + 1))

    def open(self) -> None:
        """Show the hidden changes; if the fault is a missed change, the watches end with status 410 instead."""
        self._seen.past = None
        if self._gate is not None:
            self.fired = True
            self._gate.open(expires=isinstance(self._trigger, AtChange) and self._trigger.is_missed)

    def _hold(self, gate: Gate) -> None:
        self._gate = self._seen.filter = gate

    def _landed(self, resource: str, change: Change) -> None:
        """Note a change, on the thread that made it and before a client can see it."""
        with self._lock:
            self.states.note(resource, change)
            if resource.partition(".")[0] in UNREAD:
                return
            found = landed_of(resource, change, self.states.first, WRITER.get(), self.steps, self._phase)
            self._run.landed.append(found)
            self._properties.note(resource, change, found.writer, self.steps)
            self._counts[resource] += 1
            self._counts[str(found.name)] += 1
            self._close_gate(found.name, found.version)
        self._quiet.note(found)
        self._pass_over(found.name)

    def _close_gate(self, name: Name, version: int) -> None:
        gate = self._gate
        if gate is None or gate.version != _NEVER or not isinstance(self._trigger, AtChange):
            return
        if matches(self._trigger, name, self._counts):
            gate.version = self.states.first + version

    def _pass_over(self, name: Name) -> None:
        """End the watches with 410 when the change after the missed one comes, so that only this one is seen."""
        trigger, gate = self._trigger, self._gate
        if not isinstance(trigger, AtChange) or not trigger.is_missed or str(name) != trigger.name:
            return
        with self._lock:
            is_next = self._counts[trigger.name] > trigger.occurrence
        if is_next and gate is not None and gate.holds:
            self.fired = True
            gate.open(expires=True)


class Calls(Recorder):
    """Records the calls of an operator to outside services, and their effects.

    Args:
        between: The server between the operator and the API server, which counts writes and calls.
        changes: The changes of the run.

    Threads: any.
    """

    def __init__(self, between: OperatorsServer, changes: Changes) -> None:
        self._between, self._changes = between, changes

    def called(self, call: Call) -> tuple[int, Course]:
        return self._between.called(call, self._changes.steps)

    def changed(self, outside: str, found: Sequence[Changed], number: int) -> None:
        self._changes.outside(outside, found, number)
