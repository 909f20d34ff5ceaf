# SPDX-License-Identifier: Apache-2.0
"""Planted failures: reconciles that read, write and then fail in one of many ways, as threads and as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import attrs

from apimachinery.errors import ConnectionLost, TemporaryError, TerminalError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS, SERVICES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.manager.manager import Manager, Setup
from kit.incidents.recording import Acting, ActingLater, Recording

STYLES = ("thread", "coroutine", "controllers", "coroutines")
"""How a plan runs: as a thread or a coroutine, alone or beside two other controllers that write the same objects."""


@attrs.frozen
class Plan:
    """A reconcile that fails.

    Attributes:
        style: One of `STYLES`.
        reads: The name in `READS` of what it reads first.
        writes: How many writes come before the failure.
        failure: The name of one of `FAILURES`.
    """

    style: str
    reads: tuple[str, ...]
    writes: int
    failure: str

    @property
    def is_async(self) -> bool:
        """Whether it is a coroutine."""
        return self.style.startswith("coroutine")


def _maps(manager: Manager) -> Any:
    return manager.lister(CONFIG_MAPS, dict, namespace="default")


READS: dict[str, Callable[[Manager, Request], object]] = {
    "get": lambda manager, request: _maps(manager).get(request),
    "absent": lambda manager, request: _maps(manager).get(ObjectKey("absent", "default")),
    "list": lambda manager, request: _maps(manager).list(),
    "labels": lambda manager, request: _maps(manager).list("default", "app=x"),
    "keys": lambda manager, request: _maps(manager).keys(),
    "count": lambda manager, request: len(_maps(manager)),
    "now": lambda manager, request: manager.host.now(),
    "uuid": lambda manager, request: manager.host.uuid(),
    "random": lambda manager, request: manager.host.random.random(),
    "server": lambda manager, request: manager.client.get(CONFIG_MAPS, request),
    "services": lambda manager, request: manager.client.list(SERVICES, "default"),
}


class OwnError(Exception):
    """A class of the program itself."""


def _answer(status: int, reason: str) -> HTTPResponse:
    text = '{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"%s","message":"no","code":%d}'
    return HTTPResponse(status, {}, (text % (reason, status)).encode())


RAISED: dict[str, Callable[[], BaseException]] = {
    "KeyError": lambda: KeyError("size"),
    "ZeroDivisionError": lambda: ZeroDivisionError("half"),
    "RecursionError": lambda: RecursionError("deep"),
    "OwnError": lambda: OwnError("of the program"),
    "ExceptionGroup": lambda: ExceptionGroup("two", [KeyError("a"), ValueError("b")]),
    "SystemExit": lambda: SystemExit(3),
    "TemporaryError": lambda: TemporaryError("later", requeue_after=3.0),
    "TerminalError": lambda: TerminalError("never"),
}
REFUSED: dict[str, HTTPResponse | Exception] = {
    "conflict": _answer(409, "Conflict"),
    "exists": _answer(409, "AlreadyExists"),
    "forbidden": _answer(403, "Forbidden"),
    "missing": _answer(404, "NotFound"),
    "invalid": _answer(422, "Invalid"),
    "busy": _answer(429, "TooManyRequests"),
    "broken": _answer(500, "InternalError"),
    "away": _answer(503, "ServiceUnavailable"),
    "lost": ConnectionLost("cut"),
}
FAILURES = (*RAISED, *REFUSED, "stale", "cancelled", "cancelled in a request", "no result")
LAST = "last"
"""The field of the write that is refused, or comes too late."""


def plans(count: int, seed: int) -> list[Plan]:
    """Return plans, half of them coroutines or beside other controllers; each failure has its turn."""
    chance = Random(seed)
    found = []
    for number in range(count):
        style = STYLES[number % 4] if number % 2 else "thread"
        failure = FAILURES[number // 2 % len(FAILURES)]
        if failure.startswith("cancelled"):
            style = "coroutine" if style == "thread" else "coroutines"
        reads = tuple(chance.choice([*READS]) for _ in range(chance.randrange(5)))
        found.append(Plan(style, reads, chance.randrange(3), failure))
    return found


def setup_of(plan: Plan, *, is_repaired: bool = False) -> Setup:
    """Return the program of a plan; a repaired one does all but fail."""

    def setup(manager: Manager) -> None:
        timeout = {"reconcile_timeout": 5.0} if plan.failure.startswith("cancelled") else {}
        act = _later(plan, is_repaired) if plan.is_async else _now(plan, is_repaired)
        reconciler = (ActingLater if plan.is_async else Acting)(manager, act)  # type: ignore[arg-type]
        controller: Controller = Controller("maps", reconciler, may_wake_itself=True, **timeout)  # type: ignore[arg-type]
        manager.add(controller.watch(CONFIG_MAPS, namespace="default"))
        if plan.style in ("controllers", "coroutines"):
            for name in ("left", "right"):
                other = Controller(name, Acting(manager, _marking(name)), may_wake_itself=True)
                manager.add(other.watch(CONFIG_MAPS, namespace="default"))

    return setup


def _marking(name: str) -> Callable[[Manager, Request], None]:
    def act(manager: Manager, request: Request) -> None:
        found = _maps(manager).get(request)
        if found is not None and name not in (found["metadata"].get("labels") or {}):
            manager.client.patch(CONFIG_MAPS, request, {"metadata": {"labels": {name: "seen"}}})

    return act


def _patches(plan: Plan, *, is_repaired: bool) -> list[Any]:
    patches: list[Any] = [{"data": {f"w{number}": "1"}} for number in range(plan.writes)]
    if (plan.failure in REFUSED or plan.failure in ("stale", "cancelled in a request")) and not is_repaired:
        patches.append({"data": {LAST: "1"}})
    return patches


def _now(plan: Plan, is_repaired: bool) -> Callable[[Manager, Request], Result | None]:
    def act(manager: Manager, request: Request) -> Result | None:
        found = _begin(plan, manager, request)
        for patch in _patches(plan, is_repaired=is_repaired):
            manager.client.patch(CONFIG_MAPS, request, _versioned(plan, patch, found))
        return None if is_repaired else _end(plan)

    return act


def _later(plan: Plan, is_repaired: bool) -> Callable[[Manager, Request], Awaitable[Result | None]]:
    async def act(manager: Manager, request: Request) -> Result | None:
        found = _begin(plan, manager, request)
        for patch in _patches(plan, is_repaired=is_repaired):
            await manager.async_client.patch(CONFIG_MAPS, request, _versioned(plan, patch, found))
        if plan.failure == "cancelled" and not is_repaired:
            await asyncio.sleep(100.0)
        return None if is_repaired else _end(plan)

    return act


def _begin(plan: Plan, manager: Manager, request: Request) -> Any:
    for name in plan.reads:
        READS[name](manager, request)
    return _maps(manager).get(request)


def _versioned(plan: Plan, patch: Any, found: Any) -> Any:
    if plan.failure != "stale" or LAST not in patch["data"]:
        return patch
    return {**patch, "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}}


def _end(plan: Plan) -> Result | None:
    if plan.failure in RAISED:
        raise RAISED[plan.failure]()
    return "nothing" if plan.failure == "no result" else None  # type: ignore[return-value]


def failing_as(plan: Plan, recording: Recording) -> Callable[[HTTPRequest], HTTPResponse | Exception | None]:
    """Return what fails on the way of a plan's requests."""

    def fail(request: HTTPRequest) -> HTTPResponse | Exception | None:
        if f'"{LAST}"'.encode() not in request.body:
            return None
        if plan.failure == "stale":  # another writer comes first, so the server answers with a conflict of its own
            recording.user.patch(CONFIG_MAPS, ObjectKey("a", "default"), {"data": {"other": "1"}})
        if plan.failure == "cancelled in a request":
            recording.manager.stopping.wait(20.0)
        return REFUSED.get(plan.failure)

    return fail
