# SPDX-License-Identifier: Apache-2.0
"""Runs the reconcile of an incident once, with the present code of a program, on the library's usual workers."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

import attrs

from apimachinery.errors import ControllerRuntimeError, UsageError
from apimachinery.host import Host
from apimachinery.plain_functions import called, plain
from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.observers import Observers
from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request, Result
from controller_runtime.controller.settlement import Settlement
from controller_runtime.controller.workers import AnyWorkers, make_workers
from controller_runtime.core.attempts import Ended, current, current_attempt
from controller_runtime.incidents.hooks import line_of
from controller_runtime.incidents.incident import End, Incident
from controller_runtime.incidents.options import Incidents
from controller_runtime.incidents.steps import error_of
from controller_runtime.isolation.guard import Guard, OutsideRefused, guarded
from controller_runtime.manager.manager import Manager, Setup
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.replay.attempt import ReplayedAttempt
from controller_runtime.testing.replay.comparing import Replayed
from controller_runtime.testing.replay.sources import noticed
from controller_runtime.testing.replay.world import World
from controller_runtime.testing.simulation import Simulation
from controller_runtime.testing.simulation.real_clock import RealClockWarning
from controller_runtime.testing.webhooks import install_declared
from embedded_apiserver import APIServer

LONGEST = 48 * 3600.0
"""Virtual seconds after which a reconcile that has not ended is given up."""


_STRANGERS = "the world outside: threads that `manager.host` did not start, whose reads and requests are not recorded"


@attrs.define
class _Recorder:
    """Gives the first attempt of one controller the answers of an incident, and is told how it ended.

    It is an `AttemptRecorder` and its `ControllerAttempts`. Threads: those of a simulation, one at a time.
    """

    attempt: ReplayedAttempt
    stop: Stop
    end: End | None = None
    error: BaseException | None = None
    _has_begun: bool = False

    def of(self, controller: str, timeout: float | None) -> _Recorder:
        return self

    def begin(self) -> None:
        current.set(None if self._has_begun else self.attempt)
        self._has_begun = True

    def take(self) -> ReplayedAttempt | None:
        attempt = current.get()
        current.set(None)
        return self.attempt if attempt is self.attempt else None

    def ended(self, attempt: object, ended: Ended, outcome: Enum, end: object, took: float, is_late: bool) -> None:
        if attempt is None:
            return
        self.error = end if isinstance(end, BaseException) else None
        after = getattr(end, "requeue_after", None) if self.error is None else None
        name = outcome.name.lower()
        error = None if self.error is None else error_of(self.error, with_stack=name == "panic")
        self.end = End(name, after, error)
        self.stop.set()


class _Inside(Reconciler):
    """Ends a reconcile with an ordinary error where it was refused the world outside."""

    def __init__(self, inner: Reconciler) -> None:
        self._inner = inner
        _take_state(self, inner)

    def reconcile(self, request: Request) -> Result:
        with _refusals():
            return self._inner.reconcile(request)


class _InsideLater(AsyncReconciler):
    """Does the same for coroutines."""

    def __init__(self, inner: AsyncReconciler) -> None:
        self._inner = inner
        _take_state(self, inner)

    async def reconcile(self, request: Request) -> Result:
        with _refusals():
            return await self._inner.reconcile(request)

    async def close(self) -> None:
        await self._inner.close()


def _take_state(outer: object, inner: object) -> None:
    """Give the outer one the methods by which `kept_state.state_of` passes the state of the inner one."""
    for name in ("snapshot", "restore"):
        if (method := getattr(inner, name, None)) is not None:
            setattr(outer, name, method)


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except OutsideRefused as error:
        raise ControllerRuntimeError(str(error)) from error


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        attempt = current_attempt()
        if isinstance(attempt, ReplayedAttempt):
            attempt.log(record.levelname.lower(), record.name, line_of(record))


def replay(incident: Incident, setup: Setup) -> Replayed:
    """Run the reconcile of an incident once, in virtual time, and return the result.

    Nothing is sent over a network: recorded requests get their recorded answers, and others are answered by an embedded
    server that holds the objects of the incident. Calls to other services and programs are refused with an error.

    Args:
        incident: The recorded reconcile.
        setup: The setup function of the program, which adds controllers to a manager.

    Raises:
        UsageError: The program has no such controller, or `setup` is an `async def` or returned a coroutine.
        ControllerRuntimeError: The reconcile does not end, or `setup` failed.
    """
    clocks: list[str] = []
    calls: list[str] = []
    guard = Guard(on_refused=lambda call: calls.append(f"the world outside: the program {call}"))
    with warnings.catch_warnings(record=True) as caught, _listening(), _refusals(), guarded(guard):
        warnings.simplefilter("always", RealClockWarning)
        with Simulation(warn_of_real_clock=True) as simulation:
            host = simulation.host(_host_name(incident))
            replayed = _run(incident, setup, host, simulation)
            if simulation.scheduler.has_strangers:
                calls.append(_STRANGERS)
        clocks = [
            f"{warning.filename}:{warning.lineno}: {str(warning.message).partition(',')[0]}"
            for warning in caught
            if issubclass(warning.category, RealClockWarning)
        ]
    unknown = tuple(dict.fromkeys((*replayed.unknown, *calls)))
    return attrs.evolve(replayed, clocks=tuple(dict.fromkeys(clocks)), unknown=unknown)


def _run(incident: Incident, setup: Setup, host: Host, simulation: Simulation) -> Replayed:
    managers: list[Manager] = []
    taken: list[str] = []

    def prepare(server: APIServer) -> None:
        if managers:
            install_declared(managers[0], Client(host, InProcessTransport(host, server)))

    world = World(host, incident, prepare)
    manager = Manager(host, InProcessTransport(host, world), incidents=Incidents())
    managers.append(manager)
    called("setup", plain("setup", setup), manager)
    controller = _controller(manager, incident.controller)
    attempt = ReplayedAttempt(incident, host, world)
    stop = Stop(host, "stop of a replay")
    recorder = _Recorder(attempt, stop)
    workers = _workers(host, controller, incident, stop, recorder)
    with noticed(attempt, incident.seed, taken.append):
        workers.start(1)
        _let_end(simulation, recorder)
    manager.stopping.set()
    stop.set()
    simulation.settle()
    if recorder.end is None:
        raise ControllerRuntimeError(
            f"the reconcile of {incident.request} did not end in {LONGEST:g} s of virtual time"
        )
    return Replayed(
        incident=incident,
        reads=tuple(attempt.reads),
        writes=tuple(attempt.writes),
        unsent=tuple(step for step in attempt.unsent if step.method != "GET"),
        end=recorder.end,
        unknown=tuple(dict.fromkeys(attempt.unknown)),
        lines=tuple(attempt.lines),
        error=recorder.error,
        taken=tuple(dict.fromkeys(taken)),
        is_async=isinstance(controller.reconciler, AsyncReconciler),
    )


def _workers(host: Host, controller: Controller, incident: Incident, stop: Stop, recorder: _Recorder) -> AnyWorkers:
    queue: WorkQueue[Request] = WorkQueue(host, name=controller.name)
    observers = Observers(recorder=recorder)
    known = controller.reconciler
    reconciler = _InsideLater(known) if isinstance(known, AsyncReconciler) else _Inside(known)
    settlement = Settlement(
        host, controller.name, queue, timeout=controller.reconcile_timeout, observers=observers, may_wake_itself=True
    )
    stop.on_set(queue.shut_down)
    queue.add(Request(incident.name, incident.namespace), cause="replayed")
    return make_workers(host, controller.name, reconciler, queue, stop, settlement)


def _let_end(simulation: Simulation, recorder: _Recorder) -> None:
    simulation.settle()
    step = 0.1
    while recorder.end is None and simulation.time < LONGEST:
        simulation.advance(step)
        step *= 2


def _controller(manager: Manager, name: str) -> Controller:
    found = next((each for each in manager.controllers if each.name == name), None)
    if found is None:
        names = ", ".join(sorted(each.name for each in manager.controllers)) or "none"
        raise UsageError(f"the program has no controller {name!r}; it has {names}")
    return found


def _host_name(incident: Incident) -> str:
    return incident.host.replace("#", "-") or "replay"


@contextmanager
def _listening() -> Iterator[None]:
    handler = _Lines()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
