# SPDX-License-Identifier: Apache-2.0
"""One embedded API server runs in a process of its own, for every peer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_runtime import SystemHost
from controller_runtime.testing import APIServerProcess


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    """The file that reaches the server."""
    with APIServerProcess(SystemHost()) as server:
        yield server.kubeconfig
