# SPDX-License-Identifier: Apache-2.0
"""The command that runs many seeds, and repeats the failure that it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from kit.simulate import main
from kit.simulation.planted import NeverLapses
from kit.simulation.planted_caches import TellsOfNoDeletions

from controller_runtime.cache import informer
from controller_runtime.election import elector

pytestmark = pytest.mark.once


class Outcome(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


class Command:
    """Runs the command in this process; unlike click's runner, it separates the streams in every release of click."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def run(self, *arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        assert isinstance(ended.value.code, int)
        return Outcome(ended.value.code, *self._capsys.readouterr())


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def test_seeds_that_hold_end_well(command: Command) -> None:
    outcome = command.run("--seeds", "2", "--first", "7", "--profile", "calm")

    assert (outcome.exit_code, outcome.stdout + outcome.stderr) == (0, "2 seeds: everything held\n")


def test_a_failure_prints_a_script_that_fails_again(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    with monkeypatch.context() as patch:
        patch.setattr(elector, "Term", NeverLapses)

        first = command.run("--seeds", "10", "--profile", "freezes")
        script.write_text(first.stdout)
        again = command.run("--script", str(script))
    mended = command.run("--script", str(script))

    assert first == again
    assert first.exit_code == 1
    assert json.loads(first.stdout)["invariant"] in first.stderr
    assert mended.exit_code == 0
    assert (mended.stdout + mended.stderr).endswith("faults: everything held\n")


def test_another_system_can_be_run_and_its_failure_runs_again(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    assert command.run("--system", "caches", "--seeds", "2").stdout == "2 seeds: everything held\n"
    monkeypatch.setattr(informer, "Store", TellsOfNoDeletions)

    first = command.run("--system", "caches", "--seeds", "30", "--profile", "backups")
    script.write_text(first.stdout)
    again = command.run("--script", str(script))

    assert json.loads(first.stdout)["system"] == "caches"
    assert (again.exit_code, again.stdout) == (1, first.stdout)


def test_a_profile_of_another_system_is_bad_usage(command: Command) -> None:
    outcome = command.run("--system", "caches", "--profile", "freezes")

    assert outcome.exit_code == 2
    assert "caches have no profile 'freezes': give some of broad, lagging" in outcome.stderr


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"system": "solar", "seed": 1, "faults": []}',
        '{"seed": 1, "faults": [["thunder", "r0", 1, 2]]}',
    ],
)
def test_a_file_that_is_no_script_is_bad_usage(command: Command, text: str, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(text)

    outcome = command.run("--script", str(script))

    assert outcome.exit_code == 2
    assert "is not a script of this command" in outcome.stderr
