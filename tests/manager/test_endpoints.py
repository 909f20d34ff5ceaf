# SPDX-License-Identifier: Apache-2.0
"""The endpoints of a running manager, through real sockets."""

from __future__ import annotations

import contextlib
import json
import sys
import urllib.error
import urllib.request
from typing import Any

import attrs
import pytest
from prometheus_client import CollectorRegistry, Gauge

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey, meta
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.api.resources import NODES
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.listening import bind
from controller_runtime.manager.endpoints import NOWHERE, Endpoints
from controller_runtime.manager.inspection import describe
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node, eventually
from embedded_apiserver.server import APIServer

HOST = SystemHost()
ANYWHERE = "127.0.0.1:0"


def get(port: int, path: str, host: str = "127.0.0.1", header: str = "") -> tuple[int, str, str]:
    request = urllib.request.Request(f"http://{host}:{port}{path}", headers={"host": header} if header else {})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers["content-type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["content-type"], error.read().decode()


@attrs.define
class Holding(Reconciler):
    """Keeps reconciling a node called `held` until the end; other nodes are requeued after an hour."""

    end: Stop

    def reconcile(self, request: Request) -> Result:
        if request.name == "held":
            self.end.wait_until(None)
        return Result(requeue_after=3600.0)


def test_each_address_serves_what_it_is_for() -> None:
    with (
        EmbeddedCluster(SystemHost()) as cluster,
        Endpoints(metrics=ANYWHERE, probes="localhost:0") as endpoints,
    ):
        metrics, probes = endpoints.ports
        endpoints.serve(cluster.manager)
        cluster.manager.informer(NODES)
        assert get(probes, "/readyz")[0] == 500, "asked before the caches fill"

        cluster.start()
        eventually(cluster.manager, NODES, cluster.manager.informer(NODES).has_synced)

        assert (
            get(probes, "/readyz?verbose")[2]
            == "[+]informers ok\n[+]reconciles ok\n[+]shutdown ok\n[+]mappers ok\n[+]objects ok\nreadyz check passed\n"
        )
        assert get(probes, "/livez/workers")[::2] == (200, "ok")
        status, kind, text = get(metrics, "/metrics")
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert "controller_runtime_informer_synced" in text
        assert json.loads(get(metrics, "/debug/controllers")[2])["informers"][0]["collection"] == "nodes"
        assert [get(metrics, path)[0] for path in ("/livez", "/debug", "/debug/other")] == [404, 200, 404]
        assert get(probes, "/metrics")[0] == 404


def test_one_address_may_serve_both() -> None:
    with bind(ANYWHERE) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with EmbeddedCluster(SystemHost()) as real, Endpoints(metrics=address, probes=address) as endpoints:
        endpoints.serve(real.manager)

        assert {get(endpoints.ports[0], path)[0] for path in ("/metrics", "/livez")} == {200}


def test_one_manager_after_another_is_served_at_the_same_address() -> None:
    with (
        EmbeddedCluster(SystemHost()) as first,
        EmbeddedCluster(SystemHost()) as second,
        Endpoints(metrics=ANYWHERE) as endpoints,
    ):
        (port,) = endpoints.ports
        for cluster, name in ((first, "one"), (second, "two")):
            cluster.manager.add(Controller(name, Holding(cluster.manager.stopping)).every(60.0, list))
            endpoints.serve(cluster.manager)

            shown = json.loads(get(port, "/debug/controllers")[2])

            assert [controller["name"] for controller in shown["controllers"]] == [name]


def test_other_machines_get_metrics_but_no_names_of_objects(outward: str) -> None:
    with EmbeddedCluster(SystemHost()) as cluster, Endpoints(metrics=f"{outward}:0", probes=ANYWHERE) as endpoints:
        cluster.manager.informer(NODES)
        endpoints.serve(cluster.manager)

        assert get(endpoints.ports[0], "/metrics", outward)[0] == 200
        assert "to this machine alone" in get(endpoints.ports[0], "/debug/controllers", outward)[2]
        assert get(endpoints.ports[0], "/debug/controllers", outward)[0] == 403


def test_a_name_that_was_made_to_lead_here_gets_no_names_of_objects_and_no_reasons() -> None:
    with EmbeddedCluster(SystemHost()) as cluster, Endpoints(metrics=ANYWHERE, probes="localhost:0") as endpoints:
        cluster.manager.informer(NODES)
        endpoints.serve(cluster.manager)
        metrics, probes = endpoints.ports

        refused = get(metrics, "/debug/controllers", header="rebound.example.com")

        assert (refused[0], refused[2]) == (
            403,
            "/debug is served to this machine alone: ask for it as localhost, 127.0.0.1, [::1] "
            "or the address that it is served on\n",
        )
        assert "reason withheld" in get(probes, "/readyz", header="rebound.example.com")[2]
        assert get(metrics, "/metrics", header="rebound.example.com")[0] == 200
        assert get(metrics, "/debug/controllers", header=f"localhost:{metrics}")[0] == 200


def test_reasons_are_withheld_from_other_machines(outward: str) -> None:
    with EmbeddedCluster(SystemHost()) as cluster, Endpoints(probes=":0") as endpoints:
        cluster.manager.informer(NODES)
        endpoints.serve(cluster.manager)

        assert "reason withheld" in get(endpoints.ports[0], "/readyz", outward)[2]
        assert "no initial list yet" in get(endpoints.ports[0], "/readyz")[2]


def test_a_metric_of_ones_own_is_scraped() -> None:
    mine = CollectorRegistry()
    Gauge("cabins_free", "Cabins that are free.", registry=mine).set(3)
    with EmbeddedCluster(HOST) as cluster, Endpoints(metrics=ANYWHERE, registries=[mine]) as endpoints:
        endpoints.serve(cluster.manager)

        assert "cabins_free 3.0\n" in get(endpoints.ports[0], "/metrics")[2]


def test_a_metric_whose_name_is_taken_is_refused() -> None:
    mine = CollectorRegistry()
    Gauge("rest_client_requests", "Of mine.", registry=mine)
    refusing = pytest.raises(UsageError, match="two metrics are called rest_client_requests")

    with EmbeddedCluster(HOST) as cluster, Endpoints(metrics=ANYWHERE, registries=[mine]) as endpoints, refusing:
        endpoints.serve(cluster.manager)


def test_a_manager_whose_probes_cannot_be_answered_any_more_stops_with_the_error() -> None:
    manager = Manager(HOST, InProcessTransport(HOST, APIServer(HOST)))

    with Endpoints(probes=ANYWHERE, ready={"leaves": lambda: sys.exit(3)}) as endpoints:
        endpoints.serve(manager)
        running = HOST.spawn("probe", lambda: lost(endpoints.ports[0]))
        with pytest.raises(SystemExit):
            manager.run()
        running.join_until(None)


def lost(port: int) -> None:
    with contextlib.suppress(OSError):
        get(port, "/readyz")


def test_nothing_is_served_unless_asked_for() -> None:
    with Endpoints(metrics=NOWHERE) as endpoints:
        assert endpoints.ports == []


def test_an_address_that_is_taken_leaves_nothing_open() -> None:
    with bind(ANYWHERE) as taken, pytest.raises(UsageError, match="in use"):
        Endpoints(metrics=ANYWHERE, probes=f"127.0.0.1:{taken.getsockname()[1]}")


def version_of(cluster: EmbeddedCluster, name: str) -> str:
    return meta(cluster.user.get(NODES, ObjectKey(name))).resource_version


def test_what_is_running_queued_and_planned_is_shown_with_its_causes(simulation: Simulation) -> None:
    with EmbeddedCluster(simulation.host("here")) as cluster:
        end = Stop(cluster.host, "end")
        cluster.manager.add(Controller("holding", Holding(end)).watch(NODES))
        cluster.start()
        simulation.settle()
        for name in ("planned", "held", "queued"):
            cluster.user.create(NODES, a_node(name))
            simulation.advance(10.0)

        shown: dict[str, Any] = describe(cluster.manager)["controllers"][0]

        held, queued = (f"nodes added ({name} at {version_of(cluster, name)})" for name in ("held", "queued"))
        assert shown["running"] == [{"request": "held", "since": 20.0, "causes": [held], "low": False}]
        assert shown["due"] == [{"request": "queued", "since": 10.0, "causes": [queued], "low": False}]
        assert shown["later"] == [{"request": "planned", "in": 3570.0, "causes": ["requeue_after"], "low": False}]
        assert (shown["queued"], shown["reconciles"], shown["errors"]) == (1, 1, 0)
        end.set()


def test_a_cache_is_shown_with_its_state_and_its_subscribers(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.manager.informer(NODES).subscribe(lambda delta: None, name="census")
    cluster.user.create(NODES, a_node("a"))
    cluster.start()
    simulation.advance(1.0)

    shown: dict[str, Any] = describe(cluster.manager)["informers"][0]

    store = cluster.manager.informer(NODES).store
    (raw,) = (each.raw for each in store.list())
    assert store.sizes.held > len(raw)
    assert shown == {
        "collection": "nodes",
        "synced": True,
        "state": "watching",
        "objects": 1,
        "held_bytes": store.sizes.held,
        "json_bytes": len(raw),
        "version": cluster.manager.informer(NODES).store.version,
        "heard_since": 1.0,
        "last_error": "",
        "handlers": 1,
        "backlogs": {"census": 0},
    }
