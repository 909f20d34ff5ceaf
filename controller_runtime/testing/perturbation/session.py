# SPDX-License-Identifier: Apache-2.0
"""One run of a test with at most one fault: it records, applies the fault, and waits until the cluster is at rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Transport
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.checks import caller
from controller_runtime.testing.outside.calls import Observer
from controller_runtime.testing.perturbation.calls import Calls
from controller_runtime.testing.perturbation.judging import Baseline
from controller_runtime.testing.perturbation.phase import NotYet, Phase, Void
from controller_runtime.testing.perturbation.plans import Plan
from controller_runtime.testing.perturbation.reads import reads_of
from controller_runtime.testing.perturbation.record import MANAGER, STORY, Run, Told
from controller_runtime.testing.perturbation.recorder import Recorder
from controller_runtime.testing.perturbation.resting import Judged, Resting
from controller_runtime.testing.perturbation.retelling import Retelling, StoryLeft
from controller_runtime.testing.perturbation.server import ManagersServer
from controller_runtime.testing.perturbation.striking import Managed, Striker
from controller_runtime.testing.perturbation.telling import StoryTransport
from controller_runtime.testing.perturbation.verdict import Verdict
from controller_runtime.testing.perturbation.waits import OwnWaits
from controller_runtime.testing.simulation import Hang, Simulation
from controller_runtime.testing.simulation.simulation import SimulatedHost
from embedded_apiserver import APIServer, Change, History

KEPT = History(changes=1_000_000, age=1e9)
"""The history of a server whose past states may be shown: it keeps all changes."""


def never_rests(hang: Hang) -> str:
    """Return the complaint that a run never comes to rest: its threads are deadlocked or never stop."""
    return f"it never comes to rest: {str(hang).partition(chr(10))[0]}"


class Perturbed(Judged, Managed, Protocol):
    """The cluster of a test, as far as a run uses it; `EmbeddedCluster` imports this module, so it cannot be named
    here.
    """

    def raise_panics(self) -> None:
        """Raise an `AssertionError` for unexpected errors of the program, or controllers that wake themselves."""


class _Attached(NamedTuple):
    """The parts of a run that there are once the test has made a cluster."""

    cluster: Perturbed
    simulation: Simulation
    seen: ManagersServer
    recorder: Recorder
    striker: Striker
    waits: OwnWaits
    calls: Calls
    retelling: Retelling
    resting: Resting


class Session:
    """One run of a test, with or without a fault.

    Args:
        baseline: The results of the unperturbed runs; None if this is one.
        plan: The fault; None for an unperturbed run.
        seed: A number to be added to the seed of the fixture `simulation`.
        dwell: Virtual seconds by which each rest is longer.
        told: The actions to repeat in place of the test's code, from the start of the manager on; None to run the code.
        kept: The numbers of the test's actions that `told` consists of; None for all.

    Attributes:
        run: The record of this run.
        baseline: As given.
        plan: As given.
        seed: As given.
        kept: As given.
        refusal: The reason why the test cannot be perturbed; empty if it can.
        has_tried_sequences: True if sequences of states were tried, as for the pattern `sequence`.
        verdict: The judgement of the run; None before it is judged.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(
        self,
        *,
        baseline: Baseline | None = None,
        plan: Plan | None = None,
        seed: int = 0,
        dwell: float = 0.0,
        told: Sequence[Told] | None = None,
        kept: tuple[int, ...] | None = None,
    ) -> None:
        self.run = Run()
        self.baseline, self.plan, self.seed, self.kept = baseline, plan, seed, kept
        self.refusal = ""
        self.has_tried_sequences = False
        self.verdict: Verdict | None = None
        self._dwell, self._told = dwell, told
        self._at: _Attached | None = None
        self._managers: list[Manager] = []
        self._is_in_fixtures = False

    @property
    def is_attached(self) -> bool:
        """True once the test has made a cluster."""
        return self._at is not None

    @property
    def cluster(self) -> Perturbed | None:
        """The cluster of the test; None until it has made one."""
        return None if self._at is None else self._at.cluster

    @property
    def phase(self) -> Phase:
        """The phase of the fault."""
        return NotYet() if self._at is None else self._at.striker.phase

    @property
    def fired(self) -> bool:
        """True once the fault has happened."""
        return self.phase.happened or self.has_tried_sequences

    @property
    def is_void(self) -> bool:
        """True if the fault could not be carried out, or only in part, so that the run proves nothing."""
        return isinstance(self.phase, Void)

    # Called by `EmbeddedCluster`.

    @property
    def history(self) -> History:
        """The history for the server, which keeps all changes because past states may be shown."""
        return KEPT

    def attach(self, cluster: Perturbed, server: APIServer, host: SimulatedHost) -> ManagersServer:
        """Begin to observe a cluster, and return the server for its manager.

        Args:
            cluster: The cluster.
            server: The server of the cluster.
            host: The simulated host of the server.
        """
        simulation = host.simulation
        recorder, waits = Recorder(self.run, server, simulation.scheduler), OwnWaits(simulation)
        seen = ManagersServer(
            server, lambda number, send: recorder.act_as((MANAGER, number), send), lambda: striker.crash()
        )
        striker = Striker(self.plan, cluster, seen, recorder.first, host, waits)
        calls = Calls(self.run, recorder, seen, striker, waits)
        retelling = Retelling(self.run, recorder, striker, waits, server, calls, self.baseline is None)
        resting = Resting(self.run, self.baseline, self._dwell, cluster, simulation, seen, recorder, striker, waits)
        self._at = _Attached(cluster, simulation, seen, recorder, striker, waits, calls, retelling, resting)
        server.storage.on_commit = self._landed
        simulation.on_wait = self._waited
        return seen

    @property
    def calls(self) -> Observer:
        """The observer of calls to outside services; one that records nothing before the test has made a cluster."""
        return Observer() if self._at is None else self._at.calls

    def manages(self, manager: Manager) -> None:
        """Record a manager of the cluster in an unperturbed run, because its views show which fields are read."""
        if self.baseline is None:
            self._managers.append(manager)

    def starts(self) -> None:
        """Record that the manager starts; the test's actions can be repeated from here on."""
        if self.run.prelude is None:
            self.run.prelude = len(self.run.story)

    def story(self, inner: Transport) -> Transport:
        """Return a transport that sends by `inner`, and records the writes of the client as actions of the test."""
        return StoryTransport(inner, self.tell)

    def refuse(self, reason: str) -> None:
        """Record the reason why the test cannot be perturbed; the first reason is kept."""
        where = caller()
        self.refusal = self.refusal or (f"{where}: {reason}" if where else reason)

    def takes_part(self, name: str) -> None:
        """Refuse to perturb the test if its own code uses the attribute `name` of the cluster, which a restart would
        replace, or ends the manager (`name` is then `end`).
        """
        if self._at is not None and not self._at.waits.is_own and self._at.recorder.is_in_test:
            taken = f"it takes the cluster's {name}, which is another one after a restart; see cluster.run(setup)"
            self.refuse("it ends the manager itself" if name == "end" else taken)

    # The test.

    def enter_fixtures(self) -> None:
        """Record that the fixtures of a test run first; their code is always run to its end."""
        self._is_in_fixtures = True

    def enter_test(self) -> None:
        """Record that the function of a test begins; the actions of its fixtures are not repeated."""
        self._is_in_fixtures = False
        if self.run.prelude is not None:
            self.run.prelude = len(self.run.story)

    def tell(self, request: HTTPRequest, carry_out: Callable[[], HTTPResponse]) -> HTTPResponse:
        """Record a write of the test's user as an action of the test, and carry it out.

        Args:
            request: The write.
            carry_out: Sends the write and returns the answer.

        Raises:
            StoryLeft: The test's code must not continue; `leave_story` carries out the remaining actions.
        """
        at = self._at
        if at is None or at.waits.is_own or not at.recorder.is_in_test:
            return carry_out()
        self._leave_if_told()
        self.run.story.append(Told(request))
        answer = at.recorder.act_as((STORY, self.run.steps), carry_out)
        assert isinstance(answer, HTTPResponse), "a write is answered at once"
        return answer

    def leave_story(self) -> None:
        """Carry out the remaining recorded actions after the code of the test has ended with `StoryLeft`."""
        assert self._at is not None, "only a cluster raises StoryLeft"
        simulation, retelling = self._at.simulation, self._at.retelling
        if (story := self._told) is not None:
            self._told = None
            try:
                retelling.shorter(story, lambda s: simulation.advance(s) if s else simulation.settle())
            except StoryLeft:
                pass
            else:
                return
        assert self.baseline is not None, "only a perturbed run leaves a story"
        retelling.rest(self.baseline.run.story, self._at.resting.rest)

    def fail(self, failure: str, *, is_check: bool) -> None:
        """Record the error that ended the test.

        Args:
            failure: The text of the error.
            is_check: True if a check failed; False if an action was impossible, so that the expected state is
                unreachable.
        """
        self.run.failures.append(failure)
        self.run.is_whole = self.run.is_whole and is_check

    def finish(self) -> None:
        """Wait until the run comes to rest, and record its requests and reads in `run`.

        A test that ended early, which is recorded, or that cannot be perturbed is not waited for.

        Raises:
            Hang: An unperturbed run never comes to rest.
        """
        at = self._at
        if at is None:
            return
        if self.refusal:
            self.run.broken = at.cluster.checks.take_broken()
            return
        calm = None if self.baseline is None else self.baseline.run
        is_told = not self.run.failures or (calm is not None and len(self.run.story) >= len(calm.story))
        self.run.is_whole = self.run.is_whole and is_told
        try:
            if self.run.is_whole and not self.is_void:
                at.resting.end()
        except Hang as hang:
            if calm is None:
                raise
            self.run.is_whole = False
            self.run.failures.append(never_rests(hang))
        finally:
            self.run.requests = at.seen.requests
            self.run.sent, self.run.watched = at.seen.sent, at.seen.watched
            self.run.any_version = at.seen.any_version
            self.run.reads = reads_of(self._managers)
            self._managers.clear()

    def _waited(self, seconds: float) -> None:
        """Called when the test has waited."""
        if self._at is None or self._at.waits.is_own:
            return
        self._leave_if_told()
        if self._at.striker.leaves_the_story and not self._is_in_fixtures:
            raise StoryLeft
        self.run.story.append(Told(None, seconds))
        self._at.resting.rest()

    def _landed(self, resource: str, change: Change) -> None:
        """Called by the storage after each write, on the writer's thread."""
        if self._at is not None and (landed := self._at.recorder.landed(resource, change)) is not None:
            self._at.striker.landed(landed)

    def _leave_if_told(self) -> None:
        if self._told is not None and self.run.prelude is not None and not self._is_in_fixtures:
            raise StoryLeft
