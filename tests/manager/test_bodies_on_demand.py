# SPDX-License-Identifier: Apache-2.0
"""A program whose caches keep the bodies of some: requests for bodies are those of its client."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
from kit.incidents.recording import acting, recorded
from kit.manager.managing import Calling
from kit.manager.scraping import lines_of

from apimachinery.errors import ReconcileTimeout
from apimachinery.faults import Delayed
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import NODES
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.scope import CacheScope
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.throttle import ThrottledTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import AsyncReconciler, Request, Result
from controller_runtime.incidents.incident import Sent, decode
from controller_runtime.manager.inspection import describe
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.page.overview import overview
from controller_runtime.manager.rights import observing
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.replay.comparing import Verdict
from controller_runtime.testing.replay.run import replay
from embedded_apiserver.server import APIServer

Maps = Lister[dict[str, Any]]


def maps_of(manager: Manager) -> Maps:
    manager.scope_caches(kinds={CONFIG_MAPS: CacheScope(bodies=Bodies())})
    return manager.lister(CONFIG_MAPS, dict)


def create(cluster: EmbeddedCluster, *names: str) -> None:
    for name in names:
        body = {"metadata": {"name": name, "namespace": "default"}, "data": {"name": name}}
        cluster.user.create(CONFIG_MAPS, body)


def test_reconcile_reads_bodies_by_requests_that_a_record_of_rights_sees(simulation: Simulation) -> None:
    asked: list[tuple[str, str]] = []

    def note(request: HTTPRequest) -> None:
        asked.append((request.method, request.path.rpartition("/")[2]))

    seen: list[str] = []
    with observing(lambda manager: note), EmbeddedCluster(simulation.host("r0")) as cluster:
        maps = maps_of(cluster.manager)

        def read(request: Request) -> Result:
            found = maps.get(request)
            seen.append("absent" if found is None else found["data"]["name"])
            return Result()

        cluster.manager.add(Controller("maps", Calling(read)).watch(CONFIG_MAPS))
        create(cluster, "a")
        cluster.start()
        simulation.settle()

    assert seen == ["a"]
    assert asked == [("GET", "configmaps"), ("GET", "a")]


def test_request_for_a_body_ends_with_the_reconcile(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    maps, errors = maps_of(cluster.manager), list[str]()

    def read_late(request: Request) -> Result:
        cluster.manager.stopping.wait(10.0)
        try:
            maps.get(request)
        except ReconcileTimeout as error:
            errors.append(str(error))
        return Result()

    cluster.manager.add(Controller("maps", Calling(read_late), reconcile_timeout=5.0).watch(CONFIG_MAPS))
    create(cluster, "a")
    cluster.start()
    simulation.advance(11.0)

    assert errors == ["GET /api/v1/namespaces/default/configmaps/a was not sent: the reconcile's time is up"]


def test_requests_for_bodies_wait_for_the_limit_of_the_client(sim: Simulation) -> None:
    host, server = sim.host("r0"), APIServer(sim.host("server"))
    transport = InProcessTransport(host, server)
    manager = Manager(host, ThrottledTransport(host, transport, qps=0.5, burst=3))
    user, stop, times = Client(host, transport), Stop(host), list[float]()
    for name in "abc":
        user.create(NODES, {"metadata": {"name": name}})
    manager.scope_caches(kinds={NODES: CacheScope(bodies=Bodies())})
    nodes = manager.lister(NODES)
    thread = spawn(host, stop, "manager", lambda: manager.run(stop))
    sim.advance(60.0)

    def read() -> None:
        for name in "aabc":
            assert nodes.get(ObjectKey(name)) is not None
            times.append(host.monotonic())
        assert manager.client.get(NODES, ObjectKey("a"))
        times.append(host.monotonic())

    host.spawn("reader", read)
    sim.advance(10.0)
    assert [time - times[0] for time in times] == [0.0, 0.0, 0.0, 0.0, 2.0]
    stop.set()
    sim.settle()
    assert thread.join_until(None)
    server.close()


@attrs.frozen
class Together(AsyncReconciler):
    """Notes when a body comes and when another coroutine runs."""

    maps: Maps
    seen: list[str]

    async def reconcile(self, request: Request) -> Result:
        if request.name == "b":
            await asyncio.sleep(1.0)
            self.seen.append("b runs")
            return Result()
        found = await self.maps.body(request)
        self.seen.append("absent" if found is None else f"{found['data']['name']} comes")
        assert await self.maps.body(request) == found
        assert await self.maps.body(ObjectKey("none", "default")) is None
        return Result()


def test_coroutine_awaits_a_body_while_others_run(simulation: Simulation) -> None:
    def slow(number: int, request: HTTPRequest) -> Delayed | None:
        return Delayed(2.0) if request.path.endswith("/configmaps/a") else None

    with EmbeddedCluster(simulation.host("r0"), faults=slow) as cluster:
        maps, seen = maps_of(cluster.manager), list[str]()
        cluster.manager.add(Controller("maps", Together(maps, seen), workers=2).watch(CONFIG_MAPS))
        create(cluster, "a", "b")
        cluster.start()
        simulation.advance(5.0)

    assert seen == ["b runs", "a comes"]


def test_replay_takes_bodies_from_the_record() -> None:
    def act(manager: Manager, request: Request) -> Result:
        found = manager.lister(CONFIG_MAPS, dict, namespace="default").get(request)
        if found is not None and "y" not in found["data"]:
            manager.client.patch(CONFIG_MAPS, request, {"data": {"y": found["data"]["x"]}})
        return Result()

    def setup(manager: Manager) -> None:
        manager.scope_caches(kinds={CONFIG_MAPS: CacheScope(bodies=Bodies())})
        acting(act)(manager)

    with recorded(setup) as recording:
        recording.create(data={"x": "1"})
        raw = recording.first().file()
    assert raw is not None
    incident = decode(raw, "file")

    assert [step.method for step in incident.steps if isinstance(step, Sent)] == ["PATCH"]
    assert replay(incident, setup).verdict is Verdict.SAME


def test_bodies_are_on_metrics_page_and_debug(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    maps = maps_of(cluster.manager)
    create(cluster, "a", "b")
    cluster.start()
    simulation.settle()
    for name in ("a", "a", "b", "a"):
        maps.get(ObjectKey(name, "default"))

    [shown] = describe(cluster.manager)["informers"]
    held = shown["bodies"].pop("held_bytes")
    assert shown["collection"] == "configmaps, bodies on demand"
    assert shown["bodies"] == {"kept": 2, "hits": 2, "misses": 2}
    labels = '{group="",name="configmaps, bodies on demand",resource="configmaps",version="v1"}'
    lines = lines_of(cluster.manager)
    assert f"controller_runtime_informer_body_bytes{labels} {held:.1f}" in lines
    assert f"controller_runtime_informer_body_hits_total{labels} 2.0" in lines
    assert f"controller_runtime_informer_body_misses_total{labels} 2.0" in lines
    [caches] = [table for table in overview(cluster.manager, ()) if table.title == "Caches"]
    [row] = caches.rows
    assert any(str(cell).startswith("2 kept, ") and str(cell).endswith("2 of 4 reads at hand") for cell in row.cells)
