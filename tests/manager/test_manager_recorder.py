# SPDX-License-Identifier: Apache-2.0
"""Events of a manager, on the embedded server."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime import (
    EVENTS,
    LEASES,
    NODES,
    Client,
    Controller,
    EventRecorder,
    LeaderElectionConfig,
    LeadershipLost,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    Stop,
    UsageError,
)
from controller_runtime.api.resources import CORE_EVENTS
from controller_runtime.apiserver.server import APIServer
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.core.stop import spawn
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation

COMPONENT = "example.com/greeter"


class Greeter(Reconciler):
    """Tells of every node it sees."""

    def __init__(self, recorder: EventRecorder) -> None:
        self.recorder = recorder
        self.note = "hello"

    def reconcile(self, request: Request) -> Result:
        node = {"metadata": {"name": request.name, "uid": f"uid-{request.name}"}}
        self.recorder.event(node, "Normal", "Seen", self.note, resource=NODES)
        return Result()


def greeter(cluster: EmbeddedCluster) -> Greeter:
    reconciler = Greeter(cluster.manager.recorder(COMPONENT))
    cluster.manager.add(Controller("greeter", reconciler).watch(NODES))
    return reconciler


def events(cluster: EmbeddedCluster) -> list[dict[str, Any]]:
    return cluster.client.list(EVENTS, "default", view=dict)


def label(cluster: EmbeddedCluster, value: str) -> None:
    cluster.client.patch(NODES, ObjectKey("n"), {"metadata": {"labels": {"a": value}}})


def test_what_a_reconciler_tells_is_an_event_on_the_server(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("here")) as cluster:
        greeter(cluster)
        cluster.start()

        cluster.client.create(NODES, {"metadata": {"name": "n"}})
        sim.settle()

        [event] = events(cluster)
        assert (event["reason"], event["note"], event["reportingController"]) == ("Seen", "hello", COMPONENT)
        assert event["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "uid-n"}


def test_a_series_counts_and_its_note_is_kept_fresh(sim: Simulation) -> None:
    """A note is immutable to events.k8s.io, and yet the last one is what people read."""
    with EmbeddedCluster(sim.host("here")) as cluster:
        reconciler = greeter(cluster)
        cluster.start()
        cluster.client.create(NODES, {"metadata": {"name": "n"}})
        sim.settle()

        for note in ("hello", "hello again"):
            reconciler.note = note
            label(cluster, note.replace(" ", "-"))
            sim.settle()

        [event] = events(cluster)
        assert (event["series"]["count"], event["note"]) == (3, "hello again")
        [core] = cluster.client.list(CORE_EVENTS, "default", view=dict)
        assert (core["series"]["count"], core["message"]) == (3, "hello again")


def test_what_was_told_last_is_written_before_the_manager_ends(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("here")) as cluster:
        reconciler = greeter(cluster)
        cluster.start()
        cluster.client.create(NODES, {"metadata": {"name": "n"}})
        sim.settle()
        for value in "abc":
            label(cluster, value)
            sim.settle()

        cluster.stop()

        [event] = events(cluster)
        assert event["series"]["count"] == 4
        reconciler.reconcile(ObjectKey("n"))
        assert len(events(cluster)) == 1


def test_a_component_has_one_recorder(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("here")) as cluster:
        cluster.manager.recorder(COMPONENT)

        with pytest.raises(UsageError, match=r"events/example\.com/greeter cannot be added: the name is taken"):
            cluster.manager.recorder(COMPONENT)


def test_what_happened_may_be_told_after_the_lease_was_lost(sim: Simulation) -> None:
    server = APIServer(sim.host("server"))
    host = sim.host("r0")
    transport = InProcessTransport(host, server)
    lease = LeaderElectionConfig(name="l", namespace="kube-system", identity="r0")
    manager, outcome = Manager(host, transport, leader_election=lease), Stop(host, "outcome")
    recorder = manager.recorder(COMPONENT)
    node = {"metadata": {"name": "n", "uid": "u"}}
    manager.stopping.on_set(lambda: recorder.event(node, "Warning", "Lost", "no longer", resource=NODES))
    spawn(host, outcome, "manager", manager.run)
    sim.advance(1.0)

    client = Client(host, transport)
    client.patch(LEASES, ObjectKey("l", "kube-system"), {"spec": {"holderIdentity": "somebody else"}})
    sim.advance(60.0)

    assert isinstance(outcome.failure, LeadershipLost)
    assert [event["reason"] for event in client.list(EVENTS, "default", view=dict)] == ["Lost"]
