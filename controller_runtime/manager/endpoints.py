# SPDX-License-Identifier: Apache-2.0
"""Where a manager can be asked how it is: metrics and what it does on one address, its health on another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.core.log import get_logger
from controller_runtime.manager.health import Check, health_of
from controller_runtime.manager.inspection import report
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.serving import Answer, Server, bind

log = get_logger(__name__)

NOWHERE = "0"
"""The address at which nothing is served."""

_REFUSED = (
    b"/debug/controllers is for this machine alone, asked for as localhost, 127.0.0.1, [::1] "
    b"or the address that it is served on\n"
)

Answers = Callable[[Manager], Mapping[str, Answer]]


class Endpoints:
    """Takes its addresses when it is made, serves a manager when it is told to, and ends with the `with` block.

    So an address that cannot be had is known before anything is started, and probes are
    answered from before the caches fill until after the last worker has ended.

    Args:
        metrics: Where to serve `/metrics` and, to this machine alone under a name of its own, `/debug/controllers`:
            `HOST:PORT`, `:PORT` for every interface, or `NOWHERE`.
        probes: Where to serve `/healthz`, `/livez` and `/readyz`; it may be the same.
        live: Further checks of `/livez`, by name.
        ready: Further checks of `/readyz`, by name.

    Raises:
        UsageError: An address cannot be had.

    Threads: one owner.
    """

    def __init__(
        self,
        *,
        metrics: str = NOWHERE,
        probes: str = NOWHERE,
        live: Mapping[str, Check] | None = None,
        ready: Mapping[str, Check] | None = None,
    ) -> None:
        wanted: dict[str, list[Answers]] = {}
        for address, answers in (
            (metrics, _of_metrics),
            (probes, lambda manager: _of_health(manager, live or {}, ready or {})),
        ):
            if address != NOWHERE:
                wanted.setdefault(address, []).append(answers)
        with ExitStack() as stack:
            self._listeners = [
                (stack.enter_context(bind(address)), address, answers) for address, answers in wanted.items()
            ]
            self._stack = stack.pop_all()

    @property
    def ports(self) -> list[int]:
        """The ports taken: that of the metrics, then that of the probes, as far as they are wanted and not the same."""
        return [listener.getsockname()[1] for listener, *_ in self._listeners]

    def serve(self, manager: Manager) -> None:
        """Begin to answer for `manager`, which must run on the real machine."""
        for listener, address, answers in self._listeners:
            routes = {name: answer for part in answers for name, answer in part(manager).items()}
            self._stack.enter_context(Server(manager.host, listener, routes, address.rpartition(":")[0].strip("[]")))
            log.info("serving", port=listener.getsockname()[1], paths=",".join(f"/{name}" for name in routes))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._stack.close()


def _of_metrics(manager: Manager) -> Mapping[str, Answer]:
    # Whoever serves no metrics need not pay for the import.
    from controller_runtime.manager.metrics import CONTENT_TYPE, Metrics

    metrics = Metrics(manager)

    def scrape(request: HTTPRequest, is_local: bool) -> HTTPResponse:
        return HTTPResponse(200, {"content-type": CONTENT_TYPE}, metrics.text())

    def debug(request: HTTPRequest, is_local: bool) -> HTTPResponse:
        if request.path != "/debug/controllers":
            return HTTPResponse(404)
        if not is_local:  # names of objects are nobody else's business
            return HTTPResponse(403, {}, _REFUSED)
        return HTTPResponse(200, {"content-type": "application/json"}, report(manager).encode())

    return {"metrics": scrape, "debug": debug}


def _of_health(manager: Manager, live: Mapping[str, Check], ready: Mapping[str, Check]) -> Mapping[str, Answer]:
    health = health_of(manager, live=live, ready=ready)

    def answer(request: HTTPRequest, is_local: bool) -> HTTPResponse:
        return health.answer(request, trusted=is_local)

    return dict.fromkeys(("healthz", "livez", "readyz"), answer)
