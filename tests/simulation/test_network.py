# SPDX-License-Identifier: Apache-2.0
"""The simulated network delivers messages or loses them, at its times, and the caller notices the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import pytest
from kit.fault_runs.disk import Disk

from apimachinery.errors import AlreadyExists, APIError, ConnectionLost, NotFound, StreamIdle
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.listwatch import ListWatch, WatchStream
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import FaultKind, ScriptedFaults, SystemFault
from embedded_apiserver.server import APIServer

pytestmark = pytest.mark.once

NODE = {"metadata": {"name": "node"}}


@attrs.define
class Bench:
    """A server on a disk, a client that reaches it over the network, and one that reaches it directly."""

    sim: Simulation
    network: Network
    host: SimulatedHost
    server_host: SimulatedHost
    disk: Disk
    fired: list[SystemFault]
    client: Client = attrs.field(init=False)
    server: APIServer = attrs.field(init=False)
    inside: Client = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.client = Client(self.host, NetworkTransport(self.network, self.host), request_timeout=5.0)
        self.boot()

    def boot(self) -> None:
        self.server = APIServer(self.server_host, journal=self.disk)
        self.inside = Client(self.server_host, InProcessTransport(self.server_host, self.server))
        self.network.serve(self.server_host, self.server)

    def exists(self) -> bool:
        try:
            self.inside.get(NODES, ObjectKey("node"), dict)
        except NotFound:
            return False
        return True

    def watch(self, version: str = "") -> WatchStream:
        """Watch nodes over the network, from `version` or from now."""
        chosen = version or str(self.server.storage.version)
        return ListWatch(self.host, self.client.transport, Collection(NODES)).watch(chosen, timeout=300.0)


Make = Callable[..., Bench]


@pytest.fixture
def make(sim: Simulation) -> Make:
    def build(*faults: SystemFault, latency: float = 0.01) -> Bench:
        fired: list[SystemFault] = []
        network = Network(sim, ScriptedFaults(faults), fired, latency=latency, until=1000.0)
        return Bench(sim, network, sim.host("r0"), sim.host("server"), Disk(), fired)

    return build


def names(events: Iterable[Any] | None) -> list[str]:
    assert events is not None
    return [event.cached.name for event in events if event.cached is not None and event.type.value == "ADDED"]


def test_a_request_and_its_answer_take_their_time(make: Make, sim: Simulation) -> None:
    bench = make(latency=0.1)

    bench.client.create(NODES, NODE)

    assert bench.exists()
    assert 0.1 <= sim.time <= 0.3


@pytest.mark.parametrize(
    ("fault", "waits", "lands"),
    [
        pytest.param(SystemFault(FaultKind.REFUSE, "r0", 0), 0.0, False, id="refused"),
        pytest.param(SystemFault(FaultKind.LOSE_REQUEST, "r0", 0), 5.0, False, id="request lost"),
        pytest.param(SystemFault(FaultKind.LOSE_REPLY, "r0", 0), 5.0, True, id="answer lost"),
        pytest.param(SystemFault(FaultKind.SLOW_REPLY, "r0", 0, 9.0), 5.0, True, id="answer late"),
    ],
)
def test_a_call_that_fails_may_have_been_a_success(
    make: Make, sim: Simulation, fault: SystemFault, waits: float, lands: bool
) -> None:
    bench = make(fault)

    with pytest.raises(ConnectionLost):
        bench.client.create(NODES, NODE)

    assert sim.time == pytest.approx(waits, abs=0.1)
    assert bench.exists() is lands
    assert bench.fired == [fault]


def test_closing_gives_up_what_waits_for_an_answer(make: Make, sim: Simulation) -> None:
    bench = make(SystemFault(FaultKind.LOSE_REQUEST, "r0", 0))
    lost: list[str] = []

    def ask() -> None:
        with pytest.raises(ConnectionLost) as caught:
            bench.client.create(NODES, NODE)
        lost.append(str(caught.value))

    bench.host.spawn("asker", ask)
    sim.settle()
    bench.client.transport.close()
    sim.settle()

    assert (lost, sim.time) == (["POST /api/v1/nodes: given up"], 0.0)


def test_a_late_request_lands_though_its_caller_gave_up(make: Make, sim: Simulation) -> None:
    bench = make(SystemFault(FaultKind.SLOW_REQUEST, "r0", 0, 8.0))
    with pytest.raises(ConnectionLost, match="no answer in time"):
        bench.client.create(NODES, NODE)
    assert not bench.exists()

    sim.advance(4.0)

    assert bench.exists()


def test_a_late_request_lands_though_its_caller_is_dead(make: Make, sim: Simulation) -> None:
    bench = make(SystemFault(FaultKind.SLOW_REQUEST, "r0", 0, 8.0))
    bench.host.spawn("caller", lambda: bench.client.create(NODES, NODE) and None)
    sim.advance(1.0)
    sim.crash(bench.host)

    sim.advance(8.0)

    assert bench.exists()


def test_a_request_lands_after_its_caller_was_told_that_a_proxy_gave_up(make: Make, sim: Simulation) -> None:
    bench = make(SystemFault(FaultKind.FAIL, "r0", 0, 1.3))
    with pytest.raises(APIError) as refused:
        bench.client.create(NODES, NODE)
    assert refused.value.code in (500, 502, 503, 504)
    assert not bench.exists()

    sim.advance(2.0)

    assert bench.exists()


@pytest.mark.parametrize(
    ("simulation_seed", "wrong"),
    [(1, {"ConnectionLost", "NotFound", "ServerError"}), (0, {"NotFound", "ServerError"})],
    ids=["every way", "late writes"],
)
def test_in_a_brown_out_watches_are_silent_and_calls_go_wrong(make: Make, sim: Simulation, wrong: set[str]) -> None:
    bench, failed = make(), set[str]()
    with bench.watch() as stream:
        bench.network.links.brown_out("r0", 200.0)
        for _ in range(20):
            try:
                bench.client.delete(NODES, ObjectKey("none"))
            except (APIError, ConnectionLost) as error:
                failed.add(type(error).__name__)
        bench.inside.create(NODES, NODE)
        with pytest.raises(StreamIdle):
            stream.read(bench.host.monotonic() + 1.0)

    assert wrong <= failed
    sim.advance(200.0)
    assert bench.client.get(NODES, ObjectKey("node"), dict)


def test_while_a_link_is_cut_nothing_passes(make: Make, sim: Simulation) -> None:
    bench = make()
    bench.network.cut("r0", 7.0)

    with pytest.raises(ConnectionLost):
        bench.client.create(NODES, NODE)
    assert not bench.exists()
    sim.advance(2.0)

    bench.client.create(NODES, NODE)
    assert bench.exists()


def test_a_watch_tells_what_happens_in_order(make: Make, sim: Simulation) -> None:
    bench = make(latency=0.1)
    with bench.watch() as stream:
        for number in range(5):
            bench.inside.create(NODES, {"metadata": {"name": f"n{number}"}})

        seen: list[str] = []
        while len(seen) < 5:
            seen += names(stream.read(bench.host.monotonic() + 5.0))

    assert seen == [f"n{number}" for number in range(5)]


def test_a_watch_that_missed_something_stays_silent(make: Make, sim: Simulation) -> None:
    """After a lost event no later one is delivered: a reader notices silence, but not a gap."""
    bench = make()
    with bench.watch() as stream:
        bench.network.cut("r0", 5.0)
        bench.inside.create(NODES, NODE)
        sim.advance(6.0)
        bench.inside.create(NODES, {"metadata": {"name": "later"}})

        with pytest.raises(StreamIdle):
            stream.read(bench.host.monotonic() + 30.0)


def test_closing_a_stream_wakes_its_reader(make: Make, sim: Simulation) -> None:
    bench = make()
    stream = bench.watch()
    read: list[object] = []
    bench.host.spawn("reader", lambda: read.append(stream.read(bench.host.monotonic() + 100.0)))
    sim.advance(1.0)

    stream.close()
    sim.settle()

    assert read == [None]


def test_a_server_that_restarts_cuts_its_watches_and_keeps_its_disk(make: Make, sim: Simulation) -> None:
    bench = make()
    bench.client.create(NODES, NODE)
    with bench.watch("0") as stream:
        assert names(stream.read(bench.host.monotonic() + 5.0)) == ["node"]
        bench.server_host = sim.restart(bench.server_host)
        with pytest.raises(ConnectionLost, match="refused"):
            bench.client.create(NODES, NODE)

        bench.boot()

        with pytest.raises(ConnectionLost, match="cut"):
            stream.read(bench.host.monotonic() + 5.0)
    with pytest.raises(AlreadyExists):
        bench.client.create(NODES, NODE)


def test_requests_are_seen_at_the_instant_they_begin(make: Make, sim: Simulation) -> None:
    bench = make(latency=0.1)
    begun: list[tuple[float, str]] = []

    def note(host: SimulatedHost, request: HTTPRequest) -> None:
        begun.append((sim.time, f"{host.name} {request.method}"))

    bench.network.on_begin.append(note)
    bench.client.create(NODES, NODE)

    assert begun == [(0.0, "r0 POST")]
