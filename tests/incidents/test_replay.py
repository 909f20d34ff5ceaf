# SPDX-License-Identifier: Apache-2.0
"""Replays: the recorded reconcile runs again by the present code, and its verdict says whether it does the same."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import secrets
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from kit.incidents.recording import A, acting, acting_later, recorded

from apimachinery.errors import ConnectionLost, TemporaryError, TerminalError, UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS, SECRETS
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.incidents.incident import Incident, Sent, decode
from controller_runtime.manager.manager import Manager, Setup
from controller_runtime.testing.replay.comparing import Replayed, Verdict
from controller_runtime.testing.replay.run import replay
from controller_runtime.testing.replay.telling import told

log = get_logger(__name__)

B = ObjectKey("b", "default")


def incident_of(setup: Setup, fail: Any = None, seconds: float = 0.0, data: Any = None) -> Incident:
    """Return the first reconcile that a new config map causes, as a file holds it."""
    with recorded(setup) as recording:
        if fail is not None:
            recording.transport.fail = fail
        recording.create(data={"x": "1"} if data is None else data)
        recording.simulation.advance(seconds)
        raw = recording.first().file()
    assert raw is not None
    return decode(raw, "file")


def maps_of(manager: Manager) -> Any:
    return manager.lister(CONFIG_MAPS, dict, namespace="default")


def patching(manager: Manager, request: Request, value: str = "2") -> None:
    found = maps_of(manager).get(request)
    version = found["metadata"]["resourceVersion"]
    manager.client.patch(CONFIG_MAPS, request, {"metadata": {"resourceVersion": version}, "data": {"y": value}})


def read_all(manager: Manager, request: Request) -> Result:
    """Read all that can be read, and write what depends on it."""
    maps = maps_of(manager)
    if "facts" in (maps.get(request).get("data") or {"facts": ""}):  # its own write, and the other config map
        return Result()
    facts = [maps.get(request)["data"], maps.get(B), len(maps), maps.behind("1"), maps.version, len(maps.list())]
    facts += [len(maps.list("default", "app=x")), maps.keys(), manager.host.now(), manager.host.monotonic() > 0]
    facts += [
        manager.host.uuid(),
        manager.host.random.randrange(1000),
        manager.client.get(CONFIG_MAPS, request).metadata.uid,
    ]
    log.info("read", facts=len(facts))
    manager.client.patch(CONFIG_MAPS, request, {"data": {"facts": str(facts)}})
    manager.client.create(CONFIG_MAPS, {"metadata": {"name": manager.host.uuid()}, "data": {"facts": ""}}, "default")
    return Result(requeue_after=7.0)


async def read_later(manager: Manager, request: Request) -> None:
    if "a" in maps_of(manager).get(request)["data"]:
        return
    await asyncio.gather(
        *(manager.async_client.patch(CONFIG_MAPS, request, {"data": {name: manager.host.uuid()}}) for name in "abc")
    )


def refused(status: int, reason: str) -> Callable[[HTTPRequest], HTTPResponse | None]:
    body = b'{"kind":"Status","status":"Failure","reason":"%b","message":"no"}' % reason.encode()
    return lambda request: HTTPResponse(status, {}, body) if request.method == "PATCH" else None


def lost(request: HTTPRequest) -> Exception | None:
    return ConnectionLost("cut") if request.method == "PATCH" else None


def raising(error: Exception, after: bool = False) -> Callable[[Manager, Request], None]:
    def act(manager: Manager, request: Request) -> None:
        maps_of(manager).get(request)
        if after:
            patching(manager, request)
        raise error

    return act


async def hanging(manager: Manager, request: Request) -> None:
    await manager.async_client.patch(CONFIG_MAPS, request, {"data": {"y": "2"}})
    await asyncio.sleep(100.0)


async def raising_later(manager: Manager, request: Request) -> None:
    await read_later(manager, request)
    raise KeyError("later")


async def stale_later(manager: Manager, request: Request) -> None:
    await manager.async_client.patch(CONFIG_MAPS, request, {"metadata": {"resourceVersion": "7"}, "data": {"y": "2"}})


FAILURES: dict[str, tuple[Setup, Any]] = {
    "a bug": (acting(raising(KeyError("size"))), None),
    "a bug in the middle": (acting(raising(ZeroDivisionError("half"), after=True)), None),
    "an expected error": (acting(raising(TemporaryError("later", requeue_after=3.0), after=True)), None),
    "a terminal error": (acting(raising(TerminalError("never"))), None),
    "a conflict of a stale read": (acting(patching), refused(409, "Conflict")),
    "a server that fails": (acting(patching), refused(500, "InternalError")),
    "too many requests": (acting(patching), refused(429, "TooManyRequests")),
    "a lost answer": (acting(patching), lost),
    "a coroutine that raises": (acting_later(raising_later), None),
    "a coroutine that is cancelled": (acting_later(hanging, reconcile_timeout=5.0), None),
    "a conflict of a coroutine": (acting_later(stale_later), None),
    "a coroutine without an answer": (acting_later(stale_later), lost),
}


@pytest.mark.parametrize(("setup", "fail"), FAILURES.values(), ids=[*FAILURES])
def test_a_failure_is_replayed_to_the_same_end(setup: Setup, fail: Any) -> None:
    incident = incident_of(setup, fail, 10.0)

    replayed = replay(incident, setup)

    assert incident.end.outcome not in ("success", "requeue_after")
    assert (replayed.verdict, replayed.has_same_failure) == (Verdict.SAME, True), told(replayed)


def test_a_reconcile_that_takes_too_long_is_replayed_to_the_same_end() -> None:
    def act(manager: Manager, request: Request) -> None:
        manager.stopping.wait(8.0)

    incident = incident_of(acting(act, reconcile_timeout=5.0), seconds=10.0)

    assert (incident.end.outcome, incident.reasons) == ("error", ["error", "timeout"])
    assert replay(incident, acting(act, reconcile_timeout=5.0)).verdict is Verdict.SAME


@pytest.mark.parametrize("setup", [acting(read_all), acting_later(read_later)], ids=["a thread", "a coroutine"])
def test_a_reconcile_that_decides_by_its_reads_is_replayed_to_equal_writes(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    incident = incident_of(setup)

    replayed = replay(incident, setup)

    assert replayed.verdict is Verdict.SAME, told(replayed)
    assert len(replayed.writes) == len(incident.writes) > 1
    assert replayed.lines == tuple(incident.lines)


def replayed_by(act: Any, before: Any = patching) -> Replayed:
    """Record a reconcile by one function, and replay it by another."""
    return replay(incident_of(acting(before)), acting(act))


def test_another_write_differs() -> None:
    replayed = replayed_by(lambda manager, request: patching(manager, request, "3"))

    assert replayed.verdict is Verdict.DIFFERS
    assert "+ PATCH /api/v1/namespaces/default/configmaps/a" in told(replayed)
    assert replayed.end.outcome == "success"  # the embedded server has the object at the version that was read


def test_a_write_that_is_missing_differs() -> None:
    assert replayed_by(lambda manager, request: maps_of(manager).get(request) and None).verdict is Verdict.DIFFERS


def test_another_end_differs() -> None:
    def act(manager: Manager, request: Request) -> Result:
        patching(manager, request)
        return Result(requeue_after=3.0)

    assert replayed_by(act).verdict is Verdict.DIFFERS


def test_a_read_that_was_not_recorded_is_undecided_and_named() -> None:
    def act(manager: Manager, request: Request) -> None:
        if maps_of(manager).get(B) is None:
            patching(manager, request, "3")

    replayed = replayed_by(act)

    assert replayed.verdict is Verdict.UNDECIDED
    assert replayed.unknown == ("the cache of configmaps: default/b",)
    assert "verdict: undecided, because of what was not recorded" in told(replayed)


def test_an_unknown_read_is_undecided_even_if_nothing_differs() -> None:
    def act(manager: Manager, request: Request) -> None:
        maps_of(manager).get(B)
        patching(manager, request)

    assert replayed_by(act).verdict is Verdict.UNDECIDED


def test_a_request_that_was_not_recorded_is_undecided() -> None:
    def act(manager: Manager, request: Request) -> None:
        manager.client.list(SECRETS, "default")
        patching(manager, request)

    assert replayed_by(act).verdict is Verdict.UNDECIDED


def test_an_unknown_answer_to_a_write_that_differs_leaves_it_different() -> None:
    def act(manager: Manager, request: Request) -> None:
        maps_of(manager).get(request)
        manager.client.create(CONFIG_MAPS, {"metadata": {"name": "new"}}, "default")

    replayed = replayed_by(act)

    assert (replayed.verdict, replayed.end.outcome) == (Verdict.DIFFERS, "success")
    assert "the server's answer to POST" in replayed.unknown[0]


def test_a_key_is_known_from_a_list_and_so_is_its_absence() -> None:
    def before(manager: Manager, request: Request) -> None:
        assert len(maps_of(manager).list()) == 1

    def act(manager: Manager, request: Request) -> None:
        maps = maps_of(manager)
        assert maps.get(request) is not None
        assert maps.get(B) is None
        assert len(maps.list("default")) == 1
        assert maps.list("", "app=y") == []
        assert maps.keys() == [A]

    assert replayed_by(act, before).verdict is Verdict.SAME


def test_code_that_asks_a_real_clock_is_undecided_once_it_differs() -> None:
    def act(manager: Manager, request: Request) -> None:
        patching(manager, request, str(time.time()))

    replayed = replayed_by(act)

    assert replayed.verdict is Verdict.UNDECIDED
    assert "test_replay.py" in replayed.clocks[0]


@pytest.mark.parametrize(
    "call", [lambda: socket.create_connection(("192.0.2.1", 5432), 0.1), lambda: os.system("true")]
)
def test_the_world_outside_is_refused_and_makes_a_replay_undecided(call: Callable[[], object]) -> None:
    def act(manager: Manager, request: Request) -> None:
        patching(manager, request)
        call()

    async def later(manager: Manager, request: Request) -> None:
        act(manager, request)

    for setup in (acting(act), acting_later(later)):
        replayed = replay(incident_of(acting(patching)), setup)
        assert replayed.verdict is Verdict.UNDECIDED
        assert "the world outside: the program" in replayed.unknown[0]


def test_a_program_without_the_controller_is_refused() -> None:
    with pytest.raises(UsageError, match="the program has no controller 'maps'; it has none"):
        replay(incident_of(acting(patching)), lambda manager: None)


def test_a_second_read_of_a_key_gets_the_second_answer() -> None:
    def act(manager: Manager, request: Request) -> None:
        maps = maps_of(manager)
        before = maps.get(request)["metadata"]["resourceVersion"]
        if "y" not in maps.get(request)["data"]:
            written = manager.client.patch(CONFIG_MAPS, request, {"data": {"y": "2"}})
            assert maps.wait_for(written.resource_version, 5.0)
            assert maps.get(request)["metadata"]["resourceVersion"] != before

    assert replay(incident_of(acting(act)), acting(act)).verdict is Verdict.SAME


def test_events_are_no_part_of_a_record() -> None:
    def setup(manager: Manager) -> None:
        events = manager.recorder("maps")

        def act(manager: Manager, request: Request) -> None:
            events.event(maps_of(manager).get(request), "Normal", "Seen", "seen", resource=CONFIG_MAPS)

        acting(act)(manager)

    incident = incident_of(setup)

    assert (incident.seed, len(incident.steps)) == ("", 1)
    assert replay(incident, setup).verdict is Verdict.SAME


def test_values_of_secrets_are_replayed_as_their_stand_ins() -> None:
    def act(manager: Manager, request: Request) -> None:
        made = {"metadata": {"name": "s"}, "stringData": {"password": "correct horse"}}
        secret = manager.client.create(SECRETS, made, "default")
        manager.client.get(SECRETS, ObjectKey(secret.name, "default"))

    replayed = replay(incident_of(acting(act)), acting(act))

    # the program writes a value of its own, which is not the stand-in: this is told, and nothing is kept
    assert replayed.verdict is not Verdict.SAME


def test_a_request_without_an_answer_is_waited_for_until_the_coroutine_is_cancelled() -> None:
    async def act(manager: Manager, request: Request) -> None:
        await manager.async_client.get(CONFIG_MAPS, request)

    def slow(request: HTTPRequest) -> None:
        if request.path.endswith("/a"):
            recording[0].manager.stopping.wait(20.0)

    recording: list[Any] = []
    setup = acting_later(act, reconcile_timeout=5.0)
    with recorded(setup) as running:
        recording.append(running)
        running.transport.fail = slow
        running.create(data={"x": "1"})
        running.simulation.advance(6.0)
        raw = running.first().file()
    assert raw is not None
    incident = decode(raw, "file")

    (sent,) = incident.steps
    assert isinstance(sent, Sent)
    assert (sent.at, sent.status, incident.end.outcome) == (None, 0, "error")
    assert replay(incident, setup).verdict is Verdict.SAME


def _drawn_by_uuid4() -> str:
    return str(uuid.uuid4())


TAKEN: dict[str, Callable[[], object]] = {
    "uuid4": _drawn_by_uuid4,
    "random": lambda: random.random(),
    "secrets": lambda: secrets.token_hex(8),
    "environment": lambda: os.environ.get("HOME", ""),
    "getenv": lambda: os.getenv("HOME"),
}


@pytest.mark.parametrize("take", TAKEN.values(), ids=[*TAKEN])
def test_code_that_takes_what_is_not_recorded_is_undecided_once_it_differs(take: Callable[[], object]) -> None:
    def act(manager: Manager, request: Request) -> None:
        patching(manager, request, f"of {take()}")

    before = (random.getstate(), dict(os.environ), os.urandom)
    incident = incident_of(acting(patching))
    replayed, again = replay(incident, acting(act)), replay(incident, acting(act))

    assert replayed.verdict is Verdict.UNDECIDED
    assert "taken elsewhere:" in told(replayed)
    assert [each.request for each in replayed.writes] == [each.request for each in again.writes]
    assert (random.getstate(), dict(os.environ), os.urandom) == before


def test_code_that_takes_what_is_not_recorded_and_does_the_same_is_the_same() -> None:
    def act(manager: Manager, request: Request) -> None:
        assert os.environ.get("NOBODY_SETS_THIS") is None
        assert random.random() < 1
        patching(manager, request)

    assert replayed_by(act).verdict is Verdict.SAME


async def _setup_later(manager: Manager) -> None:
    """Do nothing: what it returns would never run."""


@pytest.mark.parametrize("setup", [_setup_later, lambda manager: _setup_later(manager)], ids=["async", "awaitable"])
def test_a_setup_that_is_a_coroutine_is_refused(setup: Any) -> None:
    incident = incident_of(acting(patching))

    with pytest.raises(UsageError, match=r"setup.*(async def|coroutine|await)"):
        replay(incident, setup)
