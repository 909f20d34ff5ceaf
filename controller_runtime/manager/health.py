# SPDX-License-Identifier: Apache-2.0
"""Whether a program is well: `/livez` (restart it if not), `/readyz` (it is not at its work), as Kubernetes asks.

`/healthz` is an older word for `/livez`. An API server that is down is no reason to
restart, so what is known of the caches counts for readiness alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.cache.informer import Informer
from controller_runtime.controller.controller import Controller
from controller_runtime.core.host import Clock
from controller_runtime.manager.manager import Manager

Check = Callable[[], str]
"""Says in one line what is wrong, or nothing if nothing is. It must be quick, and not wait."""

STUCK_AFTER = 600.0
"""Seconds that one reconcile may take before its worker counts as stuck."""

OVERDUE_AFTER = 2.0
"""How many times its `reconcile_timeout` a reconcile may take before it counts as stuck, and nobody can end it."""

_TEXT = {"content-type": "text/plain; charset=utf-8"}


@attrs.frozen
class Health:
    """Two lists of checks, by name, and the answers to who asks for them.

    Attributes:
        live: What a restart would cure.
        ready: What keeps it from its work.
    """

    live: Mapping[str, Check]
    ready: Mapping[str, Check]

    def answer(self, request: HTTPRequest, *, trusted: bool) -> HTTPResponse:
        """200 if all is well, 500 if not, 404 for a path without checks.

        `/readyz` asks all, `/readyz/NAME` one. `?exclude=NAME`, repeated, leaves some out; `?verbose`
        lists them even if all is well.

        Args:
            request: What was asked; only path and query count.
            trusted: Whether the asker may know why; others learn which checks fail.
        """
        _, endpoint, *names = request.path.split("/")
        checks = {"healthz": self.live, "livez": self.live, "readyz": self.ready}.get(endpoint)
        if checks is None or len(names) > 1 or any(name not in checks for name in names):
            return HTTPResponse(404, _TEXT, b"no such check\n")
        if names:
            checks = {name: checks[name] for name in names}
        excluded = [value for key, value in request.query if key == "exclude"]
        verbose = any(key == "verbose" for key, _ in request.query)
        return _report(endpoint, checks, excluded, verbose=verbose, trusted=trusted)


def _report(
    endpoint: str, checks: Mapping[str, Check], excluded: Sequence[str], *, verbose: bool, trusted: bool
) -> HTTPResponse:
    lines, is_well = [], True
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif problem := check():
            is_well = False
            lines.append(f"[-]{name} failed: {problem if trusted else 'reason withheld'}")
        else:
            lines.append(f"[+]{name} ok")
    lines += [f"warning: no check is named {name!r}, so none is excluded" for name in excluded if name not in checks]
    lines.append(f"{endpoint} check {'passed' if is_well else 'failed'}")
    text = "ok" if is_well and not verbose else "\n".join(lines) + "\n"
    return HTTPResponse(200 if is_well else 500, _TEXT, text.encode())


def health_of(
    manager: Manager, *, live: Mapping[str, Check] | None = None, ready: Mapping[str, Check] | None = None
) -> Health:
    """The checks of a manager: `workers` and `election` live; `informers`, `reconciles` and `shutdown` for readiness.

    Args:
        manager: Whose.
        live: More of them.
        ready: More of them.
    """
    clock = manager.host

    def workers() -> str:
        return "; ".join(stuck_workers(manager.controllers))

    def election() -> str:
        return manager.elector.problem() if manager.elector is not None else ""

    def informers() -> str:
        problems = (problem_of(informer, clock) for informer in manager.informers)
        return "; ".join(problem for problem in problems if problem)

    def reconciles() -> str:
        return "; ".join(overdue_reconciles(manager.controllers))

    def shutdown() -> str:
        return "the manager stops" if manager.stopping.is_set() else ""

    return Health(
        live={"workers": workers, "election": election, **(live or {})},
        ready={"informers": informers, "reconciles": reconciles, "shutdown": shutdown, **(ready or {})},
    )


def stuck_workers(controllers: Sequence[Controller], after: float = STUCK_AFTER) -> Iterator[str]:
    """A line for each controller of which one reconcile has taken longer than `after` seconds."""
    for controller in controllers:
        counters = controller.counters()
        if counters is not None and counters[1].longest_running > after:
            yield f"{controller.name}: a reconcile has been running for {counters[1].longest_running:.0f} s"


def overdue_reconciles(controllers: Sequence[Controller]) -> Iterator[str]:
    """A line for each controller of which one reconcile goes on though its timeout has long passed."""
    for controller in controllers:
        counters, timeout = controller.counters(), controller.reconcile_timeout
        if counters is not None and timeout is not None and counters[1].longest_running > OVERDUE_AFTER * timeout:
            took = counters[1].longest_running
            yield f"{controller.name}: a reconcile has been running for {took:.3g} s and may take {timeout:g} s"


def problem_of(informer: Informer, clock: Clock) -> str:
    """Why the cache of `informer` is not what the server has, in one line; empty if nothing says so."""
    because = f": {informer.last_error}" if informer.last_error else ""
    if not informer.has_synced():
        return f"{informer} has no initial list yet{because}"
    reflector = informer.reflector
    silence = clock.monotonic() - reflector.heard_at
    is_overdue = silence > reflector.patience.overdue
    return f"{informer} has heard nothing for {silence:.0f} s{because}" if is_overdue else ""
