# SPDX-License-Identifier: Apache-2.0
"""The HTTP endpoints of a manager: metrics and the status page at one address, health checks there or at another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.plain_functions import synchronous
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.listening import bind
from controller_runtime.manager.health import Check, health_of
from controller_runtime.manager.inspection import as_json, report, why
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.page.answers import StatusPage
from controller_runtime.manager.page.links import PAGE, STREAM
from controller_runtime.manager.recording import RECONCILES, reconciles_answer
from controller_runtime.serving.front import ServedStream
from controller_runtime.serving.prompt import Answer, PromptAnswers
from controller_runtime.serving.server import Server

if TYPE_CHECKING:  # a program that serves no metrics need not import it
    from prometheus_client import CollectorRegistry

log = get_logger(__name__)

NOWHERE = "0"
"""Stands for no address: nothing is served."""

_DEBUG = (PAGE, STREAM, "/debug/controllers", "/debug/why", RECONCILES)

_JSON = {"content-type": "application/json"}
_WHICH = b"ask for /debug/why?request=NAMESPACE/NAME, or NAME for a kind without a namespace\n"
_REFUSED = (
    b"/debug is served to this machine alone: ask for it as localhost, 127.0.0.1, [::1] "
    b"or the address that it is served on\n"
)

Answers = Callable[[Manager], Mapping[str, Answer]]


class Endpoints:
    """Serves metrics and health checks of a manager until its `with` block ends.

    The constructor binds the addresses, so an address that is in use is an error before anything is started. Call
    `serve` before `Manager.run`, so that probes are answered while the caches fill and until the last worker ends. If
    the thread that answers fails, the manager stops and raises its error, because unanswered probes would restart it
    anyway, without a reason in the log.

    Args:
        metrics: The address of `/metrics`, and of the status page at `/debug`, `/debug/controllers`, `/debug/why` and
            `/debug/reconciles`: `HOST:PORT`, `:PORT` for every interface, or `NOWHERE`. All but the metrics are served
            only to clients on this machine, and only under its loopback names or the address that is served.
        probes: The address of `/healthz`, `/livez` and `/readyz`; it may be the same address.
        live: Additional checks of `/livez`, by name.
        ready: Additional checks of `/readyz`, by name.
        registries: Registries of `prometheus_client` whose metrics `/metrics` shows after the manager's own. None is
            the default registry, so that metrics made in the usual way appear; an empty sequence is no registry.

    Raises:
        UsageError: An address is malformed or cannot be bound, or a check is an `async def`.

    Threads: one.
    """

    def __init__(
        self,
        *,
        metrics: str = NOWHERE,
        probes: str = NOWHERE,
        live: Mapping[str, Check] | None = None,
        ready: Mapping[str, Check] | None = None,
        registries: Sequence[CollectorRegistry] | None = None,
    ) -> None:
        live, ready = (_sure(which, checks or {}) for which, checks in (("live", live), ("ready", ready)))
        wanted: dict[str, list[Answers]] = {}
        for address, answers in (
            (metrics, partial(_of_metrics, registries=registries)),
            (probes, lambda manager: _of_health(manager, live, ready)),
        ):
            if address != NOWHERE:
                wanted.setdefault(address, []).append(answers)
        with ExitStack() as stack:
            self._listeners = [
                (stack.enter_context(bind(address)), address, answers) for address, answers in wanted.items()
            ]
            self._servers = stack.enter_context(ExitStack())
            self._stack = stack.pop_all()

    @property
    def ports(self) -> list[int]:
        """The ports that are bound: the metrics port, then the probes port if it is another."""
        return [listener.getsockname()[1] for listener, *_ in self._listeners]

    def serve(self, manager: Manager) -> None:
        """Start to answer requests about `manager`, on other threads; its host must be the real machine.

        A program that runs one manager after another calls this for each; the addresses stay bound in between. Call it
        after the controllers and metrics are made, so that duplicate names of metrics are found.

        Raises:
            UsageError: Two metrics have the same name.
        """
        self._servers.close()
        for listener, address, answers in self._listeners:
            routes = {name: answer for part in answers for name, answer in part(manager).items()}
            answers_of = PromptAnswers(routes, (address.rpartition(":")[0].strip("[]"), str(listener.getsockname()[0])))
            self._servers.enter_context(Server(manager.host, manager.stopping, listener, answers_of.arrived))
            log.info("serving", port=listener.getsockname()[1], paths=",".join(map(_path_of, routes)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._stack.close()


def _of_metrics(manager: Manager, registries: Sequence[CollectorRegistry] | None) -> Mapping[str, Answer]:
    # Imported here, because a program that serves no metrics does not need Prometheus' client.
    from controller_runtime.manager.metrics import CONTENT_TYPE, Metrics

    metrics = Metrics(manager, registries)
    metrics.refuse_double_names()

    def scrape(request: HTTPRequest, is_local: bool) -> HTTPResponse:
        return HTTPResponse(200, {"content-type": CONTENT_TYPE}, metrics.text())

    return {"metrics": scrape, "debug": debug_answer(manager)}


def debug_answer(manager: Manager) -> Answer:
    """Return a function that answers requests below `/debug`: the status page and reports about a manager.

    Requests from other machines, or with a Host header that does not name this one, are refused with 403, because names
    of objects may be confidential.
    """

    page = StatusPage(manager)

    def answer(request: HTTPRequest, is_local: bool) -> HTTPResponse | ServedStream:
        if request.path not in _DEBUG:
            return HTTPResponse(404)
        if not is_local:  # names of objects may be confidential
            return HTTPResponse(403, {}, _REFUSED)
        if request.path == PAGE:
            return page.html(request)
        if request.path == STREAM:
            return page.stream(request)
        if request.path == RECONCILES:
            return reconciles_answer(manager.incident_recorder, request)
        if request.path == "/debug/controllers":
            return HTTPResponse(200, _JSON, report(manager).encode())
        namespace, _, name = dict(request.query).get("request", "").rpartition("/")
        if not name:
            return HTTPResponse(400, {}, _WHICH)
        return HTTPResponse(200, _JSON, as_json(why(manager, Request(name, namespace))).encode())

    return answer


def _sure(which: str, checks: Mapping[str, Check]) -> Mapping[str, Check]:
    return {name: synchronous(f"the {which} check {name}", check) for name, check in checks.items()}


def _path_of(route: str) -> str:
    return ",".join(_DEBUG) if route == "debug" else f"/{route}"


def _of_health(manager: Manager, live: Mapping[str, Check], ready: Mapping[str, Check]) -> Mapping[str, Answer]:
    health = health_of(manager, live=live, ready=ready)

    def answer(request: HTTPRequest, is_local: bool) -> HTTPResponse:
        return health.answer(request, trusted=is_local)

    return dict.fromkeys(("healthz", "livez", "readyz"), answer)
