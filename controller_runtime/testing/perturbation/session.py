# SPDX-License-Identifier: Apache-2.0
"""One run of a test with at most one perturbation: it records, perturbs, and waits until the world is at rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from apimachinery.stop import Stop
from controller_runtime.client.transport import Transport
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.checks import caller
from controller_runtime.testing.perturbation.plans import Crash, Lag, Missed, Plan, Restart, Stale
from controller_runtime.testing.perturbation.reads import reads_of
from controller_runtime.testing.perturbation.record import MANAGER, OTHER, STORY, Run, Told
from controller_runtime.testing.perturbation.retelling import Retelling, StoryLeft
from controller_runtime.testing.perturbation.server import ManagersServer
from controller_runtime.testing.perturbation.states import States
from controller_runtime.testing.perturbation.telling import StoryTransport, landed_of
from controller_runtime.testing.perturbation.world import LEFT_OUT, State, differences
from controller_runtime.testing.simulation.host import SimulatedHost
from controller_runtime.testing.simulation.tasks import Task
from embedded_apiserver import APIServer, Change, History
from embedded_apiserver.perturbation import Gate, Name, Past

if TYPE_CHECKING:
    from controller_runtime.testing.cluster import EmbeddedCluster

KEPT = History(changes=1_000_000, age=1e9)
"""The history of a server whose past states may be shown: all of it."""

IDLE = 60.0
"""Virtual seconds after the end of the story, in which errors and requests are counted."""

LATE = 3.0
"""Virtual seconds for which a restart is shown an old state, so that other controllers act on what comes of it."""

AWAY = 1.0
"""Virtual seconds from a crash to the start of the next manager, in which other controllers go on."""

_PAUSES = (0.1, 0.4, 0.5, 1.0, 3.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
# Virtual seconds until a perturbed run must be where the calm one was: ten minutes in all, which covers the backoff of
# a failing reconcile and a lease that has to expire.


class Session(Retelling):
    """One run.

    Args:
        calm: The record of the calm run; None if this is one.
        plan: The perturbation; None for a calm run.
        ignored: The values that differ between calm runs.
        seed: Is added to the seed of the fixture `simulation`.
        told: The story to tell in place of the test's own, from the start of the manager on; None for the test's.
        kept: The numbers of the parts of the test's story of which `told` is made.

    Attributes:
        run: The record of this run.
        calm: As given.
        plan: As given.
        kept: As given.
        fired: True once the perturbation has happened.
        refusal: Why the test cannot be perturbed; empty if it can.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(
        self,
        *,
        calm: Run | None = None,
        plan: Plan | None = None,
        ignored: frozenset[tuple[Name, str]] = frozenset(),
        seed: int = 0,
        told: Sequence[Told] | None = None,
        kept: tuple[int, ...] | None = None,
    ) -> None:
        self.run = Run()
        self.kept = kept
        self._told = told
        self.calm, self.plan, self.ignored, self.seed = calm, plan, ignored, seed
        self.fired = False
        self.is_void = False
        self.refusal = ""
        self._cluster: EmbeddedCluster | None = None
        self._managers: list[Manager] = []
        self._writers: dict[Task, tuple[str, int]] = {}
        self._is_waiting = False
        self._is_away = False

    @property
    def is_attached(self) -> bool:
        """True once the test has made a cluster."""
        return self._cluster is not None

    # Called by `EmbeddedCluster`.

    @property
    def history(self) -> History:
        """The history of the server: all of it, since past states may be shown."""
        return KEPT

    def attach(self, cluster: EmbeddedCluster, server: APIServer, host: SimulatedHost) -> ManagersServer:
        """Begin to observe a cluster; return the server as its manager sees it."""
        self._cluster, self._server, self._host = cluster, server, host
        self._simulation, self._scheduler = host.simulation, host.simulation.scheduler
        self._states = States(server)
        self._first = self._states.first
        server.storage.on_commit = self._landed
        self._simulation.on_wait = self._waited
        self.seen = ManagersServer(server, lambda number, send: self._act_as((MANAGER, number), send), self._crash)
        match self.plan:
            case Crash(write, landed):
                self.seen.crash_at = (write, landed)
            case Lag(resource, version):
                self.seen.gate = Gate(resource, self._first + version)
            case Missed(name, version, _):
                self.seen.gate = Gate(name.resource, self._first + version)
            case _:
                pass
        return self.seen

    def manages(self, manager: Manager) -> None:
        """Note a manager of the cluster, whose views tell what they read; only a calm run needs that."""
        if self.calm is None:
            self._managers.append(manager)

    def story(self, inner: Transport) -> Transport:
        """Return the transport of the test's client, which records the story."""
        return StoryTransport(inner, self.tell)

    def refuse(self, reason: str) -> None:
        """Note why the test cannot be perturbed; the first reason is kept."""
        where = caller()
        self.refusal = self.refusal or (f"{where}: {reason}" if where else reason)

    def takes_part(self, name: str) -> None:
        """Note that the test takes a part of the manager, which is another one after a restart."""
        if not self._is_waiting and self._is_story():
            taken = f"it takes the cluster's {name}, which is another one after a restart; see cluster.run(setup)"
            self.refuse("it ends the manager itself" if name == "end" else taken)

    # The end of the test.

    def finish(self) -> None:
        """Wait for the end, and record what the world is like then."""
        if self._cluster is not None and self.refusal:
            self.run.broken = self._cluster.take_broken_checks()
        if self._cluster is None or self.is_void or self.refusal:
            return
        self._is_waiting = True
        try:
            self._settle()
            self._open_gate()
            if self.calm is not None:
                self._come_to_rest(self.calm.rests[-1])
            self.run.rests.append(self._states.present())
            self.run.broken = self._cluster.take_broken_checks()
            before, self.seen.crash_at = self.seen.requests, None  # the story is over
            self._simulation.advance(IDLE)
            self.run.idle = self.seen.requests - before
            self.run.failing = self._cluster.failing
        finally:
            self._is_waiting = False
            self.run.requests = self.seen.requests
            self.run.sent, self.run.watched = self.seen.sent, self.seen.watched
            self.run.any_version = self.seen.any_version
            self.run.reads = reads_of(self._managers)
            self._managers.clear()

    # The waits of the test.

    def _waited(self, seconds: float) -> None:
        """Called when the test has waited: perturb, and wait until the world is where it was in the calm run."""
        if self._is_waiting:
            return
        self._leave_if_told()
        rest = len(self.run.rests)
        self.run.story.append(Told(None, seconds))
        self._is_waiting = True
        try:
            if self.calm is not None:
                self._perturb_at(rest)
                if rest < len(self.calm.rests):
                    self._come_to_rest(self.calm.rests[rest])
            self.run.rests.append(self._states.present())
            self.run.reached.append(self._server.storage.version - self._first)
        finally:
            self._is_waiting = False

    def _perturb_at(self, rest: int) -> None:
        match self.plan:
            case Missed(_, _, by_story) if self.seen.gate is not None and self.seen.gate.holds:
                if by_story and not self._is_in_fixtures:
                    raise StoryLeft
                self._open_gate()
            case Restart(at) if at == rest:
                self._restart()
            case Stale(resource, version, at) if at == rest:
                self.seen.past = Past(resource, self._first + version)
                self.seen.gate = Gate(resource, self._first + version + 1)
                self._restart()
                self._wait(LATE)
                self.seen.past = None
                self._open_gate()
            case Lag():
                self._open_gate()
            case _:
                pass

    def _open_gate(self) -> None:
        """Let late changes come; they have been late until the rest of the world was at rest."""
        if self.seen.gate is not None and self.seen.gate.holds:
            self.fired = True
            self.seen.gate.open()
            self._settle()

    def _come_to_rest(self, calm: State) -> None:
        self._settle()
        if self._is_away:
            self._wait(AWAY)
        for pause in _PAUSES:
            if not differences(calm, self._states.present(), self.ignored):
                return
            self._simulation.advance(pause)

    def _wait(self, seconds: float) -> None:
        was_waiting, self._is_waiting = self._is_waiting, True
        try:
            self._simulation.advance(seconds)
        finally:
            self._is_waiting = was_waiting

    def _settle(self) -> None:
        self._wait(0.0)

    # The manager's end.

    def _crash(self) -> None:
        """End the manager, from a thread of the server, and have another thread start a new one."""
        assert self._cluster is not None, "it was attached"
        self.fired = True
        self.seen.crash_at = None
        self._cluster.kill()
        self._is_away = True
        self._host.spawn("perturbation", self._come_back)

    def _come_back(self) -> None:
        Stop(self._host, "away").wait(AWAY)
        self._restart()
        self._is_away = False

    def _restart(self) -> None:
        assert self._cluster is not None, "it was attached"
        self.fired = True
        self._cluster.restart()

    # The writer of each request.

    def _act_as(self, writer: tuple[str, int], carry_out: Callable[[], HTTPResponse | Watch]) -> HTTPResponse | Watch:
        task = self._scheduler.current
        self._writers[task] = writer
        try:
            return carry_out()
        finally:
            self._writers.pop(task, None)

    def _is_story(self) -> bool:
        return self._scheduler.current is self._scheduler.root

    def tell(self, request: HTTPRequest, carry_out: Callable[[], HTTPResponse]) -> HTTPResponse:
        """Record a step of the story, and carry it out."""
        if self._is_waiting or not self._is_story():
            return carry_out()
        self._leave_if_told()
        self.run.story.append(Told(request))
        answer = self._act_as((STORY, self.run.steps), carry_out)
        assert isinstance(answer, HTTPResponse), "a write is answered at once"
        return answer

    def _landed(self, resource: str, change: Change) -> None:
        """Called by the storage after each write, on the writer's thread."""
        if resource.partition(".")[0] in LEFT_OUT:
            return
        self._states.note(resource, change)
        writer, number = self._writers.get(self._scheduler.current, (OTHER, 0))
        landed = landed_of(resource, change, self._first, (writer, number), self.run.steps, len(self.run.story))
        self.run.landed.append(landed)
        match self.plan, self.seen.gate:
            case Missed(name, version, _), Gate() as gate if name == landed.name and landed.version > version:
                if gate.holds and not gate.is_open:
                    self.fired = True
                    gate.open(expires=True)
