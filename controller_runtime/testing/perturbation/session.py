# SPDX-License-Identifier: Apache-2.0
"""One run of a test with at most one perturbation: it records, perturbs, and waits until the world is at rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Transport
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.checks import caller
from controller_runtime.testing.outside.calls import Observer
from controller_runtime.testing.perturbation.calls import Calls
from controller_runtime.testing.perturbation.judging import Baseline, Verdict
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
from controller_runtime.testing.perturbation.waits import OwnWaits
from controller_runtime.testing.simulation import Hang, Simulation
from controller_runtime.testing.simulation.simulation import SimulatedHost
from embedded_apiserver import APIServer, Change, History

KEPT = History(changes=1_000_000, age=1e9)
"""The history of a server whose past states may be shown: all of it."""


def never_rests(hang: Hang) -> str:
    """Return the complaint that no thread can go on, or that they never stop."""
    return f"it never comes to rest: {str(hang).partition(chr(10))[0]}"


class Perturbed(Judged, Managed, Protocol):
    """The cluster of a test, which an `EmbeddedCluster` is; it imports this module, so it is not named here."""

    def raise_panics(self) -> None:
        """Raise an error if reconciles raised unexpected ones."""


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
    """One run.

    Args:
        baseline: The results of the calm runs; None if this is one.
        plan: The perturbation; None for a calm run.
        seed: Is added to the seed of the fixture `simulation`.
        dwell: Virtual seconds by which each rest is longer.
        told: The story to tell in place of the test's own, from the start of the manager on; None for the test's.
        kept: The numbers of the parts of the test's story of which `told` is made.

    Attributes:
        run: The record of this run.
        baseline: As given.
        plan: As given.
        seed: As given.
        kept: As given.
        refusal: Why the test cannot be perturbed; empty if it can.
        has_tried_sequences: Whether sequences of states were tried, which is all that the pattern `sequence` does.
        verdict: The judgement of the run; None until it was judged.

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
        """The phase of the plan."""
        return NotYet() if self._at is None else self._at.striker.phase

    @property
    def fired(self) -> bool:
        """True once the perturbation has happened."""
        return self.phase.happened or self.has_tried_sequences

    @property
    def is_void(self) -> bool:
        """True if the plan cannot be carried out to its end."""
        return isinstance(self.phase, Void)

    # Called by `EmbeddedCluster`.

    @property
    def history(self) -> History:
        """The history of the server: all of it, since past states may be shown."""
        return KEPT

    def attach(self, cluster: Perturbed, server: APIServer, host: SimulatedHost) -> ManagersServer:
        """Begin to observe a cluster; return the server as its manager sees it."""
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
        """The observer of calls to outsides."""
        return Observer() if self._at is None else self._at.calls

    def manages(self, manager: Manager) -> None:
        """Note a manager of the cluster, whose views tell what they read; only a calm run needs that."""
        if self.baseline is None:
            self._managers.append(manager)

    def starts(self) -> None:
        """Note that the manager starts; the story can be repeated from here on."""
        if self.run.prelude is None:
            self.run.prelude = len(self.run.story)

    def story(self, inner: Transport) -> Transport:
        """Return the transport of the test's client, which records the story."""
        return StoryTransport(inner, self.tell)

    def refuse(self, reason: str) -> None:
        """Note why the test cannot be perturbed; the first reason is kept."""
        where = caller()
        self.refusal = self.refusal or (f"{where}: {reason}" if where else reason)

    def takes_part(self, name: str) -> None:
        """Note that the test takes a part of the manager, which is another one after a restart."""
        if self._at is not None and not self._at.waits.is_own and self._at.recorder.is_in_test:
            taken = f"it takes the cluster's {name}, which is another one after a restart; see cluster.run(setup)"
            self.refuse("it ends the manager itself" if name == "end" else taken)

    # The test.

    def enter_fixtures(self) -> None:
        """Note that the fixtures of a test come first; a story cannot be left in them."""
        self._is_in_fixtures = True

    def enter_test(self) -> None:
        """Note that the body of a test begins; the steps of its fixtures are not played again."""
        self._is_in_fixtures = False
        if self.run.prelude is not None:
            self.run.prelude = len(self.run.story)

    def tell(self, request: HTTPRequest, carry_out: Callable[[], HTTPResponse]) -> HTTPResponse:
        """Record a step of the story, and carry it out."""
        at = self._at
        if at is None or at.waits.is_own or not at.recorder.is_in_test:
            return carry_out()
        self._leave_if_told()
        self.run.story.append(Told(request))
        answer = at.recorder.act_as((STORY, self.run.steps), carry_out)
        assert isinstance(answer, HTTPResponse), "a write is answered at once"
        return answer

    def leave_story(self) -> None:
        """Carry out the steps that the given story or the calm run still has, after the test function has ended."""
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
        """Note the error that ended the test.

        Args:
            failure: Its text.
            is_check: Whether a check of the test has failed; otherwise an act could not be done, so that the world
                cannot be where it would be after that act.
        """
        self.run.failures.append(failure)
        self.run.is_whole = self.run.is_whole and is_check

    def finish(self) -> None:
        """Wait for the end, and record what the world is like then; after an early end, only that there was one."""
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
