# SPDX-License-Identifier: Apache-2.0
"""The recorder: what it keeps of a reconcile, for how long, within which bounds, and what it leaves in files."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from kit.incidents.recording import A, acting, acting_later, recorded

from apimachinery.errors import ConnectionLost, TerminalError, UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.attempts import current_attempt
from controller_runtime.incidents.attempt import MOST_LINES
from controller_runtime.incidents.bounds import LONG, MOST_KEPT
from controller_runtime.incidents.files import MOST_FILES, MOST_OF_PLACE
from controller_runtime.incidents.incident import (
    MOST_BYTES,
    Ask,
    Get,
    Incident,
    Select,
    Sent,
    Stream,
    Time,
    compact,
    decode,
)
from controller_runtime.incidents.options import Incidents
from controller_runtime.manager.manager import Manager

log = get_logger(__name__)


def incident_of(act: Any, **options: Any) -> Incident:
    """Return the record of the first reconcile that a new config map causes."""
    with recorded(acting(act, **options)) as recording:
        recording.create(data={"x": "1"})
        return recording.first().incident()


def test_a_read_of_a_cache_is_recorded_with_its_version_and_body() -> None:
    def act(manager: Manager, request: Request) -> None:
        maps = manager.lister(CONFIG_MAPS, dict, namespace="default")
        assert maps.get(request) is not None
        assert maps.get(ObjectKey("b", "default")) is None
        assert len(maps.list("default")) == 1

    incident = incident_of(act)

    found, absent, listed = incident.steps
    assert isinstance(found, Get)
    assert isinstance(absent, Get)
    assert isinstance(listed, Select)
    assert json.loads(bytes(incident.objects[found.body]))["data"] == {"x": "1"}
    assert (absent.version, absent.body) == ("", -1)
    assert listed.found == [("a", "default", found.version, found.body)]
    assert (incident.controller, incident.request, incident.end.outcome) == ("maps", "default/a", "success")
    assert incident.causes[0].startswith("configmaps")


def test_an_object_that_is_read_twice_is_kept_once_and_shared_with_the_cache() -> None:
    def act(manager: Manager, request: Request) -> None:
        for _ in range(3):
            manager.lister(CONFIG_MAPS, dict, namespace="default").get(request)

    assert len(incident_of(act).objects) == 1


def test_each_other_question_to_a_cache_is_recorded() -> None:
    def act(manager: Manager, request: Request) -> None:
        maps = manager.lister(CONFIG_MAPS, dict, namespace="default")
        assert len(maps) == 1
        assert not maps.behind("1")
        assert maps.wait_for("1", 1.0)
        assert maps.fresh(120.0) is maps
        assert not maps.is_partial
        assert maps.version

    asked = [step.what for step in incident_of(act).steps if isinstance(step, Ask)]

    assert asked == ["count", "behind 1", "wait_for 1", "wait_until_fresh 120", "is_partial", "version"]


def test_requests_and_their_answers_are_recorded_without_credentials() -> None:
    def act(manager: Manager, request: Request) -> None:
        manager.client.patch(CONFIG_MAPS, request, {"data": {"y": "2"}})

    steps = incident_of(act).steps
    (sent,) = [step for step in steps if isinstance(step, Sent)]

    assert (sent.method, sent.path, sent.status) == ("PATCH", "/api/v1/namespaces/default/configmaps/a", 200)
    assert json.loads(bytes(sent.body)) == {"data": {"y": "2"}}
    assert json.loads(bytes(sent.answer))["data"] == {"x": "1", "y": "2"}
    assert {*sent.headers} <= {"content-type", "accept"}


def test_requests_that_fail_are_recorded_with_their_error() -> None:
    def act(manager: Manager, request: Request) -> None:
        manager.client.patch(CONFIG_MAPS, request, {"data": {"y": "2"}})

    with recorded(acting(act)) as recording:
        failures: list[Any] = [ConnectionLost("cut"), HTTPResponse(503, {"retry-after": "1"}, b"not JSON")]
        recording.transport.fail = lambda request: failures.pop(0) if request.method == "PATCH" and failures else None
        recording.create()
        recording.simulation.advance(5.0)
        answered, cut = [each.incident() for each in recording.recorder.all() if each.reasons]

    (lost,) = cut.steps
    (refused,) = answered.steps
    assert isinstance(lost, Sent)
    assert isinstance(refused, Sent)
    assert lost.error is not None
    assert (lost.status, lost.error.type, lost.error.text) == (0, "ConnectionLost", "cut")
    assert (refused.status, refused.text, refused.answer_headers) == (503, "not JSON", {"retry-after": "1"})
    assert cut.end.outcome == "error"


def test_times_and_random_numbers_asked_of_the_managers_host_are_recorded() -> None:
    drawn: list[object] = []

    def act(manager: Manager, request: Request) -> None:
        drawn[:] = [manager.host.now(), manager.host.monotonic(), manager.host.random.random(), manager.host.uuid()]

    incident = incident_of(act)

    now, monotonic = incident.steps
    assert isinstance(now, Time)
    assert isinstance(monotonic, Time)
    assert (now.at, monotonic.at) == (drawn[0].isoformat(), drawn[1])  # type: ignore[attr-defined]
    assert incident.seed


def test_what_a_reconcile_draws_follows_from_its_seed_alone() -> None:
    drawn: list[float] = []

    def act(manager: Manager, request: Request) -> None:
        drawn.append(manager.host.random.gauss())
        manager.host.random.gauss(5.0, 2.0)  # two numbers are made at once
        drawn.append(manager.host.random.gauss(5.0, 2.0))

    with recorded(acting(act)) as recording:
        recording.create("a")
        recording.create("b")
        seeds = [each.incident().seed for each in reversed(recording.recorder.all())]

    expected = []
    for seed in seeds:
        chance = Random(seed)
        expected += [chance.gauss(), [chance.gauss(5.0, 2.0) for _ in range(2)][1]]
    assert drawn == expected


def test_outside_of_a_reconcile_the_managers_host_is_the_one_given() -> None:
    with recorded(acting(lambda manager, request: None)) as recording:
        host = recording.manager.host
        assert (host.now(), host.monotonic()) == (recording.host.now(), recording.host.monotonic())
        assert 0 <= host.random.random() < 1
        assert host.uuid()


def test_lines_of_the_log_are_recorded_without_what_all_of_them_have(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def act(manager: Manager, request: Request) -> None:
        log.info("scaled", replicas=3)
        logging.getLogger("theirs").warning("careful %s", "now")

    lines = incident_of(act).lines

    assert [(line.level, line.text) for line in lines] == [("info", "scaled replicas=3"), ("warning", "careful now")]


def test_a_coroutine_is_recorded_as_a_thread_is() -> None:
    async def act(manager: Manager, request: Request) -> None:
        maps = manager.lister(CONFIG_MAPS, dict, namespace="default")
        assert maps.get(request) is not None
        await asyncio.gather(
            manager.async_client.patch(CONFIG_MAPS, request, {"data": {"y": "2"}}),
            manager.async_client.patch(CONFIG_MAPS, request, {"data": {"z": "3"}}),
        )

    with recorded(acting_later(act)) as recording:
        recording.create()
        incident = recording.recorder.all()[-1].incident()

    assert [type(step).__name__ for step in incident.steps] == ["Get", "Sent", "Sent"]


def test_coroutines_that_run_at_the_same_time_do_not_mix() -> None:
    async def act(manager: Manager, request: Request) -> None:
        maps = manager.lister(CONFIG_MAPS, dict, namespace="default")
        for _ in range(3):
            assert maps.get(request) is not None
            await asyncio.sleep(1.0)

    with recorded(acting_later(act, workers=2)) as recording:
        recording.create("a")
        recording.create("b")
        recording.simulation.advance(10.0)
        incidents = [each.incident() for each in recording.recorder.all()]

    assert {
        (incident.name, *(step.name for step in incident.steps if isinstance(step, Get))) for incident in incidents
    } == {("a", "a", "a", "a"), ("b", "b", "b", "b")}


def test_nothing_is_recorded_of_a_thread_that_its_reconcile_left_behind() -> None:
    def act(manager: Manager, request: Request) -> None:
        maps = manager.lister(CONFIG_MAPS, dict, namespace="default")
        maps.get(request)
        attempt = current_attempt()
        assert attempt is not None
        left.append(lambda: attempt.get(CONFIG_MAPS, A, maps.source.get))

    left: list[Any] = []
    with recorded(acting(act)) as recording:
        recording.create()
        left[0]()
        assert len(recording.first().incident().steps) == 1


def transports_of(manager: Manager) -> list[str]:
    """Return the names of the classes through which a request of the manager's client passes."""
    found, transport = [], manager.client.transport
    while transport is not None:
        found.append(type(transport).__name__)
        transport = getattr(transport, "inner", None)
    return found


def test_a_manager_without_incidents_has_no_hook() -> None:
    with recorded(acting(lambda manager, request: None)) as recording:
        plain = Manager(recording.host, recording.transport)
        assert plain.incident_recorder is None
        assert plain.host is recording.host
        assert "AttemptTransport" not in transports_of(plain)
        assert "AttemptTransport" in transports_of(recording.manager)


# How long records are kept, and within which bounds.


def test_failures_are_kept_when_later_successes_have_filled_the_memory() -> None:
    def act(manager: Manager, request: Request) -> None:
        manager.lister(CONFIG_MAPS, dict, namespace="default").get(request)
        if request.name == "bad":
            raise TerminalError("bad")

    with recorded(acting(act), Incidents(memory=MOST_BYTES)) as recording:
        for number in range(5):  # the slowest are kept as well, and here all are as slow
            recording.create(f"first{number}")
        recording.create("bad")
        for number in range(60):
            recording.create(f"m{number}", {"x": "x" * 20_000})
        kept = recording.recorder.all()
        assert recording.recorder.size <= MOST_BYTES

    assert [(each.request, each.reasons) for each in kept if each.reasons] == [("default/bad", ["terminal error"])]
    assert len(kept) < 66


def test_late_reconciles_and_the_slowest_are_kept_longer() -> None:
    def act(manager: Manager, request: Request) -> None:
        manager.lister(CONFIG_MAPS, dict, namespace="default").get(request)
        if request.name in ("late", "slow"):
            manager.stopping.wait(10.0 if request.name == "late" else 4.0)

    with recorded(acting(act, reconcile_timeout=5.0), Incidents(memory=MOST_BYTES)) as recording:
        recording.create("slow")
        recording.simulation.advance(5.0)
        recording.create("late")
        recording.simulation.advance(15.0)
        for number in range(60):
            recording.create(f"m{number}", {"x": "x" * 20_000})
        kept = {each.request: each.reasons for each in recording.recorder.all()}

    assert "timeout" in kept["default/late"]
    assert not kept["default/slow"]


def test_one_reconcile_keeps_no_more_than_a_file_may_hold() -> None:
    def act(manager: Manager, request: Request) -> None:
        maps = manager.lister(CONFIG_MAPS, dict, namespace="default")
        if request.name == "m9":
            for _ in range(3):
                maps.get(ObjectKey("m0", "default"))
            maps.list()
            for number in range(1, 9):
                maps.get(ObjectKey(f"m{number}", "default"))

    with recorded(acting(act)) as recording:
        for number in range(10):
            recording.create(f"m{number}", {"x": "x" * 500_000})
        kept = recording.recorder.all()[0]
        incident, raw = kept.incident(), kept.file()

    assert kept.size <= MOST_KEPT
    assert raw is not None
    assert len(raw) <= MOST_BYTES
    assert json.loads(raw) == json.loads(compact(incident))
    assert any("reads" in cut for cut in incident.cut)


def test_an_object_too_large_for_a_record_is_left_out_and_said() -> None:
    def act(manager: Manager, request: Request) -> None:
        manager.lister(CONFIG_MAPS, dict, namespace="default").get(request)

    with recorded(acting(act)) as recording:
        recording.create("a", {"x": "x" * 1_000_000})
        incident = recording.first().incident()

    assert (incident.steps, incident.cut) == ([], ["1 reads"])


def test_of_many_keys_no_bodies_are_kept() -> None:
    def act(manager: Manager, request: Request) -> None:
        maps = manager.lister(CONFIG_MAPS, dict, namespace="default")
        if request.name == f"m{LONG}":
            maps.keys()

    with recorded(acting(act)) as recording:
        for number in range(LONG + 1):
            recording.create(f"m{number}")
        incident = recording.recorder.all()[0].incident()

    (keys,) = incident.steps
    assert isinstance(keys, Select)
    assert (len(keys.found), incident.objects) == (LONG + 1, [])


def test_lines_beyond_the_most_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def act(manager: Manager, request: Request) -> None:
        for number in range(MOST_LINES + 3):
            log.info("line", number=number)

    incident = incident_of(act)

    assert (len(incident.lines), incident.cut) == (MOST_LINES, ["3 lines of the log"])


def test_a_stream_makes_a_record_incomplete() -> None:
    def act(manager: Manager, request: Request) -> None:
        path = "/api/v1/namespaces/default/configmaps"
        manager.client.transport.stream(
            HTTPRequest("GET", path, (("watch", "true"),)), manager.host.monotonic() + 1
        ).close()

    incident = incident_of(act)

    assert Stream("/api/v1/namespaces/default/configmaps") in incident.steps
    assert incident.cut == ["1 streams"]


# Files.


def test_an_error_with_its_stack_leaves_a_file_that_its_owner_alone_may_read(tmp_path: Path) -> None:
    def act(manager: Manager, request: Request) -> None:
        raise KeyError("size")

    with recorded(acting(act), Incidents(folder=tmp_path / "incidents")) as recording:
        recording.create()
        (path,) = (tmp_path / "incidents").iterdir()

    incident = decode(path.read_bytes(), path.name)
    assert path.name == "maps-2026-01-01T00-00-00.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert incident.end.error is not None
    assert (incident.end.outcome, incident.end.error.type, incident.end.error.text) == ("panic", "KeyError", "'size'")
    assert "act" in incident.end.error.stack


def test_errors_of_one_place_leave_few_files(tmp_path: Path) -> None:
    def act(manager: Manager, request: Request) -> None:
        raise KeyError(request.name)

    with recorded(acting(act), Incidents(folder=tmp_path)) as recording:
        recording.create("again")
        recording.simulation.advance(5.0)  # its retries leave no further files
        assert len([*tmp_path.iterdir()]) == 1
        for number in range(MOST_OF_PLACE + 2):
            recording.create(f"m{number}")

    assert len([*tmp_path.iterdir()]) == MOST_OF_PLACE


def test_a_folder_that_is_full_gets_no_further_file(tmp_path: Path) -> None:
    for number in range(MOST_FILES):
        (tmp_path / f"{number}.json").touch()

    def act(manager: Manager, request: Request) -> None:
        raise KeyError(request.name)

    with recorded(acting(act), Incidents(folder=tmp_path)) as recording:
        recording.create()

    assert len([*tmp_path.iterdir()]) == MOST_FILES


def test_expected_errors_leave_no_file(tmp_path: Path) -> None:
    def act(manager: Manager, request: Request) -> None:
        raise TerminalError("as it should be")

    with recorded(acting(act), Incidents(folder=tmp_path)) as recording:
        recording.create()

    assert [*tmp_path.iterdir()] == []


def test_all_that_is_kept_can_be_written(tmp_path: Path) -> None:
    with recorded(acting(lambda manager, request: None), Incidents(folder=tmp_path)) as recording:
        recording.create("a")
        recording.create("b")
        told = recording.recorder.write_all()
        (folder,) = tmp_path.iterdir()

    assert told == f"incidents: 2 in {folder}"
    assert {decode(path.read_bytes(), path.name).name for path in folder.iterdir()} == {"a", "b"}


def test_a_folder_that_is_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"^--incidents .*/file: .*: name a folder, or one that can be made(\n|$)"):
        recorded(acting(lambda manager, request: None), Incidents(folder=tmp_path / "file")).__enter__()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="nothing can be written"):
        recorded(acting(lambda manager, request: None), Incidents(folder=tmp_path)).__enter__()


def test_less_memory_than_one_record_is_refused() -> None:
    with pytest.raises(ValueError, match="memory"):
        Incidents(memory=1000)
