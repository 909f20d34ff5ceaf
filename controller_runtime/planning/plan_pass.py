# SPDX-License-Identifier: Apache-2.0
"""One pass over all objects of a program: each is reconciled once, and its writes are planned."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from apimachinery.errors import (
    APIError,
    Conflict,
    ConnectionLost,
    ControllerRuntimeError,
    NotFound,
    StaleCache,
    TemporaryError,
)
from apimachinery.host import Host
from apimachinery.log import bound, get_logger
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.cache.forms import Form
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.store import Store
from controller_runtime.cache.transforms import Transform
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.transport import Transport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import AsyncReconciler, Request, Result
from controller_runtime.core.deadline import deadline_scope
from controller_runtime.core.planning import planning
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.isolation.calls import unseen_modules
from controller_runtime.isolation.guard import Guard, OutsideRefused, guarded
from controller_runtime.manager.manager import Manager
from controller_runtime.planning.initial import initial_requests, receives_from_outside
from controller_runtime.planning.overlay import Work
from controller_runtime.planning.refusals import Refusals
from controller_runtime.planning.result import PlannedFailure, PlanResult
from controller_runtime.planning.store import PlannedStore
from controller_runtime.planning.transport import PlanTransport

log = get_logger(__name__)

SYNC_TIMEOUT = 120.0
"""Seconds that caches have to fill; the same as a manager's."""

_ENDING = 5.0  # seconds that the threads of the caches have to end
_AGAIN = 1.0  # seconds after which what met a conflict is tried once more: the caches have caught up by then
_PASSING = (Conflict, StaleCache)


class PlanPass:
    """Runs each reconcile of one manager once, without lasting effects, and records what they would write.

    One that meets a conflict or a stale cache is tried once more. Reconciles run one after another, in the order of the
    controllers and their objects, so that two plans for the same objects are equal. Coroutines of one controller run at
    the same time, as many as it has workers.

    Args:
        host: The source of time, locks and randomness.
        transport: Carries the requests to the server.
        stop: Ends the plan early.
        allowed: Hosts, socket paths and programs that the process may still call.

    Attributes:
        transport: The transport to give to the manager.

    Threads: one.
    """

    def __init__(self, host: Host, transport: Transport, stop: Stop, allowed: Iterable[str] = ()) -> None:
        self._host = host
        self._stop = stop
        self._refusals = Refusals()
        self._guard = Guard(allowed, self._refusals.note)
        self.transport = PlanTransport(host, transport, self._refusals.note, self._refusals.of)
        self._failures: list[PlannedFailure] = []
        self._later: list[tuple[Work, str]] = []
        self._reconciled: Counter[str] = Counter()

    @contextlib.contextmanager
    def isolated(self) -> Iterator[None]:
        """Return a context manager: during its block, connections and starts of programs are refused unless allowed.

        `is_planning` returns True meanwhile.
        """
        with planning(), guarded(self._guard):
            yield

    @contextlib.contextmanager
    def filling(self, manager: Manager) -> Iterator[None]:
        """Return a context manager for the setup function of a new manager, whose caches then also show planned
        changes.

        Raises:
            ControllerRuntimeError: The setup function made a connection, or ran a program, that is not allowed.
        """
        manager.informers.make_stores(self._store)
        try:
            with self._refusals.running(Work("setup")):
                yield
        except OutsideRefused as error:
            name = error.call.target
            raise ControllerRuntimeError(
                f"setup {error.call}, and a plan calls nothing outside: --allow-outside {name} opens it, or let setup "
                "pass over it if controller_runtime.is_planning()"
            ) from None

    def run(self, manager: Manager) -> PlanResult:
        """Fill the caches, reconcile every object of every controller once, and return the result.

        Raises:
            ControllerRuntimeError: A cache could not be filled, or the plan was stopped before its end.
        """
        stop = Stop(self._host, "caches of a plan")
        forget = self._stop.on_set(stop.set)
        self._stop.on_set(manager.stopping.set)  # for a reconciler that waits
        try:
            self._fill_caches(manager, stop)
            # All requests first: what is planned on the way is reconciled only once it exists.
            requests = [(each, self._requests(each, manager.informers)) for each in manager.controllers]
            for controller, found in requests:
                self._reconcile_all(controller, found)
        finally:
            forget()
            manager.stopping.set()
            stop.set()
            manager.transport.close()
            manager.informers.join_until(self._host.monotonic() + _ENDING)
        if self._stop.is_set():
            raise ControllerRuntimeError("stopped before every object was reconciled, so there is no plan")
        return PlanResult(
            planned=self.transport.overlay.all(),
            failures=self._failures,
            refused=self._refusals.all(),
            later=self._later,
            reconciled=self._reconciled,
            watchers=_watchers(manager.controllers),
            not_run=_not_run(manager),
        )

    def _store(self, host: Host, label: str, form: Form, collection: Collection, transform: Transform | None) -> Store:
        return PlannedStore(host, label, form, collection, transform, self.transport.overlay)

    def _fill_caches(self, manager: Manager, stop: Stop) -> None:
        informers = manager.informers
        for controller in manager.controllers:
            controller.prepare(informers)
        for collection in informers.collections:
            _check_served(self._host, manager.transport, collection)
        manager.definitions.are_installed = False
        manager.definitions.check()
        informers.start(stop)
        filled = informers.wait_for_sync(stop, SYNC_TIMEOUT)
        if stop.failure is not None:
            raise stop.failure
        deadline = self._host.monotonic() + SYNC_TIMEOUT
        for subscription in [each for informer in informers for each in informer.subscriptions if filled]:
            subscription.wait_for_sync(stop, deadline)

    def _requests(self, controller: Controller, informers: Informers) -> list[Request]:
        def failed(what: str, error: Exception) -> None:
            self._failures.append(PlannedFailure(Work(controller.name), f"{what}: {_line(error)}"))

        mapping = Work(controller.name)
        with self._refusals.running(mapping):
            try:
                return initial_requests(controller, informers, failed)
            except OutsideRefused:  # noted by the guard: none of its objects can be found without it
                return []

    def _reconcile_all(self, controller: Controller, requests: Sequence[Request]) -> None:
        log.info("planning", controller=controller.name, objects=len(requests))
        again = self._each(controller, requests)
        if again and not self._stop.wait(_AGAIN):
            for request, error in self._each(controller, [*again]).items():
                self._fail(Work(controller.name, request), error)

    def _each(self, controller: Controller, requests: Sequence[Request]) -> dict[Request, Exception]:
        """Reconcile each request, and return those that another writer got in the way of."""
        again: dict[Request, Exception] = {}
        ends: Iterable[tuple[Work, Result | BaseException]]
        if isinstance(controller.reconciler, AsyncReconciler):
            from controller_runtime.planning.coroutines import reconcile_coroutines

            ends = reconcile_coroutines(self._host, self._stop, self._refusals, controller, requests)
        else:
            ends = self._reconciles(controller, requests)
        for work, end in ends:
            self._reconciled[controller.name] += 1
            if isinstance(end, _PASSING) and work.request is not None:
                again[work.request] = end
            else:
                self._settle(work, end)
        return again

    def _reconciles(
        self, controller: Controller, requests: Sequence[Request]
    ) -> Iterator[tuple[Work, Result | BaseException]]:
        reconciler, timeout = controller.reconciler, controller.reconcile_timeout
        assert not isinstance(reconciler, AsyncReconciler), "coroutines run elsewhere"
        for request in requests:
            if self._stop.is_set():
                return
            work = Work(controller.name, request)
            limit = contextlib.nullcontext() if timeout is None else deadline_scope(self._host.monotonic() + timeout)
            end: Result | BaseException
            with self._refusals.running(work), bound(controller=controller.name, request=request), limit:
                try:
                    end = reconciler.reconcile(request)
                except (Exception, SystemExit, OutsideRefused) as error:  # noqa: BLE001  a reconcile ends here
                    end = error
            yield work, end

    def _settle(self, work: Work, end: object) -> None:
        if self._refusals.of(work) is not None:
            return  # whatever came of it rests on a world that is not
        match end:
            case TemporaryError():
                self._later.append((work, _line(end)))
            case BaseException():
                self._fail(work, end)
            case Result(requeue_after=None):
                pass
            case Result():
                self._later.append((work, f"asks to be called again in {end.requeue_after:g} s"))
            case _:
                self._fail(work, TypeError(f"reconcile returned {end!r}, not a Result"))

    def _fail(self, work: Work, error: BaseException) -> None:
        if not isinstance(error, ControllerRuntimeError):
            log.error("reconcile raised", controller=work.controller, request=work.request, exc_info=error)
        self._failures.append(PlannedFailure(work, _line(error)))


def _check_served(host: Host, transport: Transport, collection: Collection) -> None:
    """Ask for one object of a collection, so that a kind that is not served is one line, and not a long wait.

    Raises:
        ControllerRuntimeError: The server does not serve the kind.
    """
    with contextlib.suppress(ConnectionLost):  # the informer tries again
        try:
            ListWatch(host, transport, collection).list(most=1)
        except NotFound as error:
            raise ControllerRuntimeError(
                f"{collection.resource} cannot be planned, because the server does not serve them: apply their "
                "definition first, since a plan writes none"
            ) from error
        except APIError as error:
            raise ControllerRuntimeError(f"{collection} cannot be read: {error}") from error


def _watchers(controllers: Sequence[Controller]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for controller in controllers:
        for resource in dict.fromkeys(collection.resource for collection in controller.collections):
            found.setdefault((resource.group, resource.plural), []).append(controller.name)
    return {each: [*dict.fromkeys(names)] for each, names in found.items()}


def _not_run(manager: Manager) -> list[str]:
    members = manager.runnables
    found = [f"{each.name} runs beside the controllers" for each in members if not isinstance(each, EventRecorder)]
    found += [
        f"requests of {each.name} that come from outside" for each in manager.controllers if receives_from_outside(each)
    ]
    found += [f"calls of {name}, whose own code opens connections, cannot be refused" for name in unseen_modules()]
    if manager.declared_webhooks:
        found.append("the program's own webhooks")
    if manager.definitions.wanted:
        found.append("the program's definitions: `python -m controller_runtime manifests --check` compares them")
    return found


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
