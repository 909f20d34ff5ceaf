# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from kit.apiserver.talking import Talking

from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def talking(sim: Simulation) -> Talking:
    """Return a client of a server that runs a pod, under virtual time."""
    return Talking(sim.host("server"))
