# SPDX-License-Identifier: Apache-2.0
"""Records of which parts are missing: values of Secrets that are left out are replaced, and no replay is certain."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from kit.incidents.recording import Act, acting, recorded

from apimachinery.http import HTTPRequest
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS, SECRETS
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.attempts import current_attempt
from controller_runtime.incidents import bounds, encoding
from controller_runtime.incidents.incident import Incident, decode
from controller_runtime.incidents.options import Incidents
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.replay.comparing import Verdict
from controller_runtime.testing.replay.run import replay
from controller_runtime.testing.replay.telling import told, why_undecided

log = get_logger(__name__)

VALUE = "correct-horse-battery"
S = ObjectKey("s", "default")
LARGE = {"kind": "ConfigMap", "metadata": {"name": "large", "namespace": "default"}, "data": {"x": "y" * 700_000}}


def secret(**data: str) -> dict[str, Any]:
    return {"metadata": {"name": "s", "namespace": "default"}, "stringData": {"p": VALUE, **data}}


def files_of(act: Act, incidents: Incidents | None = None, **data: str) -> list[bytes]:
    """Return the files of the reconciles that read a Secret of 640 KB."""

    def setup(manager: Manager) -> None:
        manager.lister(SECRETS, dict, namespace="default")
        acting(act)(manager)

    with recorded(setup, incidents) as recording:
        recording.user.create(SECRETS, secret(fill="x" * 640_000, **data))
        recording.simulation.settle()
        recording.create()
        return [raw for each in recording.recorder.all() if (raw := each.file()) is not None]


def by_get(manager: Manager) -> Any:
    return manager.lister(SECRETS, dict, namespace="default").get(S)["data"]["p"]


def by_list(manager: Manager) -> Any:
    return manager.lister(SECRETS, dict, namespace="default").list()[0]["data"]["p"]


def by_request(manager: Manager) -> Any:
    return manager.client.get(SECRETS, S).data["p"]


def by_write(manager: Manager) -> Any:
    manager.client.patch(SECRETS, S, {"stringData": {"fill": "z" * 640_000}})
    return manager.client.get(SECRETS, S).data["p"]


@pytest.mark.parametrize("read", [by_get, by_list, by_request, by_write])
def test_values_of_a_secret_that_is_left_out_are_replaced_in_what_is_kept(read: Callable[[Manager], Any]) -> None:
    def act(manager: Manager, request: Request) -> None:
        log.warning("read", password=base64.b64decode(read(manager)).decode())

    (raw,) = files_of(act)

    assert VALUE.encode() not in raw
    assert b"password=secret" in raw
    assert decode(raw, "file").is_cut


@pytest.mark.parametrize("read", [by_get, by_list, by_request])
def test_a_reconcile_that_does_nothing_but_read_a_small_secret_keeps_no_value(read: Callable[[Manager], Any]) -> None:
    def setup(manager: Manager) -> None:
        manager.lister(SECRETS, dict, namespace="default")
        acting(lambda manager, request: read(manager) and None)(manager)

    with recorded(setup) as recording:
        recording.user.create(SECRETS, secret())
        recording.simulation.settle()
        recording.create()
        raw = recording.first().file()

    assert raw is not None
    assert base64.b64encode(VALUE.encode()) not in raw
    assert not decode(raw, "file").is_cut


def test_confidential_values_of_an_object_that_is_left_out_are_replaced() -> None:
    def act(manager: Manager, request: Request) -> None:
        log.warning("read", password=base64.b64decode(by_get(manager)).decode())

    def all_of(whole: dict[str, Any]) -> list[str]:
        return [VALUE] if whole["kind"] == "Secret" else []

    assert VALUE.encode() not in files_of(act, Incidents(confidential=all_of))[0]


def test_a_reconcile_that_saw_too_many_values_is_not_kept_and_that_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def act(manager: Manager, request: Request) -> None:
        by_get(manager)

    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(encoding, "MOST_VALUES", 1)

    def setup(manager: Manager) -> None:
        manager.lister(SECRETS, dict, namespace="default")
        acting(act)(manager)

    with recorded(setup) as recording:
        recording.user.create(SECRETS, secret(q="another-long-value"))
        recording.simulation.settle()
        for name in "ab":
            recording.create(name)
        assert recording.recorder.all() == []
    assert caplog.text.count("it saw more than 1 values of Secrets") == 1


@pytest.mark.parametrize("most", [0, 1])
def test_a_reconcile_that_left_out_too_many_secrets_is_not_kept(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    def act(manager: Manager, request: Request) -> None:
        for read in (by_get, by_get, by_get):  # one object counts once
            read(manager)

    monkeypatch.setattr(bounds, "MOST_HIDDEN", most)
    assert len(files_of(act)) == most


def test_a_reconcile_that_watched_secrets_by_itself_is_not_kept() -> None:
    def act(manager: Manager, request: Request) -> None:
        attempt = current_attempt()
        assert attempt is not None
        attempt.stream(HTTPRequest("GET", "/api/v1/namespaces/default/secrets"))

    assert files_of(act) == []


def patched_twice(manager: Manager, request: Request) -> None:
    """Send two requests, of which the second finds no room in the record."""
    if request.name == "a":
        for each in ("y", "z"):
            manager.client.patch(CONFIG_MAPS, ObjectKey("large", "default"), {"data": {"x": each * 700_000}})


def cut_incident(act: Act) -> Incident:
    with recorded(acting(act)) as recording:
        recording.user.create(CONFIG_MAPS, LARGE)
        recording.create()
        (incident,) = [each.incident() for each in recording.recorder.all() if each.request == "default/a"]
    return incident


def test_a_record_of_which_a_request_is_cut_is_undecided_and_never_differs() -> None:
    incident = cut_incident(patched_twice)

    for act in (patched_twice, lambda manager, request: None):
        replayed = replay(incident, acting(act))
        assert incident.cut
        assert replayed.verdict is Verdict.UNDECIDED
        assert "verdict: undecided, because parts of the record are cut" in told(replayed)
        assert why_undecided(replayed) == "parts of the record are cut"


def test_a_record_of_which_lines_of_the_log_are_cut_is_decided() -> None:
    def act(manager: Manager, request: Request) -> None:
        for number in range(202):
            log.warning("line", number=number)

    incident = cut_incident(act)

    assert incident.cut == ["2 lines of the log"]
    assert replay(incident, acting(act)).verdict is Verdict.SAME


def by_a_thread(ask: Callable[[Manager, Request], object]) -> Act:
    """Return an act that reads or writes by a thread of its own, which a simulation refuses."""

    def act(manager: Manager, request: Request) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(ask, manager, request).result()

    return act


@pytest.mark.parametrize(
    "ask",
    [
        lambda manager, request: manager.lister(CONFIG_MAPS, dict, namespace="default").get(request),
        lambda manager, request: manager.client.patch(CONFIG_MAPS, request, {"data": {"y": "2"}}),
    ],
    ids=["a read", "a write"],
)
def test_reads_and_writes_of_threads_of_the_program_itself_are_undecided(
    ask: Callable[[Manager, Request], object],
) -> None:
    with recorded(acting(lambda manager, request: None)) as recording:
        recording.create()
        incident = recording.first().incident()

    replayed = replay(incident, acting(by_a_thread(ask)))

    assert replayed.verdict is Verdict.UNDECIDED
    assert "threads that `manager.host` did not start" in replayed.unknown[-1]


def test_a_thread_of_the_host_belongs_to_its_reconcile() -> None:
    def act(manager: Manager, request: Request) -> None:
        found = manager.lister(CONFIG_MAPS, dict, namespace="default").get(request)
        if not found["data"]:
            patch = lambda: manager.client.patch(CONFIG_MAPS, request, {"data": {"y": "2"}})  # noqa: E731
            manager.host.spawn("patch", lambda: patch() and None).join_until(None)

    with recorded(acting(act)) as recording:
        recording.create()
        incident = recording.first().incident()

    assert replay(incident, acting(act)).verdict is Verdict.SAME
    assert replay(incident, acting(lambda manager, request: None)).verdict is Verdict.DIFFERS
