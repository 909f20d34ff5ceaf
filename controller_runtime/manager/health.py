# SPDX-License-Identifier: Apache-2.0
"""Health checks for the probes of Kubernetes: `/livez` (must the process be restarted?) and `/readyz` (can it work?).

`/healthz` is the older name of `/livez`. A restart does not help while the API server is down, so the state of the
caches counts for readiness only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import attrs

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.cache.informer import Informer
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.problems import (
    failing_sources,
    overdue_reconciles,
    problem_of,
    stuck_workers,
    unreadable_objects,
)

Check = Callable[[], str]
"""Returns in one line what is wrong; empty if all is well. It must be quick and must not wait."""

_TEXT = {"content-type": "text/plain; charset=utf-8"}


@attrs.frozen
class Health:
    """Holds the checks of `/livez` and of `/readyz`, by name, and answers the requests of probes.

    Attributes:
        live: Checks for problems that a restart of the process solves.
        ready: Checks for problems that prevent the process from working.
        notes: Checks that only `/readyz?verbose` and `/readyz/NAME` show; they never make the process unready.
    """

    live: Mapping[str, Check]
    ready: Mapping[str, Check]
    notes: Mapping[str, Check] = attrs.field(factory=dict)

    def answer(self, request: HTTPRequest, *, trusted: bool) -> HTTPResponse:
        """Return status 200 if all checks succeed, 500 if one fails, and 404 for a path without checks.

        `/readyz` runs all checks, `/readyz/NAME` one of them. `?exclude=NAME` skips a check and can be repeated;
        `?verbose` lists the checks even if all succeed.

        Args:
            request: The request, of which only path and query are read.
            trusted: Whether the answer may contain the reasons of failed checks; if False, it has only their names.
        """
        _, endpoint, *names = request.path.split("/")
        ready = {**self.ready, **self.notes}
        checks = {"healthz": self.live, "livez": self.live, "readyz": ready}.get(endpoint)
        if checks is None or len(names) > 1 or any(name not in checks for name in names):
            return HTTPResponse(404, _TEXT, b"no such check\n")
        if names:
            checks = {name: checks[name] for name in names}
        excluded = [value for key, value in request.query if key == "exclude"]
        verbose = any(key == "verbose" for key, _ in request.query)
        return _report(endpoint, checks, excluded, self.notes, verbose=verbose, trusted=trusted)


def _report(
    endpoint: str,
    checks: Mapping[str, Check],
    excluded: Sequence[str],
    notes: Collection[str],
    *,
    verbose: bool,
    trusted: bool,
) -> HTTPResponse:
    lines, is_well = [], True
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif problem := check():
            is_note = name in notes
            is_well = is_well and is_note
            mark, result = ("!", "ok, but") if is_note else ("-", "failed")
            lines.append(f"[{mark}]{name} {result}: {problem if trusted else 'reason withheld'}")
        else:
            lines.append(f"[+]{name} ok")
    lines += [f"warning: no check is named {name!r}, so none is excluded" for name in excluded if name not in checks]
    lines.append(f"{endpoint} check {'passed' if is_well else 'failed'}")
    text = "ok" if is_well and not verbose else "\n".join(lines) + "\n"
    return HTTPResponse(200 if is_well else 500, _TEXT, text.encode())


def health_of(
    manager: Manager, *, live: Mapping[str, Check] | None = None, ready: Mapping[str, Check] | None = None
) -> Health:
    """Return the health checks of a manager.

    `/livez` has the checks `workers` and `election`. `/readyz` has `informers`, `reconciles` and `shutdown`; with
    webhooks also `webhooks`; with a ring also `rings`. The last one fails while the ring lacks rights without which
    this replica gets no work, and if its updates of the ring have not succeeded yet, or not within a `lease_duration`.

    Notes, which never make the process unready, are `mappers` and `objects`, since a rollout must not wait for single
    objects; with webhooks also `registrations`, for missing configurations; with a ring also `rights`, for rights
    without which it works, but sees changes late or does not clean up.

    Args:
        manager: The manager.
        live: Additional checks of `/livez`, by name.
        ready: Additional checks of `/readyz`, by name.
    """
    declared = manager.declared_webhooks

    def election() -> str:
        return manager.elector.problem() if manager.elector is not None else ""

    def informers() -> str:
        # A server that converts the objects of a list calls this program, once it is ready: it must not wait for that.
        awaited = (each for each in manager.informers if _definition_of(each) not in declared.converted)
        problems = (problem_of(informer, manager.host) for informer in awaited)
        return "; ".join(problem for problem in problems if problem)

    def reconciles() -> str:
        return "; ".join(overdue_reconciles(manager.controllers))

    def mappers() -> str:
        return "; ".join(failing_sources(manager.controllers))

    def objects() -> str:
        return "; ".join(unreadable_objects(manager.controllers))

    def shutdown() -> str:
        return "the manager stops" if manager.stopping.is_set() else ""

    webhooks = {"webhooks": declared.problem} if declared else {}
    registrations = {"registrations": declared.unregistered} if declared else {}
    rings, rights = _checks_of_rings(manager)
    works = {"informers": informers, "reconciles": reconciles, **webhooks, **rings, "shutdown": shutdown}
    return Health(
        live={"workers": lambda: "; ".join(stuck_workers(manager.controllers)), "election": election, **(live or {})},
        ready={**works, **(ready or {})},
        notes={"mappers": mappers, "objects": objects, **registrations, **rights},
    )


def _checks_of_rings(manager: Manager) -> tuple[Mapping[str, Check], Mapping[str, Check]]:
    """Return the checks and the notes of a manager with rings; none without one."""
    if not manager.rings:
        return {}, {}
    return (
        {"rings": lambda: "; ".join([*missing_rights(manager, vital=True), *failing_rings(manager)])},
        {"rights": lambda: "; ".join(missing_rights(manager, vital=False))},
    )


def missing_rights(manager: Manager, *, vital: bool) -> Iterator[str]:
    """Yield a line for each missing right of a ring member: if `vital`, those that its work needs, else the others."""
    for ring in manager.rings:
        for right in ring.rights.missing:
            if right.is_vital is vital:
                yield f"this replica may not {right}: {right.advice}"


def failing_rings(manager: Manager) -> Iterator[str]:
    """Yield a line for each ring that this replica has not updated successfully for a `lease_duration`, or never."""
    for ring in manager.rings:
        status, age = ring.member.status, ring.member.status.counts().turn_age
        if not status.has_had_a_turn:
            yield f"{ring.name}: no turn has succeeded yet: {ring.member.last_error}".removesuffix(": ")
        elif age > ring.config.lease_duration:
            yield f"{ring.name}: no turn has succeeded for {age:.0f} s: {ring.member.last_error}".removesuffix(": ")


def _definition_of(informer: Informer) -> str:
    resource = informer.collection.resource
    return f"{resource.plural}.{resource.group}"
