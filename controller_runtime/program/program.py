# SPDX-License-Identifier: Apache-2.0
"""Runs a program: a cluster, a manager that `setup` fills, its endpoints and a view, until a signal or an error."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import attrs

from apimachinery.errors import ControllerRuntimeError, UsageError
from apimachinery.host import Host, Thread
from apimachinery.log import get_logger
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.client.transport import Transport
from controller_runtime.manager.endpoints import Endpoints
from controller_runtime.manager.failure import is_still_running
from controller_runtime.manager.manager import Manager, Setup
from controller_runtime.program.cluster import BARE_SERVER, is_in_pod, served
from controller_runtime.program.filling import fill
from controller_runtime.program.incidents import incidents_of, reported
from controller_runtime.program.origin import Origin, ProgramFailed
from controller_runtime.program.plan import ProgramOptions, ProgramPlan, lease_name_of, plan_program
from controller_runtime.program.reload import POLL, Sources
from controller_runtime.program.session import GRACE, reach
from controller_runtime.program.signals import Signals, handled_signals
from controller_runtime.program.snapshot import Panel, Snapshot, SnapshotSource, panels_of
from controller_runtime.program.switching import short_switches
from controller_runtime.program.timeline import Timeline
from controller_runtime.program.tracing import global_provider
from controller_runtime.program.view import PlainView, SpokenView, View, captured_log
from controller_runtime.program.webhooks import webhook_serving

log = get_logger(__name__)

CLUSTER_GRACE = 20.0
"""Seconds that running reconciles have to end on a cluster. With the time for cancelled ones, this is less than the 30
s that Kubernetes gives a pod before it is killed.
"""


def no_panels(manager: Manager) -> Sequence[Panel]:
    """Return no panels."""
    return ()


@attrs.frozen(kw_only=True)
class Program:
    """A program, independent of the cluster on which it runs.

    Attributes:
        name: The name in messages, and of the lease of its replicas.
        setup: Adds the parts of the program to a manager.
        origin: The source of `setup`, to import it again with `--reload`; None if that is impossible.
        server: The module that `python -m` runs as the embedded server, followed by arguments.
        panels: Returns the additional panels of the view; called once for each manager, after `setup`.
        lease_namespace: The default namespace of the lease; see `plan_program`.
        grace: Seconds that running reconciles have to finish, unless an option sets them; None for `session.GRACE` with
            the embedded server, and `CLUSTER_GRACE` on a cluster.
    """

    name: str
    setup: Setup
    origin: Origin | None = None
    server: Sequence[str] = BARE_SERVER
    panels: Callable[[Manager], Sequence[Panel]] = no_panels
    lease_namespace: str | None = None
    grace: float | None = None


def execute(program: Program, options: ProgramOptions) -> None:
    """Run a program until a signal, or the end of `--duration`, stops it.

    Threads: the main thread only.

    Raises:
        UsageError: The options contradict each other, or the kubeconfig cannot be used.
        ControllerRuntimeError: The cluster cannot be reached, or a part of the program failed.
        Exception: The first failure of a thread of the manager.
    """
    plan = plan_program(
        options, in_pod=is_in_pod(), lease_name=lease_name_of(program.name), lease_namespace=program.lease_namespace
    )
    webhook_serving(options, embedded=plan.cluster.embedded)  # refuses wrong options before anything is started
    sources = _sources(program) if options.reload else None
    host = SystemHost()
    stop = Stop(host)
    with contextlib.ExitStack() as stack:
        stack.enter_context(short_switches())
        # Bound first, so that an address that is in use is an error before anything is started.
        endpoints = stack.enter_context(
            Endpoints(metrics=options.metrics_bind_address, probes=options.health_probe_bind_address)
        )
        signals = stack.enter_context(handled_signals(host, stop))
        kubeconfig = stack.enter_context(served(host, plan.cluster, program.server))
        process = _Process(host, stop, program, options, plan, kubeconfig, endpoints, signals)
        manager = process.prepare(program.setup)
        if not stop.is_set():
            stack.enter_context(process.shown())
            if options.duration is not None:
                spawn(host, stop, "duration", _after(stop, options.duration))
            process.run(manager, sources)
    log.info("stopped")


def _sources(program: Program) -> Sources:
    if program.origin is None:
        raise UsageError("--reload needs a setup function at the top level of a module, to import it again")
    return Sources(program.origin)


def _after(stop: Stop, seconds: float) -> Callable[[], None]:
    def wait() -> None:
        if not stop.wait(seconds):
            log.info("the duration has passed, stopping", seconds=seconds)
            stop.set()

    return wait


@attrs.frozen
class _Run:
    """A manager that runs on a thread of its own."""

    stop: Stop
    thread: Thread

    def end(self) -> None:
        self.stop.set()
        self.thread.join_until(None)


@attrs.define
class _Process:
    """The parts of a process that stay while one manager after another runs.

    Threads: the main thread only, and `take` that of the view.
    """

    host: Host
    stop: Stop
    program: Program
    options: ProgramOptions
    plan: ProgramPlan
    kubeconfig: Path | None
    endpoints: Endpoints
    signals: Signals
    source: SnapshotSource | None = None

    def prepare(self, setup: Setup) -> Manager:
        """Return a manager on the cluster, filled by `setup`; endpoints, signals and view show it from now on.

        If the stop is set meanwhile, the manager is not filled, and must not be run.

        Raises:
            ControllerRuntimeError: The cluster cannot be reached, or `setup` failed.
        """
        manager = self._manager()
        reach(manager, self.stop)
        forget = self.stop.on_set(manager.transport.close)  # ends a request of `setup`
        try:
            if not self.stop.is_set():
                fill(manager, setup, self.options, self.plan)
        except ControllerRuntimeError:
            manager.transport.close()
            if not self.stop.is_set():
                raise
        finally:
            forget()
        if self.stop.is_set():
            manager.transport.close()
            return manager
        for controller in manager.controllers:
            controller.workers = self.options.workers or controller.workers
        embedded = self.plan.cluster.embedded
        self.source = SnapshotSource(
            manager,
            panels_of(self.program.panels, manager),
            kinds=embedded or self.options.is_watched,
            events=embedded,
        )
        manager.show_status(self.source.tables)
        self.endpoints.serve(manager)
        self.signals.report = lambda: reported(manager)
        names = ",".join(controller.name for controller in manager.controllers)
        log.info("running", cluster=self.plan.cluster, controllers=names)
        return manager

    def take(self) -> Snapshot:
        """Return the present state of the manager that was prepared last."""
        assert self.source is not None, "shown only after `prepare`"
        return self.source.take()

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Show a view inside the block."""
        with contextlib.ExitStack() as stack:
            timeline, title = Timeline(self.host), f"{self.program.name} on {self.plan.cluster}"
            take = self.take if self.options.plot is None else timeline.noting(self.take)
            view: View = PlainView(take)
            if self.options.plain:
                view = SpokenView(take, partial(print, file=sys.stderr, flush=True))
            elif self.options.live:
                # Imported here, because it needs an extra, and memory that log lines do not.
                from controller_runtime.program.live_view import LiveView

                lines = stack.enter_context(captured_log())
                view = LiveView(take, lines.lines, title=title, clock=self.host.monotonic)
            if self.options.plot is not None:
                stack.callback(timeline.write, self.options.plot, title)
            thread = spawn(self.host, self.stop, "view", lambda: view.run(self.stop))
            stack.callback(thread.join_until, None)
            stack.callback(self.stop.set)
            yield

    def run(self, manager: Manager, sources: Sources | None) -> None:
        """Run `manager` until the stop is set; with `sources`, after each change of them another one in its place.

        Raises:
            BaseException: The failure of the last manager.
        """
        if sources is None:
            manager.run(self.stop)
            return
        run: _Run | None = self._started(manager)
        late: BaseException | None = None  # threads of a manager before have not ended
        while not self.stop.wait(POLL):
            if changed := sources.changed():
                setup = self._imported_again(sources, changed)
                if setup is not None:
                    if run is not None:
                        run.end()
                        late = late or _late_of(run)
                    run = self._prepared_again(setup)
        if run is not None:
            run.end()
            if run.stop.failure is not None:
                raise run.stop.failure
        if late is not None:
            raise late

    def _imported_again(self, sources: Sources, changed: Sequence[Path]) -> Setup | None:
        names = ", ".join(sorted(path.name for path in changed))
        try:
            setup = sources.load(changed)
        except ControllerRuntimeError as error:
            log.error(f"{names} changed, but the program goes on as it was: {_with_block(error)}")
            return None
        log.info("reloading", changed=names)
        return setup

    def _prepared_again(self, setup: Setup) -> _Run | None:
        try:
            manager = self.prepare(setup)
        except ControllerRuntimeError as error:
            log.error(f"the program does not run until its next change: {_with_block(error)}")
            return None
        return None if self.stop.is_set() else self._started(manager)

    def _started(self, manager: Manager) -> _Run:
        once = Stop(self.host, "one manager's stop")
        self.stop.on_set(once.set)
        return _Run(once, spawn(self.host, once, "manager", lambda: manager.run(once)))

    def _manager(self) -> Manager:
        # Imported here, because the official client is large, and the command's help does not need it.
        from controller_runtime.client.http.configuration import find
        from controller_runtime.client.http.transport import HTTPTransport

        cluster, options = self.plan.cluster, self.options
        transport: Transport = HTTPTransport(self.host, find(self.kubeconfig, cluster.context))
        usual = GRACE if cluster.embedded else CLUSTER_GRACE
        grace = next(each for each in (options.grace, self.program.grace, usual) if each is not None)
        return Manager(
            *(self.host, transport),
            grace=grace,
            leader_election=self.plan.leader_election,
            namespace=options.namespace,
            tracer_provider=global_provider() if options.tracing else None,
            incidents=incidents_of(options.incidents),
        )


def _late_of(run: _Run) -> BaseException | None:
    """Return the error of a run that has left threads behind, after a line in the log; None if all have ended."""
    failure = run.stop.failure
    if failure is None or not is_still_running(failure):
        return None
    log.error("threads of the program before its change go on", error=failure)
    return failure


def _with_block(error: ControllerRuntimeError) -> str:
    return f"{error}\n{error.block}" if isinstance(error, ProgramFailed) else str(error)
