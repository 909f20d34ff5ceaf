# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle with objects that are odd, cannot be decoded or are gone, and its metrics of zones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kit.controllers.lifecycle_cluster import LifecycleCluster
from kit.controllers.refusing import refused

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey, Received, cached_from_bytes
from apimachinery.system import SystemHost
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import LEASES, NODES, PODS, Resource
from controller_runtime.cache.store import Delta
from controller_runtime.cache.transforms import edited
from controller_runtime.manager.metrics import Metrics
from controller_runtime.testing.faults import Fault
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.node_lifecycle.health import Graces
from controllers.node_lifecycle.monitor import Monitor
from controllers.node_lifecycle.views import MonitoredNodeView
from controllers.node_lifecycle.zones import ZonePolicy


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[LifecycleCluster]:
    made = LifecycleCluster(sim)
    made.healthy("well-1", "well-2")
    yield made
    made.end()


def node(raw: bytes) -> Delta:
    return Delta(None, cached_from_bytes(raw))


def lease(name: str, spec: str) -> Delta:
    return Delta(None, Received(f'{{"metadata":{{"name":"{name}"}},"spec":{spec}}}'.encode(), name, NAMESPACE, "", "1"))


@pytest.fixture
def monitor() -> Monitor:
    return Monitor(SystemHost(), Graces(), ZonePolicy())


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param("", id="nothing"),
        pytest.param(',"spec":null,"status":null', id="nulls"),
        pytest.param(',"spec":{"taints":null},"status":{"conditions":null}', id="null lists"),
        pytest.param(',"status":{"conditions":[{"type":"Ready"}]}', id="a condition without a status"),
    ],
)
def test_a_node_that_says_little_counts_as_not_ready(monitor: Monitor, rest: str) -> None:
    monitor.node_changed(node(f'{{"metadata":{{"name":"a","uid":"u","resourceVersion":"1"}}{rest}}}'.encode()))

    (zone,) = monitor.reports()
    assert (zone.zone, zone.ready, zone.not_ready) == ("", 0, 1)


def test_a_node_that_cannot_be_read_is_left_alone_with_a_line(
    monitor: Monitor, caplog: pytest.LogCaptureFixture
) -> None:
    monitor.node_changed(node(b'{"metadata":{"name":"a","labels":7}}'))

    assert monitor.reports() == []
    assert "it cannot be read" in caplog.text


def test_a_namesake_that_comes_in_one_change_is_somebody_else(sim: Simulation) -> None:
    host = sim.host("controller")
    monitor, read = Monitor(host, Graces(), ZonePolicy()), decoder_for(MonitoredNodeView, NODES)
    first, second = (
        cached_from_bytes(f'{{"metadata":{{"name":"a","uid":"{uid}","resourceVersion":"{uid}"}}}}'.encode())
        for uid in ("1", "2")
    )
    monitor.node_changed(Delta(None, first))
    sim.advance(59.0)
    assert monitor.health(read(second.raw)) is None, "whom nobody has heard of is not judged"

    monitor.node_changed(Delta(first, second))

    health = monitor.health(read(second.raw))
    assert health is not None
    assert health.deadline(Graces()) == host.monotonic() + 60.0
    assert monitor.health(read(first.raw)) is None


@pytest.mark.parametrize("spec", ['{"renewTime":"yesterday"}', '{"renewTime":7}', "7", '{"renewTime":null}', "null"])
def test_a_lease_with_a_wrong_time_does_not_count(monitor: Monitor, spec: str) -> None:
    monitor.node_changed(node(b'{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}'))

    monitor.lease_changed(lease("a", spec))
    monitor.lease_changed(lease("nobody", spec))

    health = monitor.renewed("a", None)
    assert health is not None
    assert health.renewed is None


@pytest.mark.parametrize("holder", ["somebody-else", "", None])
def test_who_holds_a_nodes_lease_does_not_matter(cluster: LifecycleCluster, holder: str | None) -> None:
    cluster.healthy("a", posts=None, renews=None)
    cluster.post("a")
    cluster.renew("a")
    cluster.start()

    for _ in range(8):
        cluster.run(10.0)
        cluster.renew("a")
        cluster.world.patch(LEASES, ObjectKey("a", NAMESPACE), {"spec": {"holderIdentity": holder}})

    assert cluster.status("a") == "True"


def test_a_lease_without_a_node_is_nobodys(cluster: LifecycleCluster) -> None:
    cluster.start()
    cluster.renew("ghost")

    cluster.run(100.0)

    assert not [write for write in cluster.writes() if "ghost" in write]
    assert cluster.lifecycle.errors == 0


def test_a_node_that_goes_between_read_and_write_is_no_failure(cluster: LifecycleCluster) -> None:
    cluster.healthy("a", renews=None, posts=None)
    cluster.post("a")
    cluster.start()

    def fault(request: HTTPRequest) -> Fault | None:
        if request.method == "PATCH" and request.path.endswith("nodes/a/status"):
            cluster.world.delete(NODES, ObjectKey("a"))
        return None

    cluster.fault = fault
    cluster.run(60.0)

    assert cluster.lifecycle.errors == 0
    assert [zone.ready for zone in cluster.zones()] == [2]


def test_a_pod_that_goes_between_read_and_write_is_no_failure(cluster: LifecycleCluster) -> None:
    cluster.healthy("a", renews=None, posts=None)
    cluster.post("a")
    cluster.pod("p", "a")
    cluster.start()

    def fault(request: HTTPRequest) -> Fault | None:
        if request.path.endswith("pods/p/status"):
            cluster.world.delete(PODS, ObjectKey("p", "default"), grace_period_seconds=0)
        return None

    cluster.fault = fault
    cluster.run(60.0)

    assert cluster.lifecycle.errors == 0


def spoiled(field: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Return a function that puts a value into a field of objects whose name begins with `odd`."""

    def spoil(obj: dict[str, Any]) -> None:
        if obj["metadata"]["name"].startswith("odd"):
            obj[field] = value

    return spoil


@pytest.mark.parametrize(
    ("resource", "field", "value", "line"),
    [
        pytest.param(NODES, "status", {"conditions": "well"}, "odd is left alone until it changes", id="a node"),
        pytest.param(NODES, "spec", {"taints": 7}, "odd is left alone until it changes", id="taints of a node"),
        pytest.param(PODS, "status", {"conditions": [{}]}, "pod left alone: it cannot be read", id="a pod"),
        pytest.param(LEASES, "spec", {"renewTime": "now"}, "renewal does not count", id="a lease"),
    ],
)
def test_what_cannot_be_read_is_left_alone_with_a_line_and_others_go_on(
    cluster: LifecycleCluster,
    caplog: pytest.LogCaptureFixture,
    resource: Resource[Any],
    field: str,
    value: object,
    line: str,
) -> None:
    cluster.spoils[resource] = edited(spoiled(field, value))
    cluster.healthy("odd", "a")
    for name in ("odd", "p"):
        cluster.pod(name, "a")
    cluster.start()
    cluster.silence("a")
    if resource != LEASES:
        cluster.silence("odd")

    cluster.run(300.0)

    assert cluster.status("a") == "Unknown"
    assert "a" in cluster.evicted()
    assert cluster.pod_ready("p")["status"] == "False"
    lines = [record.getMessage() for record in caplog.records if line in record.getMessage()]
    assert 0 < len(lines) <= (31 if resource == LEASES else 2), "one for each change of it"


def test_a_taint_that_is_refused_keeps_its_turn(cluster: LifecycleCluster) -> None:
    cluster.healthy("a", renews=None, posts=None)
    cluster.post("a")
    cluster.start()
    cluster.run(45.0)
    failures = iter([refused(500, "InternalError")])
    cluster.fault = lambda request: next(failures, None) if request.path.endswith("nodes/a") else None

    cluster.run(6.0)

    assert cluster.evicted() == ["a"]
    assert cluster.lifecycle.errors == 1


def test_the_metrics_tell_of_the_zones(cluster: LifecycleCluster) -> None:
    cluster.healthy("a", zone="x", renews=None, posts=None)
    cluster.healthy("b", zone="x")
    cluster.post("a")
    cluster.start()
    cluster.run(52.0)
    assert cluster.cluster is not None

    text = Metrics(cluster.cluster.manager).text().decode()

    assert 'node_collector_zone_size{zone="x"} 2.0' in text
    assert 'node_collector_zone_health{zone="x"} 50.0' in text
    assert 'node_collector_unhealthy_nodes_in_zone{zone="x"} 1.0' in text
    assert 'node_collector_evictions_total{zone="x"} 1.0' in text
    assert 'node_lifecycle_zone_state{state="Normal",zone="x"} 1.0' in text
    assert 'node_lifecycle_zone_eviction_rate{zone="-"} 0.1' in text
