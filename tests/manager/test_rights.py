# SPDX-License-Identifier: Apache-2.0
"""The requests of a manager can be observed, and nothing is in their way if they are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apimachinery.http import HTTPRequest
from controller_runtime.api.resources import NODES
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.manager import rights
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.rights import observing
from controller_runtime.testing import Simulation
from embedded_apiserver.server import APIServer


def test_managers_of_the_block_are_observed_and_others_have_their_own_transport(
    sim: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rights, "_observers", [])  # this run may be one with `--rbac-record`
    host = sim.host("h")
    transport = InProcessTransport(host, APIServer(host))
    seen: list[tuple[Manager, str]] = []

    def observe(manager: Manager) -> Callable[[HTTPRequest], None]:
        return lambda request: seen.append((manager, request.method))

    before = Manager(host, transport)
    with observing(observe):
        during = Manager(host, transport)
    after = Manager(host, transport)
    for manager in (before, during, after):
        manager.client.list(NODES)

    assert seen == [(during, "GET")]
    assert before.transport.inner is transport
    assert after.transport.inner is transport
