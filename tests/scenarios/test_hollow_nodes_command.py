# SPDX-License-Identifier: Apache-2.0
"""`controllers hollow-nodes` as a user meets it: a process that runs, and commands to it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ends


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "controllers", "hollow-nodes", *arguments]


def test_nodes_are_killed_and_revived_while_they_run(tmp_path: Path, where: list[str]) -> None:
    control = ["--control", str(tmp_path / "control.sock")]
    with subprocess.Popen(command("--count", "3", *where, *control), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "hollow nodes registered" in line)

        outcomes = [
            subprocess.run(command(do, *which, *control), capture_output=True, text=True, check=False)
            for do, which in (("kill", ["hollow-00001"]), ("revive", ["--random", "5"]), ("pause", ["nobody"]))
        ]
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate()

    assert [(each.returncode, each.stdout) for each in outcomes] == [(0, "hollow-00001\n")] * 2 + [(2, "")]
    assert process.returncode == 0
    assert "Traceback" not in rest
    assert re.search("hollow nodes killed.* nodes=1", rest)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param([], "--count is required", id="no count"),
        pytest.param(["--count", "0"], "not in the range", id="none"),
        pytest.param(["--count", "1", "--embedded", "--kubeconfig", "x"], "exclude each other", id="two clusters"),
        pytest.param(["--count", "1", "--context", "x"], "--context needs --kubeconfig", id="context without a file"),
        pytest.param(["kill"], "name hollow nodes", id="nobody named"),
        pytest.param(["kill", "x", "--control", "nowhere.sock"], "no hollow nodes run at nowhere.sock", id="none run"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments: list[str], says: str) -> None:
    outcome = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)

    assert outcome.returncode == 2
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr
    assert says in outcome.stderr
