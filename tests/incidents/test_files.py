# SPDX-License-Identifier: Apache-2.0
"""Files of incidents: damaged, foreign, newer and hostile ones are refused in one line, and none brings code."""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.processes.commands import Ended, run_command

from apimachinery.errors import UsageError
from controller_runtime.incidents.files import Folder
from controller_runtime.incidents.incident import FORMAT, MOST_BYTES, decode
from controller_runtime.program.cli_replay import replay_command
from controller_runtime.program.command import main, run
from controller_runtime.program.origin import Origin
from controller_runtime.testing.perturbation.options import Script
from controller_runtime.testing.replay.file import read
from controller_runtime.testing.replay.many import files_in

pytestmark = pytest.mark.usefixtures("log_as_before")

WHOLE: dict[str, Any] = {
    "format": FORMAT,
    "version": 1,
    "writtenBy": "0.1.0",
    "controller": "maps",
    "name": "a",
    "namespace": "default",
    "started": "2026-01-01T00:00:00+00:00",
    "monotonic": 1.0,
    "took": 0.5,
    "end": {"outcome": "success"},
}
KIND = {"apiVersion": "v1", "kind": "ConfigMap", "plural": "configmaps"}
GET = {"type": "get", "kind": KIND, "name": "a", "namespace": "default", "version": "1", "body": 0}

DEEP = "[" * 100_000 + "]" * 100_000

BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not an incident: Input data was truncated"),
    "no JSON": (b"# a program\nimport os\n", "not an incident: JSON is malformed"),
    "not UTF-8": (b'{"format":"\xff"}', "not an incident"),
    "a list": (b"[1]", "not an incident"),
    "deep": (DEEP.encode(), "not an incident"),
    "foreign": (b'{"kind":"Pod"}', "not an incident: its field format is not"),
    "of --perturb": (b'{"test":"t","plan":{}}', "a plan of --perturb, not an incident: run `pytest --perturb-script"),
    "newer": (json.dumps({**WHOLE, "version": 2}).encode(), "an incident of version 2, and this library reads up to 1"),
    "no version": (json.dumps({**WHOLE, "version": "x"}).encode(), "its field version is not a number"),
    "cut off": (json.dumps(WHOLE).encode()[:-20], "not an incident"),
    "a field too few": (json.dumps({"format": FORMAT, "version": 1}).encode(), "a damaged incident: Object missing"),
    "a field too many": (json.dumps({**WHOLE, "code": "import os"}).encode(), "a damaged incident: Object contains"),
    "a wrong type": (json.dumps({**WHOLE, "took": "x"}).encode(), "a damaged incident: Expected `float`"),
    "a wrong step": (json.dumps({**WHOLE, "steps": [{"type": "exec"}]}).encode(), "a damaged incident: Invalid value"),
    "a wrong time": (json.dumps({**WHOLE, "started": "now"}).encode(), "a damaged incident: Invalid isoformat"),
    "no zone": (json.dumps({**WHOLE, "started": "2026-01-01T00:00:00"}).encode(), "has no zone"),
    "a body that is not there": (json.dumps({**WHOLE, "steps": [GET]}).encode(), "names a body that is not there"),
    "a body before the first": (json.dumps({**WHOLE, "steps": [{**GET, "body": -2}]}).encode(), "is not there"),
    "a body that is no object": (json.dumps({**WHOLE, "objects": [7]}).encode(), "a damaged incident: the object has"),
    "a deep body": (
        json.dumps({**WHOLE, "objects": [{}]}).replace("[{}]", f"[{DEEP}]").encode(),
        "maximum recursion depth",
    ),
    "a version of 5,000 digits": (
        json.dumps({**WHOLE, "objects": [{"metadata": {"name": "a", "resourceVersion": "9" * 5000}}]}).encode(),
        "an object has a resourceVersion that no server gives",
    ),
    "a clock without text": (
        json.dumps({**WHOLE, "steps": [{"type": "time", "clock": "now", "at": 5}]}).encode(),
        "5.0 is no time of the clock now",
    ),
    "seconds that are text": (
        json.dumps({**WHOLE, "steps": [{"type": "time", "clock": "elapsed", "at": "2026"}]}).encode(),
        "'2026' is no time of the clock elapsed",
    ),
    "an answer after an age": (
        json.dumps(
            {**WHOLE, "steps": [{"type": "request", "method": "GET", "path": "/", "query": [], "at": 1e300}]}
        ).encode(),
        "an answer after 1e+300 s",
    ),
    "too long": (b" " * (MOST_BYTES + 1), "it is longer than 1048576 bytes"),
    "a number too large": (json.dumps(WHOLE).replace("0.5", "1e999").encode(), "incident"),
}


@pytest.mark.parametrize(("raw", "text"), BAD.values(), ids=[*BAD])
def test_a_file_that_is_no_incident_is_refused_in_one_line(raw: bytes, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        decode(raw, "x.json")

    assert text in str(caught.value)
    assert str(caught.value).startswith("x.json: ")
    assert str(caught.value).isprintable()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")

    with pytest.raises(UsageError, match=r"x\.json: not an incident: it is no file"):
        read(tmp_path / "x.json")


def test_a_file_has_its_name_once_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*_arguments: object) -> None:
        raise KeyboardInterrupt  # the process ends before the file has its name

    monkeypatch.setattr(Path, "rename", end)
    with pytest.raises(KeyboardInterrupt):
        Folder(tmp_path).write("maps", datetime(2026, 1, 1, tzinfo=UTC), b"whole")

    with pytest.raises(UsageError, match=r"has no file \*\.json"):
        files_in(tmp_path)


def test_the_part_of_a_process_that_was_killed_is_left_alone_and_its_name_is_not_used(tmp_path: Path) -> None:
    folder, at = Folder(tmp_path), datetime(2026, 1, 1, tzinfo=UTC)
    (tmp_path / "maps-2026-01-01T00-00-00.part").write_bytes(b"{")  # of a process that was killed

    path = folder.write("maps", at, b"whole")
    again = folder.write("maps", at, b"again")

    assert [each.name for each in (path, again)] == [
        "maps-2026-01-01T00-00-00-2.json",
        "maps-2026-01-01T00-00-00-3.json",
    ]
    assert [each.read_bytes() for each in files_in(tmp_path)] == [b"whole", b"again"]
    assert [each.name for each in tmp_path.glob("*.part")] == ["maps-2026-01-01T00-00-00.part"]


def test_a_whole_one_is_read() -> None:
    assert decode(json.dumps(WHOLE).encode(), "x").request == "default/a"


@settings(max_examples=50)
@given(st.binary(max_size=60), st.integers(0, 300))
def test_no_damage_ends_in_another_error(noise: bytes, at: int) -> None:
    raw = json.dumps({**WHOLE, "steps": [GET]}).encode()
    with contextlib.suppress(UsageError):
        decode(raw[:at] + noise + raw[at + len(noise) :], "x")


def test_perturbation_refuses_an_incident_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(WHOLE), encoding="utf-8")

    with pytest.raises(UsageError, match="it is an incident, which `replay FILE` runs again"):
        Script.read(tmp_path, "x.json")


PROGRAM = """
from controller_runtime import Controller, Manager, Reconciler, Request, Result, run
from controller_runtime.api.builtin_resources import CONFIG_MAPS


class Maps(Reconciler):
    def __init__(self, manager: Manager) -> None:
        self.maps = manager.lister(CONFIG_MAPS, dict)

    def reconcile(self, request: Request) -> Result:
        self.maps.get(request)["data"]["size"]
        return Result()


def setup(manager: Manager) -> None:
    manager.add(Controller("maps", Maps(manager)).watch(CONFIG_MAPS))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the program that fails, in the current folder, beside its incident `maps.json`."""
    failed = {"outcome": "panic", "error": {"type": "KeyError", "text": "'size'", "stack": ""}}
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1"},
        "data": {},
    }
    incident = {**WHOLE, "end": failed, "steps": [GET], "objects": [body]}
    (tmp_path / "maps.json").write_text(json.dumps(incident), encoding="utf-8")
    path = tmp_path / "failing_maps.py"
    path.write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return path


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ended:
    return run_command(lambda: main(replay_command, arguments, "replay"), capsys)


def test_the_command_replays_and_says_so_by_its_status(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = replayed(capsys, "maps.json", "--program", program.name)
    program.write_text(PROGRAM.replace('["size"]', '.get("size")'), encoding="utf-8")
    differs = replayed(capsys, "maps.json", "--program", program.name)

    assert (same.status, differs.status) == (0, 3)
    assert "= panic: KeyError: 'size'" in same.stdout
    assert "verdict: same" in same.stdout
    assert "+ success" in differs.stdout


def test_a_test_of_an_incident_fails_until_it_is_repaired(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replayed(capsys, "maps.json", "--program", program.name, "--as-test").status == 0
    again = replayed(capsys, "maps.json", "--program", program.name, "--as-test")
    assert "test_maps.py is there already" in again.stderr

    def run() -> None:
        sys.modules.pop("failing_maps", None)
        runpy.run_path("test_maps.py")["test_maps"]()

    with pytest.raises(AssertionError, match="verdict: same"):
        run()
    program.write_text(PROGRAM.replace('["data"]["size"]', '["data"].get("a_size", "")'), encoding="utf-8")
    run()


def test_a_file_or_a_program_that_is_not_there_is_wrong_use(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = replayed(capsys, "nowhere.json", "--program", program.name)
    without = replayed(capsys, "maps.json")

    assert (missing.status, missing.stderr) == (2, "replay: nowhere.json: No such file or directory\n")
    assert (without.status, without.stderr.count("\n")) == (2, 1)


def test_a_program_replays_by_its_own_command(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = run_command(lambda: run(Origin.parse(program.name).load(), argv=["replay", "maps.json"]), capsys)

    assert (ended.status, "verdict: same" in ended.stdout) == (0, True)
