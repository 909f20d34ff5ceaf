# SPDX-License-Identifier: Apache-2.0
"""The list of recorded reconciles at `/debug/reconciles`, and the report of SIGUSR1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit.incidents.recording import Recording, acting, recorded

from apimachinery.errors import TerminalError, UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.controller.reconciler import Request
from controller_runtime.incidents.incident import decode
from controller_runtime.incidents.options import Incidents
from controller_runtime.manager.endpoints import debug_answer
from controller_runtime.manager.manager import Manager
from controller_runtime.program.incidents import incidents_of, reported
from controller_runtime.program.plan import ProgramOptions, plan_program


def failing(manager: Manager, request: Request) -> None:
    raise TerminalError("no good")


def asked(recording: Recording, *query: tuple[str, str], is_local: bool = True) -> HTTPResponse:
    answer = debug_answer(recording.manager)(HTTPRequest("GET", "/debug/reconciles", query), is_local)
    assert isinstance(answer, HTTPResponse)
    return answer


def test_reconciles_are_listed_and_downloaded() -> None:
    with recorded(acting(failing)) as recording:
        recording.create()
        (shown,) = json.loads(asked(recording).body)
        download = asked(recording, ("number", "1"))

    assert (shown["number"], shown["controller"], shown["request"]) == (1, "maps", "default/a")
    assert (shown["outcome"], shown["error"], shown["reasons"]) == (
        "terminal_error",
        "TerminalError: no good",
        ["terminal error"],
    )
    assert decode(download.body, "download").request == "default/a"
    assert download.headers["content-disposition"] == 'attachment; filename="maps-2026-01-01T00-00-00.json"'


def test_what_is_kept_no_more_is_not_found() -> None:
    with recorded(acting(failing)) as recording:
        assert asked(recording, ("number", "7")).status == 404
        assert asked(recording, ("number", "x")).status == 404


def test_another_machine_gets_nothing() -> None:
    with recorded(acting(failing)) as recording:
        recording.create()
        assert asked(recording, is_local=False).status == 403
        assert asked(recording, ("number", "1"), is_local=False).status == 403


def test_a_manager_that_records_nothing_says_how_it_would() -> None:
    with recorded(acting(failing)) as recording:
        plain = Manager(recording.host, recording.transport)
        answer = debug_answer(plain)(HTTPRequest("GET", "/debug/reconciles"), True)

    assert isinstance(answer, HTTPResponse)
    assert answer.status == 404
    assert b"--incidents FOLDER" in answer.body


def test_the_report_of_a_signal_writes_all_that_is_kept(tmp_path: Path) -> None:
    with recorded(acting(failing), incidents_of(tmp_path)) as recording:
        recording.create()
        told = reported(recording.manager)

    assert told.endswith(f"incidents: 1 in {tmp_path / 'all-2026-01-01T00-00-00'}")


def test_the_report_says_that_there_is_no_folder() -> None:
    with recorded(acting(failing), Incidents()) as recording:
        assert reported(recording.manager).endswith("incidents: none are written, since there is no folder")


def test_a_program_without_the_option_records_nothing() -> None:
    assert incidents_of(None) is None


def test_a_folder_below_nothing_is_refused_before_the_program_starts() -> None:
    with pytest.raises(UsageError, match=r"^--incidents /nowhere/at/all: there is no folder /nowhere/at$"):
        plan_program(
            ProgramOptions(embedded=True, incidents=Path("/nowhere/at/all")), in_pod=False, lease_name="program"
        )
