# SPDX-License-Identifier: Apache-2.0
"""The runtime on servers of older releases: it uses its fall-backs and does the same work."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import node

from apimachinery.stop import spawn
from controller_runtime import (
    Candidacy,
    Client,
    Controller,
    EventRecorder,
    FieldValidation,
    LeaderElectionConfig,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    Stop,
)
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.errors import UsageError
from controller_runtime.resources import EVENTS, LEASES, NODES
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat import LeaseHeartbeat
from embedded_apiserver.server import APIServer

RELEASES = ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36")
WITHOUT_STREAMED_LISTS = ("1.31", "1.33")
LEASE = ObjectKey("program", "default")


class Marker(Reconciler):
    """Marks each node by server-side apply, with unknown fields refused, and records an event about it."""

    def __init__(self, client: Client, recorder: EventRecorder) -> None:
        self.client = client.writing(field_manager="marker", field_validation=FieldValidation.STRICT)
        self.recorder = recorder

    def reconcile(self, request: Request) -> Result:
        mark = {"metadata": {"name": request.name, "annotations": {"example.com/seen": "yes"}}}
        self.client.apply(NODES, mark)
        self.recorder.event({"metadata": {"name": request.name}}, "Normal", "Seen", "hello", resource=NODES)
        return Result()


@pytest.fixture
def elected() -> LeaderElectionConfig:
    return LeaderElectionConfig(name=LEASE.name, namespace=LEASE.namespace, identity="me")


def program(sim: Simulation, release: str, election: LeaderElectionConfig) -> EmbeddedCluster:
    """Return a cluster whose manager marks nodes while it leads."""
    cluster = EmbeddedCluster(sim.host("r0"), release=release, leader_election=election)
    manager = cluster.manager
    manager.add(Controller("marker", Marker(manager.client, manager.recorder("example.com/marker"))).watch(NODES))
    return cluster


def requests_for(cluster: EmbeddedCluster, path: str) -> list[dict[str, str]]:
    """Return the queries of the manager's reads of a collection, in their order."""
    return [dict(one.query) for one in cluster.transport.requests if one.method == "GET" and one.path == path]


@pytest.mark.parametrize("release", RELEASES)
def test_caches_elections_and_events_work_on_each_release(
    sim: Simulation, release: str, elected: LeaderElectionConfig
) -> None:
    with program(sim, release, elected) as cluster:
        cluster.user.create(NODES, node("there"))
        cluster.start()
        sim.settle()
        cluster.user.create(NODES, node("later"))
        sim.settle()

        nodes = cluster.user.list(NODES, view=dict)
        assert [one["metadata"]["annotations"] for one in nodes] == [{"example.com/seen": "yes"}] * 2
        events = cluster.user.list(EVENTS, "default", view=dict)
        assert {(event["regarding"]["name"], event["reason"]) for event in events} == {
            ("there", "Seen"),
            ("later", "Seen"),
        }
        lease: dict[str, Any] = cluster.user.get(LEASES, LEASE, dict)
        assert lease["spec"]["holderIdentity"] == "me"


@pytest.mark.parametrize("release", RELEASES)
def test_a_list_is_streamed_where_the_release_can_and_paged_elsewhere(
    sim: Simulation, release: str, elected: LeaderElectionConfig
) -> None:
    with program(sim, release, elected) as cluster:
        cluster.start()
        sim.settle()

        first, *others = requests_for(cluster, "/api/v1/nodes")
        assert first["sendInitialEvents"] == "true"
        if release in WITHOUT_STREAMED_LISTS:
            page, watch = others
            assert "limit" in page
            assert "watch" not in page
            assert watch["watch"] == "1"
            assert "sendInitialEvents" not in watch
        else:
            assert others == []


@pytest.mark.parametrize("release", WITHOUT_STREAMED_LISTS)
def test_a_heartbeat_renews_its_lease(sim: Simulation, release: str) -> None:
    host = sim.host("r0")
    client = Client(host, InProcessTransport(host, APIServer(sim.host("server"), release=release)))
    heartbeat = LeaseHeartbeat(
        host,
        client.within(1.0),
        holder_identity="me",
        lease_name=LEASE.name,
        lease_namespace=LEASE.namespace,
        lease_duration_seconds=4,
        renew_interval=1.0,
    )
    stop = Stop(host)
    spawn(host, stop, "heartbeat", lambda: heartbeat.run(stop))
    sim.settle()
    before: dict[str, Any] = client.get(LEASES, LEASE, dict)
    sim.advance(2.0)
    after: dict[str, Any] = client.get(LEASES, LEASE, dict)
    stop.set()
    sim.settle()

    assert before["spec"]["renewTime"] < after["spec"]["renewTime"]


def test_a_coordinated_replica_does_not_lead_where_there_are_no_candidates(sim: Simulation) -> None:
    config = LeaderElectionConfig(
        name=LEASE.name, namespace=LEASE.namespace, identity="me", coordinated=Candidacy(binary_version="1.0.0")
    )
    with program(sim, "1.31", config) as cluster:
        cluster.user.create(NODES, node("n"))
        cluster.start()
        sim.advance(60.0)

        (found,) = cluster.user.list(NODES, view=dict)
        assert "annotations" not in found["metadata"]
        assert cluster.transport.writes() == []


def test_a_cluster_takes_a_server_or_a_release(sim: Simulation) -> None:
    host = sim.host("r0")

    with pytest.raises(UsageError, match="not both"):
        EmbeddedCluster(host, server=APIServer(host), release="1.33")
    with pytest.raises(UsageError, match=r"give a release from 1\.31 to 1\.36"):
        EmbeddedCluster(host, release="1.30")
