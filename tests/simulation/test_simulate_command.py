# SPDX-License-Identifier: Apache-2.0
"""The command that walks seeds: what it prints can be run again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from planted import NeverLapses

from controller_runtime.election import elector
from controller_runtime.testing.simulate import main


def test_seeds_that_hold_end_well() -> None:
    outcome = CliRunner().invoke(main, ["--seeds", "2", "--first", "7", "--profile", "calm"])

    assert (outcome.exit_code, outcome.output) == (0, "2 seeds: everything held\n")


def test_a_failure_prints_a_script_that_fails_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(elector, "Term", NeverLapses)

        outcome = CliRunner().invoke(main, ["--seeds", "10", "--profile", "freezes"])
        script = tmp_path / "script.json"
        script.write_text(outcome.stdout)
        again = CliRunner().invoke(main, ["--script", str(script)])
    mended = CliRunner().invoke(main, ["--script", str(script)])

    assert outcome.exit_code == again.exit_code == 1
    assert outcome.output == again.output
    assert json.loads(outcome.stdout)["invariant"] in outcome.stderr
    assert mended.exit_code == 0
    assert mended.output.endswith("faults: everything held\n")


@pytest.mark.parametrize("text", ["", "{}", '{"seed": 1, "faults": [["thunder", "r0", 1, 2]]}'])
def test_a_file_that_is_no_script_is_bad_usage(text: str, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(text)

    outcome = CliRunner().invoke(main, ["--script", str(script)])

    assert outcome.exit_code == 2
    assert "is no script of this command" in outcome.stderr
