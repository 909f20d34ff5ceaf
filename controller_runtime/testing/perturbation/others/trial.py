# SPDX-License-Identifier: Apache-2.0
"""One run of a story with an operator, in real time: it records, perturbs, and waits until the world is at rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import attrs

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.beside import Beside
from controller_runtime.testing.perturbation.judging import Baseline
from controller_runtime.testing.perturbation.others.operator_process import OperatorProcess
from controller_runtime.testing.perturbation.others.server import WRITER, OperatorsServer, writing
from controller_runtime.testing.perturbation.others.story import Act, Story, act
from controller_runtime.testing.perturbation.others.triggers import trigger_of
from controller_runtime.testing.perturbation.plans import Plan
from controller_runtime.testing.perturbation.record import STORY, Landed, Rest, Run, Told
from controller_runtime.testing.perturbation.states import States
from controller_runtime.testing.perturbation.telling import landed_of
from embedded_apiserver import APIServer, Certificates, Change, History, LoopbackServer, kubeconfig
from embedded_apiserver.perturbation import UNREAD, AtChange, AtRest, AtWrite, Gate, Past, Trigger, matches

_HISTORY = History(changes=1_000_000, age=1e9)
_NEVER = 1 << 62
"""A version that no change has: a gate with it holds nothing yet."""
_TOKEN = "of-the-operator"  # the server serves this machine alone, and asks for none
LATE = 2.0
"""Seconds for which an operator that starts again is shown an old state."""
ENDED = "the operator has ended by itself"
_LOOK = 0.1
"""Seconds between two looks at whether the operator computes: on a busy machine it may be long before it writes."""
_CALM = 3
"""So much longer is each rest of a calm run: all other runs wait at each rest for the state that it was in."""


@attrs.frozen(kw_only=True)
class Settings:
    """How runs are made.

    Attributes:
        command: The operator's command.
        story: The acts of the user.
        folder: A folder for the kubeconfig and the log of the present run.
        certificates: The certificates of the server.
        quiet: Seconds without a change after which the world is at rest; three times as many in a calm run.
        patience: Seconds for which a rest is waited for.
        workloads: Whether Deployments, StatefulSets and Jobs have pods that run.
    """

    command: Sequence[str]
    story: Story
    folder: Path
    certificates: Certificates
    quiet: float = 1.0
    patience: float = 20.0
    workloads: bool = False


class Ended(Exception):
    """The operator of a calm run has ended by itself, so the run shows nothing."""


class Trial:
    """One run.

    Args:
        host: The real machine's.
        settings: How it is made.
        baseline: The results of the calm runs; None if this is one.
        plan: The perturbation; None for a calm run.

    Attributes:
        run: The record.
        trigger: When the perturbation happens; None for never.
        fired: Whether the perturbation has happened.

    Threads: one, for `make`.
    """

    def __init__(
        self,
        host: Host,
        settings: Settings,
        baseline: Baseline | None = None,
        plan: Plan | None = None,
    ) -> None:
        self._host, self._settings, self._baseline = host, settings, baseline
        self._calm = calm = None if baseline is None else baseline.run
        self.trigger: Trigger | None = None if plan is None or calm is None else trigger_of(plan, calm)
        self._pause = Stop(host, "pause of a perturbed run")
        # Guards what changes are noted in: threads of the server note them, that of the trial reads them.
        self._lock = host.lock("perturbed run")
        self._seen: Counter[str] = Counter()
        self._steps = 0
        self._is_over = False
        self._changed_at = host.monotonic()
        self._gate: Gate | None = None
        self.fired = False

    def make(self) -> Run:
        """Make the run, and return its record.

        Raises:
            UsageError: The command cannot be run, or the server refuses an act of the story.
        """
        settings = self._settings
        server = APIServer(self._host, history=_HISTORY, cluster_objects=settings.workloads)
        beside = Beside(self._host, server, True, settings.workloads)
        config = settings.folder / "kubeconfig"
        self._operator = OperatorProcess(self._host, settings.command, config, settings.folder / "operator.log")
        trigger = self.trigger if isinstance(self.trigger, AtWrite) else None
        self._server = server
        self._between = OperatorsServer(self._host, server, self._calm, trigger, self._operator.kill)
        self.run = self._between.run
        self._user = Client(self._host, InProcessTransport(self._host, server))
        with LoopbackServer(self._host, self._between, certificates=settings.certificates) as serving:
            text = kubeconfig(serving.url, settings.certificates.authority, _TOKEN)
            config.write_text(text, encoding="utf-8")
            beside.start()
            try:
                self._tell()
            except Ended:
                self.run.broken = [ENDED]
            finally:
                self._operator.kill()
                beside.stop()
        server.close()
        self.fired = self.fired or self._between.fired
        return self.run

    def _tell(self) -> None:
        for each in self._settings.story.before:
            act(self._user, each, self._pause.wait)
        self._states = States(self._server)
        self._server.storage.on_commit = self._landed
        if isinstance(self.trigger, AtChange):
            self._hold(Gate(self.trigger.resource, _NEVER))
        self._start()
        self.run.prelude = 0
        self._rest()
        for each in self._settings.story.steps:
            self._step(each)
            self._rest()
        self._end()

    def _hold(self, gate: Gate) -> None:
        """Let watches stand still at a gate."""
        self._gate = self._between.seen.filter = gate

    def _start(self) -> None:
        """Start the operator, and wait until it watches something and asks for nothing more: that takes seconds."""
        before, began = self._between.seen.watches, self._host.monotonic()
        self._operator.start()
        deadline = began + self._settings.patience
        while self._operator.is_alive and (now := self._host.monotonic()) < deadline:
            if self._between.seen.watches > before and now - self._between.asked_at > self._settings.quiet:
                return
            self._pause.wait(0.1)

    def _step(self, what: Act) -> None:
        if what.verb == "wait":
            self.run.story.append(Told(None, what.body["seconds"]))
            self._pause.wait(what.body["seconds"])
            return
        self._steps += 1
        with writing(STORY, self._steps):
            act(self._user, what, self._pause.wait)

    def _landed(self, resource: str, change: Change) -> None:
        """Note a change, on the thread that made it and before a client can see it."""
        with self._lock:
            self._states.note(resource, change)
            if resource.partition(".")[0] in UNREAD:
                return
            found = landed_of(resource, change, self._states.first, WRITER.get(), self._steps, len(self.run.rests))
            self.run.landed.append(found)
            self._seen[resource] += 1
            self._seen[str(found.name)] += 1
            self._changed_at = self._host.monotonic()
            self._close_gate(found)
        self._pass_over(found)

    def _close_gate(self, found: Landed) -> None:
        gate = self._gate
        if gate is None or gate.version != _NEVER or not isinstance(self.trigger, AtChange):
            return
        if matches(self.trigger, found.name, self._seen):
            gate.version = self._states.first + found.version

    def _pass_over(self, found: Landed) -> None:
        """End the watches with 410 when the change after the missed one comes, so that only this one is seen."""
        trigger, gate = self.trigger, self._gate
        if not isinstance(trigger, AtChange) or not trigger.is_missed or str(found.name) != trigger.name:
            return
        with self._lock:
            is_next = self._seen[trigger.name] > trigger.occurrence
        if is_next and gate is not None and gate.holds:
            self.fired = True
            gate.open(expires=True)

    def _rest(self) -> None:
        """Wait until nothing changes, perturb if it is time for that, and record the state."""
        number = len(self.run.rests)
        self._wait_for_quiet()
        if self._is_before_the_next_change():
            self._note_rest(is_withheld=True)
            return
        if self._calm is None and not self._operator.is_alive:
            raise Ended
        if not self._operator.is_alive:  # it was ended at a write, or by itself
            self._start()
            self._wait_for_quiet()
        if isinstance(self.trigger, AtRest) and self.trigger.rest == number:
            self._come_to(number)  # a short quiet may lie between two writes that belong together
            self._start_again(self.trigger)
        elif self._gate is not None and self._gate.holds:
            self._open_gate()
        self._come_to(number)
        self._note_rest()

    def _note_rest(self, *, is_withheld: bool = False) -> None:
        reached = self._server.storage.version - self._states.first
        self.run.rests.append(Rest(self._states.present(), self._steps, reached, is_withheld))

    def _is_before_the_next_change(self) -> bool:
        """Return whether a change is being missed, and the story has still to make the one that follows it."""
        trigger, gate = self.trigger, self._gate
        if not isinstance(trigger, AtChange) or not trigger.is_far or gate is None or not gate.holds:
            return False
        with self._lock:
            return not gate.is_open and self._seen[trigger.name] <= trigger.occurrence and not self._is_over

    def _start_again(self, trigger: AtRest) -> None:
        self.fired = True
        self._operator.kill()
        if trigger.resource:
            of_it = [each for each in self.run.landed if each.name.resource == trigger.resource][: trigger.changes]
            version = self._states.first + (of_it[-1].version if of_it else 0)
            self._between.seen.past = Past(trigger.resource, version)
            self._hold(Gate(trigger.resource, version + 1))
        self._start()
        self._wait_for_quiet()
        if trigger.resource:
            self._pause.wait(LATE)
            self._between.seen.past = None
            self._open_gate()

    def _open_gate(self) -> None:
        assert self._gate is not None, "only with a gate"
        self.fired = True
        expires = isinstance(self.trigger, AtChange) and self.trigger.is_missed
        self._gate.open(expires=expires)
        self._wait_for_quiet()

    def _come_to(self, number: int) -> None:
        """Wait for the state of the calm run, as long as that takes at most."""
        if self._baseline is None:
            return
        deadline = self._host.monotonic() + self._settings.patience
        while not self._baseline.is_at(number, self.run, self._states.present()):
            if self._host.monotonic() > deadline:
                return
            self._pause.wait(0.2)

    def _wait_for_quiet(self) -> None:
        quiet = self._settings.quiet * (1 if self._calm is not None else _CALM)
        with self._lock:
            self._changed_at = self._host.monotonic()
        deadline = self._host.monotonic() + self._settings.patience
        while (now := self._host.monotonic()) < deadline:
            is_busy = self._operator.is_busy
            with self._lock:
                self._changed_at = now if is_busy else self._changed_at
                left = self._changed_at + quiet - now
            if left <= 0:
                return
            self._pause.wait(min(left, _LOOK))

    def _end(self) -> None:
        self._is_over = True
        self._rest()
        self.run.broken = [] if self._operator.is_alive else [ENDED]
