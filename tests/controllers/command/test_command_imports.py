# SPDX-License-Identifier: Apache-2.0
"""A command imports only what it needs itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

DEAR = {"aiohttp", "cryptography", "rich", "pydantic", "kubernetes", "prometheus_client"}


@pytest.mark.parametrize(
    "module",
    [
        pytest.param("controllers.command.cli", id="the command line itself"),
        pytest.param("controllers.command.cli_agent", id="the agent"),
    ],
)
def test_a_command_imports_nothing_dear_that_it_does_not_need(module: str) -> None:
    look = f"import sys, {module}; print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)

    assert {*done.stdout.split()} & DEAR == set()
