# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of the manager."""

from __future__ import annotations

import socket

import pytest
from kit.manager.managing import Bench

from apimachinery.stop import Stop
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer


@pytest.fixture
def outward() -> str:
    """Return an address of this machine that is not a loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent: this only asks for the way
        except OSError:
            pytest.skip("this machine has no address but its loopback one")
        name: str = probe.getsockname()[0]
        return name


@pytest.fixture
def bench(sim: Simulation) -> Bench:
    host = sim.host("r0")
    return Bench(sim, host, Manager(host, InProcessTransport(host, APIServer(host))), Stop(host))
