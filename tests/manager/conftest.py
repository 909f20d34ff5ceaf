# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of the manager."""

from __future__ import annotations

import pytest
from kit.manager.managing import Bench

from apimachinery.stop import Stop
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer


@pytest.fixture
def bench(sim: Simulation) -> Bench:
    host = sim.host("r0")
    return Bench(sim, host, Manager(host, InProcessTransport(host, APIServer(host))), Stop(host))
