# SPDX-License-Identifier: Apache-2.0
"""A folder of records, replayed by another version: those that differ are listed by their changes, and no others."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from kit.incidents.recording import recorded
from kit.processes.commands import Ended, run_command

from controller_runtime.incidents.options import Incidents
from controller_runtime.program.cli_replay import replay_command
from controller_runtime.program.command import main
from controller_runtime.program.origin import Origin

pytestmark = pytest.mark.usefixtures("log_as_before")

PROGRAM = """
import helper
from controller_runtime import Controller, Manager, Reconciler, Request, Result
from controller_runtime.resources import CONFIG_MAPS


class Sizes(Reconciler):
    def __init__(self, manager: Manager) -> None:
        self.maps = manager.lister(CONFIG_MAPS, dict, namespace="default")
        self.client = manager.client

    def reconcile(self, request: Request) -> Result:
        found = self.maps.get(request)
        noted = helper.noted(found.get("data") or {})
        if request.name.startswith("m") and (found["metadata"].get("annotations") or {}) != noted:
            self.client.patch(CONFIG_MAPS, request, {"metadata": {"annotations": noted}})
        return Result()


class Counting(Sizes):
    count = 0

    def reconcile(self, request: Request) -> Result:
        found = self.maps.get(request)
        if request.name.startswith("c") and not found["metadata"].get("labels"):
            self.count += helper.STEP
            self.client.patch(CONFIG_MAPS, request, {"metadata": {"labels": {"count": f"n{self.count}"}}})
        return Result()


def setup(manager: Manager) -> None:
    for name, reconciler in (("sizes", Sizes(manager)), ("counting", Counting(manager))):
        manager.add(Controller(name, reconciler).watch(CONFIG_MAPS, namespace="default"))
"""
HELPER = """
STEP = 1


def noted(data):
    return {"size": str(len(data.get("x", ""))), "kind": "OLD" if "old" in data else "new"}
"""


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the program, beside a folder `all` of records that it made."""
    folder = tmp_path / "old"
    folder.mkdir()
    program = _program(folder, HELPER)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with recorded(Origin.parse(str(program)).load(), Incidents(folder=tmp_path / "records")) as recording:
        for number in range(12):
            data = {"x": "x" * number, **({"old": "1"} if number % 4 == 0 else {})}
            recording.create(f"m{number}", data)
        for number in range(3):
            recording.create(f"c{number}")
        recording.recorder.write_all()
    yield program
    for name in [*sys.modules]:
        if name.startswith(("counters", "helper")):
            del sys.modules[name]


def _program(folder: Path, helper: str) -> Path:
    (folder / "helper.py").write_text(helper, encoding="utf-8")
    path = folder / "counters.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def _newer(tmp_path: Path, helper: str) -> str:
    (tmp_path / "new").mkdir()
    _program(tmp_path / "new", helper)
    return "../new"


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ended:
    argv = ["../records", "--program", "counters.py", *arguments]
    return run_command(lambda: main(replay_command, argv, "replay"), capsys)


def test_the_calm_run_repeats_itself_but_for_the_controller_that_keeps_state(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = replayed(capsys)

    assert ended.status == 3
    assert "2 of counting differ, such as " in ended.stdout
    assert "  counting: PATCH configmaps: .metadata.labels.count" in ended.stdout
    assert "of sizes" not in ended.stdout


def test_a_change_in_one_field_lists_the_records_that_it_touches_and_no_others(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = _newer(tmp_path, HELPER.replace("OLD", "ancient"))
    ended = replayed(capsys, "--with", newer, "--undecided", "10", "--junit", "out.xml")

    assert ended.status == 3
    assert "3 of sizes differ, such as " in ended.stdout  # m0, m4 and m8
    assert "  sizes: PATCH configmaps: .metadata.annotations.kind\n" in ended.stdout
    assert "  sizes: PATCH configmaps: sent now\n" in ended.stdout  # after its own write, there was nothing to do
    assert ended.stdout.count("3 of sizes differ, such as ") == ended.stdout.count(" differ, such as ") == 2
    assert "2 of counting undecided: the present version does not repeat it either" in ended.stdout
    suite = ElementTree.parse("out.xml").getroot()
    failed = [case for case in suite if case.find("failure") is not None]
    assert [*map(len, (failed, suite))] == [6, int(suite.attrib["tests"])]
    assert {case.attrib["classname"] for case in failed} == {"sizes"}


def test_changes_that_are_meant_are_allowed_line_by_line(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = _newer(tmp_path, HELPER.replace("OLD", "ancient"))
    Path("meant").write_text(
        "# version 2\nsizes: PATCH configmaps: .metadata.annotations.kind\nsizes: PATCH configmaps: sent now\n\n"
        "sizes: DELETE pods: sent now\n",
        encoding="utf-8",
    )
    ended = replayed(capsys, "--with", newer, "--undecided", "10", "--allow", "meant")

    assert ended.status == 0, ended.stdout
    assert "6 allowed" in ended.stdout
    assert "allows nothing: sizes: DELETE pods: sent now" in ended.stdout


def test_more_undecided_records_than_are_allowed_fail(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = _newer(tmp_path, f"import uuid\n{HELPER}".replace('"kind": "OLD"', '"kind": str(uuid.uuid4())'))
    ended = replayed(capsys, "--with", newer)

    assert (ended.status, ended.stderr) == (4, "")
    assert "6 of sizes undecided: " in ended.stdout
    assert "helper.py:" in ended.stdout


def test_a_file_that_cannot_be_read_is_told_and_fails(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("../records/broken.json").write_text("{", encoding="utf-8")
    ended = replayed(capsys)

    assert ended.status == 1
    assert "not read: ../records/broken.json: not an incident" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--as-test",), "--as-test and --pdb are for one incident: name its file"),
        (("--allow", "nowhere"), "--allow nowhere: "),
        (("--with", "../nowhere.py"), "there is no file ../nowhere.py"),
    ],
)
def test_wrong_use_is_refused_in_one_line(
    old: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    ended = replayed(capsys, *arguments)

    assert (ended.status, ended.stderr.count("\n")) == (2, 1)
    assert message in ended.stderr


def test_a_record_of_which_one_change_is_not_allowed_differs(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = _newer(tmp_path, HELPER.replace("OLD", "ancient").replace("len(data", "1 + len(data"))
    lines = ("PATCH configmaps: .metadata.annotations.kind", "PATCH configmaps: sent now")
    Path("meant").write_text("\n".join(f"sizes: {each}" for each in lines), encoding="utf-8")
    ended = replayed(capsys, "--with", newer, "--undecided", "10", "--allow", "meant")

    assert ended.status == 3
    both = [f"  sizes: PATCH configmaps: .metadata.annotations.{field}\n" for field in ("size", "kind")]
    assert "".join(both) in ended.stdout  # one of the two is not allowed


def test_nothing_that_could_be_compared_is_no_success(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "x\x1b[2J.json").write_text(
        json.dumps({**decoded_first(tmp_path), "controller": "other\x1b[2J\x00"}), encoding="utf-8"
    )
    argv = ["../foreign", "--program", "counters.py", "--undecided", "100", "--junit", "out.xml"]
    ended = run_command(lambda: main(replay_command, argv, "replay"), capsys)

    assert (ended.status, ended.stderr) == (4, "")
    assert "undecided: the program has no controller" in ended.stdout
    assert "\x1b" not in ended.stdout
    assert len(ElementTree.parse("out.xml").getroot()) == 1
    Path("empty").mkdir()
    assert run_command(lambda: main(replay_command, ["empty", *argv[1:]], "replay"), capsys).status == 2


def decoded_first(tmp_path: Path) -> dict[str, object]:
    path = next((tmp_path / "records").rglob("*.json"))
    found: dict[str, object] = json.loads(path.read_bytes())
    return found
