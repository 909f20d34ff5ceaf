# SPDX-License-Identifier: Apache-2.0
"""Two members that believe at once that they publish cannot both: an assignment is written over the one it follows."""

from __future__ import annotations

import pytest

from apimachinery.errors import AlreadyExists, Conflict
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.ring.assignment import NOBODY
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.objects import RingObjects
from controller_runtime.ring.records import Assignment
from controller_runtime.ring.slots import SLOTS
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

NOTHING = Assignment(0, (NOBODY,) * SLOTS, (0,) * SLOTS)


def publishers(sim: Simulation) -> tuple[SimulatedHost, list[RingObjects]]:
    """Return a host, and two members on it that reach one server."""
    host, server = sim.host("r0"), APIServer(sim.host("server"))
    clients = [Client(host, InProcessTransport(host, server)) for _ in range(2)]
    configs = [RingConfig(name="ring", namespace="default", identity=name) for name in ("a", "b")]
    return host, [RingObjects(host, client, config) for client, config in zip(clients, configs, strict=True)]


def test_of_two_that_publish_at_once_one_is_refused_and_the_other_is_followed(sim: Simulation) -> None:
    host, (first, second) = publishers(sim)
    deadline = host.monotonic() + 10.0
    seen = [each.read_ring(deadline) for each in (first, second)]
    first.publish(seen[0], NOTHING.followed_by(("a",) * SLOTS), deadline)
    with pytest.raises(AlreadyExists):
        second.publish(seen[1], NOTHING.followed_by(("b",) * SLOTS), deadline)

    seen = [each.read_ring(deadline) for each in (first, second)]
    assert seen[0].assignment is not None
    following = [seen[0].assignment.followed_by((name,) * SLOTS) for name in ("a", "b")]
    second.publish(seen[1], following[1], deadline)
    with pytest.raises(Conflict):
        first.publish(seen[0], following[0], deadline)

    found = first.read_ring(deadline).assignment
    assert found is not None
    assert (found.epoch, {*found.owners}) == (2, {"b"})
