# SPDX-License-Identifier: Apache-2.0
"""The fields of a lease that a coordinated election reads."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery.errors import Invalid
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer


def create(sim: Simulation, spec: dict[str, Any]) -> dict[str, Any]:
    """Create a lease, and return its spec as stored."""
    host = sim.host("server")
    client = Client(host, InProcessTransport(host, APIServer(host)))
    stored = client.create(LEASES, {"metadata": {"name": "lease", "namespace": "default"}, "spec": spec})
    return client.get(LEASES, stored.key, dict)["spec"]


@pytest.mark.scenario("D-36")
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"leaseDurationSeconds": 0}, id="no duration"),
        pytest.param({"leaseTransitions": -1}, id="less than no transitions"),
        pytest.param({"preferredHolder": "a"}, id="preferred by nobody"),
        pytest.param({"strategy": "foobar"}, id="unknown"),
        pytest.param({"strategy": "a.com/b/c"}, id="two slashes"),
    ],
)
def test_a_lease_that_makes_no_sense_is_refused(sim: Simulation, spec: dict[str, Any]) -> None:
    """Durations of 0, negative transitions, unknown strategies, and preferences without one are answered 422."""
    with pytest.raises(Invalid):
        create(sim, spec)


@pytest.mark.scenario("D-36")
def test_a_strategy_of_somebodys_own_is_taken(sim: Simulation) -> None:
    """A strategy with a DNS prefix is accepted, also with a preferred holder."""
    spec = {"strategy": "a.com/b", "preferredHolder": "a"}

    assert create(sim, spec) == spec
