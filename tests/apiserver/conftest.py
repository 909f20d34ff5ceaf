# SPDX-License-Identifier: Apache-2.0
"""An embedded server in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.apiserver.asking import Asking

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer


@pytest.fixture
def ask(sim: Simulation) -> Iterator[Asking]:
    """A client of a fresh server."""
    server = APIServer(sim.host("apiserver"))
    yield Asking(server)
    server.close()
