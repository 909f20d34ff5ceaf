# SPDX-License-Identifier: Apache-2.0
"""Slots that wait until the caches show the writes of their last owner, in a ring that prepares them so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from kit.ring.ringing import JOIN, Replicas

from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.ring.catching_up import CatchingUp
from controller_runtime.ring.slots import SLOTS
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

PATIENCE = 2.0


@attrs.frozen
class Bench:
    sim: Simulation
    host: SimulatedHost
    catching_up: CatchingUp
    informers: Informers
    user: Client
    behind: list[int]


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Simulation(3) as sim:
        host, user = sim.host("r0"), sim.host("user")
        server, behind = APIServer(sim.host("server")), list[int]()
        transport = InProcessTransport(host, server)
        informers = Informers(host, transport)
        informer = informers.of(Collection(NODES))
        catching_up = CatchingUp(host, transport, lambda: [informer], PATIENCE, behind.append)
        yield Bench(sim, host, catching_up, informers, Client(user, InProcessTransport(user, server)), behind)


def test_a_slot_is_ready_once_the_cache_has_the_version_that_the_server_had_when_it_came(bench: Bench) -> None:
    assert bench.catching_up.ready(0b011) == 0
    bench.informers.start(Stop(bench.host))
    bench.sim.advance(1.0)

    assert bench.catching_up.ready(0b111) == 0b111
    assert bench.catching_up.ready(0b111) == 0b111
    assert bench.behind == []


def test_a_cache_that_stays_behind_holds_a_slot_up_for_the_patience_alone_and_that_is_counted(bench: Bench) -> None:
    assert bench.catching_up.ready(0b01) == 0
    bench.sim.advance(PATIENCE / 2)
    assert bench.catching_up.ready(0b11) == 0
    bench.sim.advance(PATIENCE / 2)

    assert bench.catching_up.ready(0b11) == 0b01
    bench.sim.advance(PATIENCE / 2)
    assert bench.catching_up.ready(0b11) == 0b11
    assert bench.behind == [0b01, 0b10]


def test_a_slot_that_another_member_had_meanwhile_waits_for_a_later_version(bench: Bench) -> None:
    stop = Stop(bench.host)
    bench.informers.start(stop)
    bench.sim.advance(1.0)
    assert bench.catching_up.ready(0b1) == 0b1
    assert bench.catching_up.ready(0) == 0
    stop.set()
    bench.sim.advance(1.0)

    bench.user.create(NODES, {"metadata": {"name": "n1"}})

    assert bench.catching_up.ready(0b1) == 0


def test_a_hand_over_waits_until_each_cache_hears_of_a_later_version(sim: Simulation) -> None:
    replicas, options = Replicas(sim), dict[str, Any](prepare="consistent")
    replicas.start("a", **options)
    replicas.start("b", **options)
    sim.advance(JOIN)
    assert replicas.owners() == {"a": SLOTS // 2, "b": SLOTS // 2}

    replicas.stops["b"].set()
    sim.advance(1.0)
    assert replicas.owners() == {"a": SLOTS // 2, "b": 0}
    replicas.user.patch(NODES, ObjectKey("n01"), {"metadata": {"labels": {"at": "1"}}})
    sim.advance(0.2)

    assert replicas.owners()["a"] == SLOTS


def test_another_way_to_prepare_is_refused(sim: Simulation) -> None:
    with pytest.raises(ValueError, match="prepare must be 'filled' or 'consistent', not 'fast'"):
        Replicas(sim).start("a", prepare="fast")
