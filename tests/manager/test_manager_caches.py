# SPDX-License-Identifier: Apache-2.0
"""Runs of a manager whose caches do not fill, or whose sources cannot start."""

from __future__ import annotations

import attrs
import pytest
from kit.manager.managing import Bench, Calling

from apimachinery.errors import CacheSyncTimeout, ConnectionLost
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES, PODS, Resource
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Stream
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer


@attrs.frozen
class Refusing:
    """A transport that reaches no server."""

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        raise ConnectionLost("connection refused")

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        raise ConnectionLost("connection refused")

    def close(self) -> None:
        pass


@pytest.mark.scenario("SR-02")
def test_caches_that_do_not_fill_end_the_run_with_the_reason(sim: Simulation) -> None:
    """The error names the collection and its last error; nothing was started."""
    host = sim.host("r0")
    bench = Bench(sim, host, Manager(host, Refusing(), cache_sync_timeout=10.0), Stop(host))
    bench.manager.add(bench.notes("runnable"))
    bench.manager.add(Controller("zones", Calling(print)).watch(NODES))
    bench.start()

    sim.advance(60.0)

    assert isinstance(bench.failure, CacheSyncTimeout)
    assert "nodes" in str(bench.failure)
    assert "connection refused" in str(bench.failure)
    assert (bench.log, sim.threads()) == ([], [])


@pytest.mark.scenario("SR-02")
def test_a_kind_that_the_server_does_not_have_is_named(sim: Simulation) -> None:
    """The list is answered with 404 until the timeout; the error says what to look for."""
    host = sim.host("r0")
    manager = Manager(host, InProcessTransport(host, APIServer(host)), cache_sync_timeout=10.0)
    bench = Bench(sim, host, manager, Stop(host))
    manager.add(Controller("zones", Calling(print)).watch(Resource("example.com", "v1", "Zone", "zones")))
    bench.start()

    sim.advance(60.0)

    assert isinstance(bench.failure, CacheSyncTimeout)
    assert "zones.example.com" in str(bench.failure)
    assert "the server has no kind Zone in example.com/v1: is its CustomResourceDefinition installed?" in str(
        bench.failure
    )


def test_a_stop_before_the_caches_are_filled_starts_nothing(sim: Simulation) -> None:
    host = sim.host("r0")
    bench = Bench(sim, host, Manager(host, Refusing()), Stop(host))
    bench.manager.add(bench.notes("runnable"))
    bench.manager.add(Controller("zones", Calling(print)).watch(NODES))
    bench.start()

    bench.finish()

    assert (bench.failure, bench.log, sim.threads()) == (None, [], [])


@pytest.mark.scenario("CT-12")
def test_a_source_that_cannot_start_fails_the_run(bench: Bench) -> None:
    """A controller that watches one namespace of a cluster-scoped resource ends the run with that error."""
    bench.manager.add(Controller("zones", Calling(print)).watch(NODES, namespace="default"))

    bench.start()

    assert isinstance(bench.failure, ValueError)
    assert bench.sim.threads() == []


def test_collections_that_name_no_namespace_are_those_of_the_manager(sim: Simulation) -> None:
    host = sim.host("here")
    manager = Manager(host, InProcessTransport(host, APIServer(host)), namespace="huts")

    assert str(manager.informer(PODS)) == "pods in huts"
    assert str(manager.informer(PODS, namespace="there")) == "pods in there"
    assert str(manager.informer(NODES)) == "nodes"
    assert manager.informer(PODS) is manager.informer(PODS, namespace="huts")
