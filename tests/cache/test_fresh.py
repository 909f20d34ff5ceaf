# SPDX-License-Identifier: Apache-2.0
"""Reads that refuse or wait when the cache has not been told anything for too long."""

from __future__ import annotations

import pytest

from apimachinery.errors import StaleCache
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Store
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.metrics import Metrics
from controller_runtime.testing.faults import Fault, FaultyTransport, Refused
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer


def test_a_cache_that_is_cut_off_refuses_beyond_the_bound(sim: Simulation) -> None:
    host, cut = sim.host("r0"), list[bool]()

    def fault(number: int, request: HTTPRequest) -> Fault | None:
        return Refused() if cut else None

    server = APIServer(host)
    transport = FaultyTransport(host, InProcessTransport(host, server), fault)
    manager = Manager(host, transport)
    nodes, stop, user = manager.lister(NODES, dict), Stop(host), Client(host, InProcessTransport(host, server))
    with pytest.raises(StaleCache, match="was last told inf s ago, more than 60 s"):
        nodes.fresh(60.0)
    spawn(host, stop, "manager", lambda: manager.run(stop))
    sim.advance(1.0)
    user.create(NODES, {"metadata": {"name": "a"}})
    sim.advance(30.0)

    assert nodes.staleness() == 30.0
    assert len(nodes.fresh(within=30.0).list()) == 1
    with pytest.raises(StaleCache, match=r"the cache of nodes was last told 30.0 s ago, more than 29.5 s"):
        nodes.fresh(within=29.5)
    assert b'informer_lag_seconds{group="",name="nodes",resource="nodes",version="v1"} 30.0' in Metrics(manager).text()

    cut.append(True)
    for stream in [manager.informer(NODES).reflector]:
        stream.relist("the connection is lost")
    sim.advance(600.0)
    assert nodes.staleness() > 600.0
    waited, began = list[float](), sim.time
    host.spawn("reader", lambda: waited.append(len(nodes.fresh(60.0, wait=120.0)) + sim.time - began))
    sim.advance(40.0)
    assert waited == []
    cut.clear()
    sim.advance(70.0)
    assert len(waited) == 1
    assert 41.0 < waited[0] < 120.0
    assert nodes.get(ObjectKey("a")) is not None

    stop.set()
    sim.advance(10.0)


def test_a_store_that_a_test_has_filled_is_fresh(sim: Simulation) -> None:
    store = Store(sim.host("r0"))
    store.replace({}, "1")

    assert Lister(store, NODES, dict).fresh(0.0).list() == []
