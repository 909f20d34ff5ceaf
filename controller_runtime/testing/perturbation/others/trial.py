# SPDX-License-Identifier: Apache-2.0
"""One run of a story with an operator, in real time: it records, causes the fault, and waits until nothing changes."""

from __future__ import annotations

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.beside import Beside
from controller_runtime.testing.perturbation.others.account import check_account
from controller_runtime.testing.perturbation.others.changes import Calls, Changes
from controller_runtime.testing.perturbation.others.credentials import GRACE, Credentials
from controller_runtime.testing.perturbation.others.goal import Goal, patience_of
from controller_runtime.testing.perturbation.others.operator_process import OperatorProcess
from controller_runtime.testing.perturbation.others.outsides import Outsides
from controller_runtime.testing.perturbation.others.properties import Properties
from controller_runtime.testing.perturbation.others.quiet import Quiet
from controller_runtime.testing.perturbation.others.server import OperatorsServer, writing
from controller_runtime.testing.perturbation.others.settings import Settings
from controller_runtime.testing.perturbation.others.starting import Starting, tail, wait_for_cluster
from controller_runtime.testing.perturbation.others.story import Act, ActFailed, act
from controller_runtime.testing.perturbation.others.triggers import AtCall, Point, trigger_of
from controller_runtime.testing.perturbation.others.until import Until
from controller_runtime.testing.perturbation.plans import Plan
from controller_runtime.testing.perturbation.record import STORY, Run, Told
from embedded_apiserver import APIServer, History, LoopbackServer, kubeconfig
from embedded_apiserver.perturbation import AtRest, AtWrite

_HISTORY = History(changes=1_000_000, age=1e9)
LATE = 2.0
"""Seconds for which an operator that starts again is shown an old state."""
_ENDS = 3
"""The number of times that an operator may end by itself before its run is given up."""


class Over(Exception):
    """A run cannot go on; the reason is in its record."""


class Trial:
    """One run of an operator, with the user's actions and at most one fault.

    Args:
        host: The host of the real machine.
        settings: The settings of the run.
        baseline: The states that the run has to reach; None for a run without a fault.
        plan: The fault; None for a run without one.
        is_survey: True to wait longer at rests without a condition, to learn how long the operator may pause.

    Attributes:
        run: The record.
        trigger: The point at which the fault happens; None for none.
        fired: True if the fault has happened.
        is_perturbed: True if the fault has happened, or has begun: a failure before that is not caused by the plan.
        fired_after: The number of writes and calls that the operator had sent when the fault happened.
        refused: The actions of a sequence that the server refused.
        kinds: The kinds that the server had at the end.
        lull: The longest pause in seconds, during a wait for a rest, that the operator made before a change.
        log: The end of the output of the operator.

    Threads: one, for `make`.
    """

    def __init__(
        self,
        host: Host,
        settings: Settings,
        baseline: Goal | None = None,
        plan: Plan | None = None,
        *,
        is_survey: bool = False,
    ) -> None:
        self._host, self._settings, self._baseline = host, settings, baseline
        self._calm = calm = None if baseline is None else baseline.run
        self.trigger: Point | None = None if plan is None or calm is None else trigger_of(plan, calm)
        self._pause = Stop(host, "pause of a perturbed run").wait
        self._is_survey, self._act, self._ends = is_survey, "", 0
        self._is_astray = self.is_perturbed = self._is_passing = False
        self.refused: list[Act] = []
        self.fired, self.fired_after = False, 0
        self.lull, self.log = 0.0, ""

    def make(self) -> Run:
        """Make the run, and return its record.

        Raises:
            UsageError: A command cannot be run, or the server refuses an action in `before` or without a fault.
        """
        settings, host = self._settings, self._host
        self._server = server = APIServer(host, history=_HISTORY, cluster_objects=settings.workloads)
        beside = Beside(host, server, True, settings.workloads)
        self._credentials = Credentials(host)
        self._user = Client(host, InProcessTransport(host, server))
        trigger = self.trigger if isinstance(self.trigger, AtWrite | AtCall) else None
        between = OperatorsServer(
            host, server, self._calm, trigger, self._end_operator, self._credentials, settings.account
        )
        self._between, self.run = between, between.run
        outsides = Outsides(host, settings.story.outsides, settings.patience, self._pause, self._end_operator)
        with outsides as self._outsides, OperatorProcess(host, settings.command) as self._operator:
            self._quiet = Quiet(host, self._pause, self._operator.look)
            with LoopbackServer(host, self._between, certificates=settings.certificates) as serving:
                self._url = serving.url
                beside.start()
                try:
                    self._tell()
                except Over:
                    pass
                finally:
                    self._end_operator()
                    if self._is_survey and self.run.is_whole:
                        self._pause(2 * GRACE)  # a process that outlives its end asks for something by then
                    beside.stop()
            self.log = tail(self._operator.log)
        self.kinds = server.kinds
        server.close()
        left = [f"{each} could not be ended" for each in self._operator.left]
        self.run.failures[:0] = [*outsides.failures, *self._credentials.survivors, *left]
        self.fired = self.fired or self._between.fired or self._changes.fired
        self.is_perturbed = self.is_perturbed or self.fired
        self.fired_after = self.fired_after or self._between.fired_after
        self.lull = self._quiet.lull
        return self.run

    def _end_operator(self) -> None:
        self._credentials.revoke(self._operator.kill)

    def _tell(self) -> None:
        server, trigger = self._server, self.trigger
        claims = self._settings.story.claims
        properties = Properties(claims, lambda: {each.resource: each.kind for each in server.kinds})
        server.storage.on_commit = lambda resource, change: properties.note(resource, change, STORY, 0)
        for each in self._settings.story.before:
            act(self._user, each, self._pause)
        check_account(self._settings.account, self._user)
        if self._settings.workloads:
            wait_for_cluster(self._host, server, self._settings, self._pause)
        seen = self._between.seen
        self._changes = Changes(self._host, server, seen, self.run, trigger, self._quiet, properties, self._outsides)
        self._outsides.recorder = Calls(self._between, self._changes)
        try:
            self._play()
            properties.end()
        finally:
            self.run.broken += properties.broken

    def _play(self) -> None:
        self._start()
        self.run.prelude = 0
        self._rest()
        for each in self._settings.story.steps:
            self._step(each)
            self._rest(each.until)
        self._changes.is_over = True
        self._act = "after the last step"
        self._rest()

    def _over(self, why: str, *, is_early: bool = False) -> Over:
        """Note why the run cannot go on, and whether the perturbation was too early to be the cause."""
        self.run.is_whole = False
        self.is_perturbed = self.is_perturbed or (self._changes.holds and not is_early)
        self._fail(why)
        return Over(why)

    def _fail(self, why: str) -> None:
        self.run.failures.append(f"{self._act}: {why}" if self._act else why)

    def _start(self) -> None:
        """Start the operator, and wait until it watches something and asks for nothing more: that takes seconds."""
        settings, operator = self._settings, self._operator
        starting = Starting(self._host, self._between, settings.story.ready, self._user, operator.log)
        patience = settings.patience * (1 if self._calm is None else 2)  # it may have to wait for a lease
        text = kubeconfig(self._url, settings.certificates.authority, self._credentials.issue())
        (path := operator.folder / f"kubeconfig-{starting.number}").write_text(text, encoding="utf-8")
        operator.start(path, self._outsides.places, self._outsides.environment)
        deadline = self._host.monotonic() + patience
        while not starting.is_over(settings.quiet):
            if self._revive():
                return
            if self._host.monotonic() > deadline:
                raise self._over(starting.why_not(patience))
            self._pause(0.1)

    def _revive(self) -> bool:
        """Start the operator again if it has ended, at a write or by itself, and return whether it had."""
        look = self._operator.look()
        if look.alive:
            return False
        if look.end:
            self._ends += 1
            if self._calm is None or self._ends == _ENDS or self._is_before_its_fault:
                raise self._over(look.end)
            if self._ends == 1:
                self._fail(look.end)
            self._end_operator()
        self._start()
        return True

    def _step(self, what: Act) -> None:
        if what.verb == "wait":
            self.run.story.append(Told(None, what.body["seconds"]))
            self._pause(what.body["seconds"])
            return
        self._changes.steps += 1
        self._act = f"step {self._changes.steps} (`{what}`)"
        self._is_passing = what.is_passing
        try:
            with writing(STORY, self._changes.steps):
                act(self._user, what, self._pause)
        except ActFailed as error:
            if what.is_drawn:
                self.refused.append(what)
                return
            if self._calm is None:
                raise
            # An operator that has not been shown a change yet cannot have done what this act needs.
            is_early = self._changes.is_before_the_next_change()
            raise self._over(f"it cannot be done: {error.__cause__}", is_early=is_early) from error

    def _rest(self, until: Until | None = None) -> None:
        """Wait until nothing changes, perturb if it is time for that, and record the state."""
        number = len(self.run.rests)
        self._settle(until)
        is_withheld = self._changes.is_before_the_next_change()
        if not is_withheld:
            if self._revive():
                self._settle(until)
            if isinstance(self.trigger, AtRest) and self.trigger.rest == number:
                self._come_to(number, until)  # a short quiet may lie between two writes that belong together
                self._note_before()
                self._start_again(self.trigger, until)
            elif self._changes.holds:
                self._fire()
                self._changes.open()
                self._settle(until)
            self._come_to(number, until)
        self._note_before()
        self.run.rests.append(self._changes.rest(is_withheld=is_withheld))

    @property
    def _is_before_its_fault(self) -> bool:
        """True in a run with one fault until that begins; never in a sequence of states, which has none."""
        has_begun = self.fired or self._between.fired or self._changes.has_begun
        return self.trigger is not None and not has_begun

    def _note_before(self) -> None:
        if self._is_before_its_fault and (why := self._changes.note_before()):
            raise self._over(why)

    def _fire(self) -> None:
        self.fired, self.fired_after = True, len(self.run.sent)

    def _start_again(self, trigger: AtRest, until: Until | None) -> None:
        self._fire()
        self._changes.restarts += 1  # the objects that go now were there at rest
        self._end_operator()
        if trigger.resource:
            self._changes.show_past(trigger)
        self._start()
        if trigger.resource:
            self._quiet.wait_for(self._settings.quiet, self._settings.patience)
            self._pause(LATE)
            self._changes.open()
        self._settle(until)

    def _come_to(self, number: int, until: Until | None) -> None:
        """Wait for the state of the unperturbed run, as long as that takes at most."""
        if self._baseline is None:
            return
        patience = patience_of(self._settings, self.trigger, is_astray=self._is_astray)
        deadline = self._host.monotonic() + patience
        while not self._baseline.is_at(number, self.run, self._changes.present()):
            if self._host.monotonic() > deadline:
                self._is_astray = not self._is_before_its_fault
                return
            if self._revive():
                self._settle(until)
                deadline = self._host.monotonic() + patience
            self._pause(0.2)

    def _settle(self, until: Until | None) -> None:
        """Wait for a condition, and until nothing happens; what is held back may keep both from coming."""
        patience = self._settings.patience
        deadline = self._host.monotonic() + patience
        while until is not None and not self._changes.holds and not until.holds(self._user):
            if self._host.monotonic() > deadline:
                raise self._over(f"`{until}` did not come within {patience:g} s")
            if self._revive():
                deadline = self._host.monotonic() + patience
            self._pause(0.1)
        is_calm = self._calm is None and until is None
        looks_on = self._is_survey and not self._changes.is_over  # the rest before the end has looked on
        rest = self._settings.rest(is_calm=is_calm, looks_on=looks_on)
        why = self._quiet.wait_for(rest, patience)
        while self._outsides.is_awaited:  # a late call arrives though the operator may have given up
            self._pause(0.1)
            why = self._quiet.wait_for(rest, patience)
        if why and not self._changes.holds and not self._is_passing:
            raise self._over(why)
