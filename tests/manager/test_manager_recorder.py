# SPDX-License-Identifier: Apache-2.0
"""Events of a manager, on the embedded server."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from apimachinery.http import HTTPRequest
from apimachinery.stop import spawn
from controller_runtime import (
    Client,
    Controller,
    EventAPI,
    EventRecorder,
    LeaderElectionConfig,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    Stop,
)
from controller_runtime.api.resources import CORE_EVENTS
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.errors import LeadershipLost, UsageError
from controller_runtime.events.occurrence import OccurrenceFate
from controller_runtime.manager.lifecycle import CANCEL_GRACE
from controller_runtime.resources import EVENTS, LEASES, NODES
from controller_runtime.testing import EmbeddedCluster, a_node
from controller_runtime.testing.faults import Fault, FaultyTransport, LostReply
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

COMPONENT = "example.com/greeter"


class Greeter(Reconciler):
    """Records an event for every node that it reconciles."""

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
    """events.k8s.io does not let a note change, but people must read the last one."""
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


@attrs.frozen
class LastWord:
    """A runnable that records an event at its end, after some more work."""

    recorder: EventRecorder
    asleep: Stop
    name: str = "last-word"

    def run(self, stop: Stop) -> None:
        stop.wait_until(None)
        for note in ("stopping", "stopped"):
            self.asleep.wait(1.0)
            node = {"metadata": {"name": note, "uid": f"uid-{note}"}}
            self.recorder.event(node, "Normal", "Stopping", note, resource=NODES)


@pytest.mark.parametrize("is_recorder_first", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_what_a_runnable_tells_while_it_ends_is_written(seed: int, is_recorder_first: bool) -> None:
    with Simulation(seed=seed) as sim:
        host = sim.host("here")
        with EmbeddedCluster(host) as cluster:
            recorder = EventRecorder(host, cluster.manager.client, component=COMPONENT)
            things = [recorder, LastWord(recorder, Stop(host, "asleep"))]
            for thing in things if is_recorder_first else reversed(things):
                cluster.manager.add(thing)
            cluster.start()
            sim.settle()

            cluster.stop()

            assert sorted(event["note"] for event in events(cluster)) == ["stopped", "stopping"]
            assert sim.threads(host) == []


def test_recorders_start_before_the_runnables_that_tell_them_something(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "controller_runtime.manager.lifecycle")
    host = sim.host("here")
    with EmbeddedCluster(host) as cluster:
        recorder = EventRecorder(host, cluster.manager.client, component=COMPONENT)
        cluster.manager.add(LastWord(recorder, Stop(host, "asleep")))
        cluster.manager.add(recorder)
        cluster.start()
        sim.settle()

    started = [record.getMessage() for record in caplog.records if "started" in record.getMessage()]
    assert [word in line for word, line in zip(("events/", "last-word"), started, strict=True)] == [True, True]


def test_a_recorder_is_given_up_with_the_rest_when_the_grace_ends(sim: Simulation) -> None:
    """A server that does not answer any more delays the end by the grace and the time after it, and no longer."""
    host, silent = sim.host("here"), False

    def fault(number: int, request: HTTPRequest) -> Fault | None:
        return LostReply() if silent and "/events" in request.path else None

    server = APIServer(sim.host("server"))
    manager = Manager(host, FaultyTransport(host, InProcessTransport(host, server), fault), grace=3.0)
    recorder = manager.recorder(COMPONENT)
    manager.add(LastWord(recorder, Stop(host, "asleep")))
    stop, outcome = Stop(host), Stop(host, "outcome")
    spawn(host, outcome, "manager", lambda: manager.run(stop))
    sim.advance(1.0)

    silent = True
    stop.set()
    sim.advance(3.0 + 2 * CANCEL_GRACE)

    assert outcome.failure is None
    assert sim.threads() == []
    assert recorder.counts()[OccurrenceFate.FAILED] == 2


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


@pytest.mark.parametrize(("api", "notes"), [(EventAPI.EVENTS, ["resized"]), (EventAPI.CORE, ["created", "resized"])])
def test_the_api_decides_whether_another_message_is_another_event(
    simulation: Simulation, cluster: EmbeddedCluster, api: EventAPI, notes: list[str]
) -> None:
    recorder = cluster.manager.recorder(COMPONENT, api=api)
    node = cluster.user.create(NODES, a_node("n"))
    cluster.start()

    for note in ("created", "resized"):
        recorder.event(node, "Normal", "Applied", note)
    simulation.settle()

    assert sorted(event["note"] for event in events(cluster)) == notes
