# SPDX-License-Identifier: Apache-2.0
"""Operators that misbehave in all ways that were met: each run ends as it should, says why, and leaves nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from kit.processes.commands import run_command

from controller_runtime.testing.perturbation.others.command import perturb

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="descendants are found on Linux alone")

HERE = Path(__file__).parent / "hostile"
OPERATOR = [sys.executable, "-S", str(HERE / "hostile_operator.py")]


class Case(NamedTuple):
    """A mode of the operator, its seconds, and the end of the command."""

    mode: str
    status: int
    text: str
    seconds: float = 1.0
    patience: float = 30.0
    story: str = "story.yaml"
    only: str = "crash after write 1"
    patterns: str = "crash,stale,missed"


FOREGROUND = "and its other processes run on: give the command that runs it in the foreground"
PROPERTIES = "properties_story.yaml"
QUICK = [
    Case(
        "ends-at-once", 2, "the operator has ended by itself with exit status 3; it printed:\n  no such flag: --metrics"
    ),
    Case("ends-later", 2, "the operator has ended by itself with exit status 4; it printed nothing"),
    Case("daemon", 2, FOREGROUND),
    Case("starts-slowly", 2, "the operator opened no watch within 1 s: raise --patience", seconds=60, patience=1),
]
LONG = [
    Case("exits-after-work", 2, "step 1 (`apply ConfigMap a`): the operator has ended by itself with exit status 3"),
    Case("never-settles", 2, "no rest came within 10 s: ", patience=10),
    Case("webhook", 2, 'Internal error occurred: failed calling webhook "hostile.example.com"', patience=10),
    Case("starts-slowly", 0, "1 passed", seconds=6, patience=20),
    Case("sleeps", 0, "1 passed", seconds=6, patience=20),
    Case("wrapper", 0, "1 passed", seconds=5, patience=20),
    Case("child", 0, "1 passed", patience=20),
    Case("child-in-a-session", 0, "1 passed", patience=20),
    Case("random", 1, "secrets default/s-a-* was created 2 times, and once in a calm run", patience=20),
    Case("drops", 0, "0 plans failed", seconds=2.5, patience=10),  # a race that shows if the user acts soon
    Case("namespace", 0, "1 passed", patience=20),
    Case("polls", 0, "1 passed", patience=20),
    Case("ignores-sigterm", 0, "1 passed", patience=20),
    Case("sleeps", 0, "1 passed", seconds=9, patience=30, story="until_story.yaml"),
    Case(
        "random",
        1,
        "startsWith('s-')).size() <= 1` does not hold step 1, after Secret default/s-a-",
        20,
        20,
        PROPERTIES,
    ),
    Case(
        "plain",
        0,
        'could not happen: step 2 (`patch Secret s-a`): it cannot be done: secrets "s-a" not found',
        patience=10,
        story="unseen_story.yaml",
        only="missed configmaps default/a at version 1",
    ),
    Case("notes-first", 1, "secrets default/s-a: there in a calm run, absent here", patience=20),
]


def processes_of(folder: Path) -> list[str]:
    """Return the processes whose kubeconfig lies in a folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"KUBECONFIG={folder}".encode() in each.read_bytes():
                found.append(each.parent.name)
        except OSError:
            continue  # it has ended, or is not ours
    return found


def check(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TMPDIR", str(folder))
    options = ["--story", str(HERE / case.story), "--only", case.only, "--patience", str(case.patience)]
    options += ["--patterns", case.patterns]
    command = [*OPERATOR, case.mode, str(case.seconds)]

    told = run_command(lambda: perturb.main([*options, "--", *command]), capsys)

    assert (told.status, case.text in told.stdout + told.stderr) == (case.status, True), told
    assert processes_of(folder) == []
    assert not [*folder.glob("perturb-*")]


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.mode)
def test_an_operator_that_cannot_be_run_is_an_error_that_says_why(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check(case, tmp_path, monkeypatch, capsys)


@pytest.mark.long
@pytest.mark.parametrize("case", LONG, ids=lambda case: f"{case.mode} {case.story}")
def test_a_hostile_operator_ends_as_it_should_and_leaves_nothing(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check(case, tmp_path, monkeypatch, capsys)


@pytest.mark.long
def test_work_that_outlives_its_operator_elsewhere_is_an_error_that_names_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = tmp_path / "engine"
    os.mkfifo(engine)
    monkeypatch.setenv("HOSTILE_ENGINE", str(engine))
    with subprocess.Popen([*OPERATOR, "engine"]) as container:
        try:
            text = "a process of the operator outlived its end, and asked for GET /api/v1/namespaces/default/configmaps"
            check(Case("container", 2, text, patience=10), tmp_path, monkeypatch, capsys)
        finally:
            container.kill()


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "status", "text"),
    [
        ("applies", 0, "1 passed"),
        ("merges", 1, "secrets default/w-a data.a: absent in a calm run, a value here"),
    ],
)
def test_what_an_earlier_state_leaves_behind_is_found_by_a_sequence_of_states(
    mode: str,
    status: int,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    only = "sequence 2 of widgets.example.com default/a"
    case = Case(mode, status, text, patience=5, only=only, story="widgets_story.yaml", patterns="sequence")
    check(case, tmp_path, monkeypatch, capsys)


@pytest.mark.long
@pytest.mark.parametrize(("after", "status"), [("Yg== YQ==", 0), ("YQ== " * 7, 1)], ids=["chance", "fault"])
def test_a_value_that_calm_runs_had_in_common_by_chance_fails_no_plan(
    after: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draws = tmp_path / "draws"
    draws.write_text(f"YQ== YQ== YQ== Yg== {after} YQ== Yg==", encoding="utf-8")  # calm, calm, perturbed, its successor
    monkeypatch.setenv("HOSTILE_DRAWS", str(draws))
    text = "1 plans failed" if status else "calm: not compared, as calm runs differ: secrets default/s-a data.n"

    check(
        Case("draws", status, text, patience=5, only="crash before write 1", story="one_story.yaml"),
        tmp_path,
        monkeypatch,
        capsys,
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("story", "text"),
    [
        ("story.yaml", "not compared, as this run differed before its fault: secrets default/s-a data.n"),
        ("drawn_story.yaml", "by the operator, before anything was perturbed"),
    ],
    ids=["value", "property"],
)
def test_what_a_run_shows_before_its_fault_is_not_put_down_to_the_fault(
    story: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draws = tmp_path / "draws"
    draws.write_text("YQ== YQ== Yg== Yg==", encoding="utf-8")  # calm, calm, perturbed, its successor
    monkeypatch.setenv("HOSTILE_DRAWS", str(draws))

    check(Case("draws", 0, text, patience=5, only="crash before write 2", story=story), tmp_path, monkeypatch, capsys)


def perturbed(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    """Run the command on an operator that notes what it has not done yet, and return its status and its output."""
    given = ["--story", str(HERE / "story.yaml"), "--patterns", "crash", *options]
    told = run_command(lambda: perturb.main([*given, "--", *OPERATOR, "notes-first", "1"]), capsys)
    return told.status, told.stdout + told.stderr


@pytest.mark.long
def test_plans_are_listed_and_none_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    status, listed = perturbed(capsys, "--list")

    assert status == 0
    assert "crash after write 1: step 1: the manager ended at its write 1" in listed
    assert "[1/" not in listed
    assert not [*tmp_path.iterdir()]


@pytest.mark.long
def test_plans_run_side_by_side_and_a_finding_is_confirmed_alone_and_written_as_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    only = ("--only", "crash after write 1", "--only", "crash before write 1", "--patience", "8")

    status, told = perturbed(capsys, *only, "--jobs", "2", "--baseline", "known.json", "--update-baseline")

    assert status == 1
    assert "crash after write 1: FAILED 2 of 2" in told
    assert "1 plans failed, 1 passed" in told
    (entry,) = json.loads((tmp_path / "known.json").read_text(encoding="utf-8"))
    assert "secrets default/s-a: there in a calm run, absent here" in " ".join(entry["complaints"])
