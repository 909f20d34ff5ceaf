# SPDX-License-Identifier: Apache-2.0
"""A program imports what it needs, and the live view's package is an extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kit.processes.programs import clean_environment

from controller_runtime.core.extras import remedy

pytestmark = pytest.mark.ends

DEAR = {"aiohttp", "cryptography", "rich", "pydantic", "kubernetes", "prometheus_client", "re2"}


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("from controller_runtime import run", id="run"),
        pytest.param("import controller_runtime.__main__, controller_runtime.program.cli_run", id="the commands"),
        pytest.param("import controller_runtime.program.program", id="a program with log lines"),
    ],
)
def test_a_program_imports_nothing_dear_that_it_does_not_need(statement: str) -> None:
    look = f"import sys; {statement}; print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)

    assert {*done.stdout.split()} & DEAR == set()
    assert not any(name.startswith("controller_runtime.testing") for name in done.stdout.split())


@pytest.mark.embedded("the program starts a server of its own")
def test_without_rich_a_program_runs_and_says_what_the_live_view_needs(tmp_path: Path) -> None:
    (tmp_path / "idle.py").write_text("def setup(manager):\n    pass\n")
    without = (
        "import importlib.util, sys\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'rich' else found(name, *more)\n"
        "sys.modules['rich'] = None\n"
        "import os, pty\n"
        "os.isatty = lambda descriptor: True\n"
        "from controller_runtime.__main__ import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", without, "run", "idle", "--live", "--duration", "0.1"]

    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert f"log lines are shown instead: {remedy('cli')}" in done.stderr
    assert done.stderr.endswith("stopped\n")
