# SPDX-License-Identifier: Apache-2.0
"""`Client.wait` returns an object in the first state that is wanted, or tells in time why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from kubernetes.client import V1Node

from apimachinery.errors import ConnectionLost, Forbidden, NotFound, ReconcileTimeout, WaitTimeout
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.conditions import condition, with_condition
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.client.client import Client
from controller_runtime.client.deadlines import DeadlineTransport, reconcile_limit
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.waiting import gone
from controller_runtime.core.deadline import deadline_scope
from controller_runtime.testing.faults import Answered, CutStream, Fault, Faults, FaultyTransport, LostReply, Refused
from controller_runtime.testing.objects import a_node
from controller_runtime.testing.recording import RecordingTransport
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

KEY = ObjectKey("n")
NOBODY = Answered(HTTPResponse(403, {}, b'{"kind":"Status","apiVersion":"v1","code":403,"reason":"Forbidden"}'))


@attrs.frozen
class Bench:
    """A server, a client of the test, and the clients that wait."""

    simulation: Simulation
    host: SimulatedHost
    server: APIServer
    user: Client

    def client(self, faults: Faults | None = None) -> Client:
        """Makes a client on a host of its own; its `transport` records the requests."""
        transport = InProcessTransport(self.host, self.server)
        faulty = transport if faults is None else FaultyTransport(self.host, transport, faults)
        return Client(self.host, RecordingTransport(faulty))

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Does something on another thread, in some seconds."""
        asleep = Stop(self.host, "asleep")

        def run() -> None:
            asleep.wait(seconds)
            act()

        self.host.spawn("user", run)

    def set_ready(self, status: str, **more: Any) -> None:
        conditions = with_condition([], "Ready", status, reason="Because", message="of it", now=self.host.now())
        conditions[0].update(more)
        self.user.patch(NODES, KEY, {"status": {"conditions": conditions}}, subresource="status")


@pytest.fixture
def bench(sim: Simulation) -> Bench:
    host = sim.host("here")
    server = APIServer(host)
    return Bench(sim, host, server, Client(host, InProcessTransport(host, server)))


def test_an_object_that_is_as_wanted_is_returned_at_once_as_its_model(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n", ready=True))
    began = bench.host.monotonic()

    node = bench.client().wait(NODES, KEY, until=condition("Ready"))

    assert isinstance(node, V1Node)
    assert node.metadata.name == "n"
    assert bench.host.monotonic() - began < 0.1


def test_the_change_of_a_condition_ends_the_wait_when_it_happens(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n", ready=False))
    bench.after(7.0, lambda: bench.set_ready("True"))
    client, began = bench.client(), bench.host.monotonic()

    node = client.wait(NODES, KEY, dict, until=condition("Ready"))

    assert node["status"]["conditions"][0]["status"] == "True"
    assert 7.0 <= bench.host.monotonic() - began < 7.5


def test_other_objects_are_neither_read_nor_watched(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n", ready=False))
    bench.user.create(NODES, a_node("other", ready=True))
    transport = RecordingTransport(InProcessTransport(bench.host, bench.server))

    with pytest.raises(WaitTimeout):
        Client(bench.host, transport).wait(NODES, KEY, until=condition("Ready"), within=5.0)

    assert [("fieldSelector", "metadata.name=n") in request.query for request in transport.requests] == [True, True]


def test_an_object_that_does_not_exist_yet_is_waited_for(bench: Bench) -> None:
    bench.after(3.0, lambda: bench.user.create(NODES, a_node("n", ready=True)))

    assert bench.client().wait(NODES, KEY, until=condition("Ready")).metadata.name == "n"


def test_the_end_of_an_object_is_waited_for(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n"))
    bench.after(3.0, lambda: bench.user.delete(NODES, KEY))
    began = bench.host.monotonic()

    assert bench.client().wait(NODES, KEY, until=gone) is None
    assert 3.0 <= bench.host.monotonic() - began < 3.5


def test_a_function_of_the_object_may_be_waited_for(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n"))
    bench.after(1.0, lambda: bench.user.patch(NODES, KEY, {"spec": {"unschedulable": True}}))

    def cordoned(node: V1Node | None) -> bool:
        return node is not None and bool(node.spec.unschedulable)

    node = bench.client().wait(NODES, KEY, until=cordoned)

    assert node is not None
    assert node.spec.unschedulable


def test_a_condition_of_an_earlier_generation_does_not_count() -> None:
    def found(generation: int, **more: int) -> dict[str, Any]:
        ready = {"type": "Ready", "status": "True", **more}
        return {"metadata": {"name": "n", "generation": generation}, "status": {"conditions": [ready]}}

    assert condition("Ready")(found(3))
    assert condition("Ready")(found(3, observedGeneration=3))
    assert not condition("Ready")(found(3, observedGeneration=2))
    assert condition("Ready").state_of(found(3, observedGeneration=2)) == "Ready is True, of an earlier generation"
    of_the_status = found(3)
    of_the_status["status"]["observedGeneration"] = 2
    assert not condition("Ready")(of_the_status)


@pytest.mark.parametrize(
    ("prepare", "state"),
    [
        pytest.param(lambda bench: None, "it does not exist", id="absent"),
        pytest.param(lambda bench: bench.user.create(NODES, a_node("n")), "Ready is True", id="with another"),
        pytest.param(lambda bench: bench.user.create(NODES, {"metadata": {"name": "n"}}), "it has no", id="without it"),
    ],
)
def test_a_timeout_shows_the_last_state(bench: Bench, prepare: Callable[[Bench], object], state: str) -> None:
    prepare(bench)

    with pytest.raises(WaitTimeout) as raised:
        bench.client().wait(NODES, KEY, until=condition("Ready", "Unknown"), within=5.0)

    assert str(raised.value).startswith("nodes n: gave up waiting for Ready=Unknown after 5 s: " + state)


def test_a_timeout_shows_why_the_condition_is_what_it_is(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n"))
    bench.set_ready("False")
    began = bench.host.monotonic()

    with pytest.raises(WaitTimeout, match=r"after 5 s: Ready is False \(Because: of it\)$"):
        bench.client().wait(NODES, KEY, until=condition("Ready"), within=5.0)

    assert bench.host.monotonic() - began == pytest.approx(5.0, abs=0.1)


def test_a_timeout_shows_which_finalizers_keep_an_object(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n") | {"metadata": {"name": "n", "finalizers": ["example.com/hold"]}})
    bench.user.delete(NODES, KEY)

    with pytest.raises(
        WaitTimeout, match=r"its end after 5 s: it is being deleted, and has the finalizers example.com/"
    ):
        bench.client().wait(NODES, KEY, until=gone, within=5.0)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({0: Refused(), 1: LostReply()}, id="requests that fail"),
        pytest.param({1: CutStream(after=0)}, id="a watch that is cut"),
        pytest.param({1: Answered(HTTPResponse(410, {}, b"{}"))}, id="a version that has expired"),
    ],
)
def test_failures_that_pass_are_waited_out(bench: Bench, fault: dict[int, Fault]) -> None:
    bench.user.create(NODES, a_node("n", ready=False))
    bench.after(10.0, lambda: bench.set_ready("True"))
    client = bench.client(lambda number, request: fault.get(number))

    assert client.wait(NODES, KEY, until=condition("Ready"), within=60.0).metadata.name == "n"


def test_a_server_that_never_answers_is_named_by_the_timeout(bench: Bench) -> None:
    client = bench.client(lambda number, request: Refused())

    with pytest.raises(WaitTimeout, match="its state is unknown; the last request failed: ") as raised:
        client.wait(NODES, KEY, until=condition("Ready"), within=5.0)

    assert isinstance(raised.value.__cause__, ConnectionLost)


def test_an_object_that_may_not_be_watched_is_read_once_a_second(bench: Bench) -> None:
    def no_lists(number: int, request: HTTPRequest) -> Fault | None:
        return NOBODY if request.path == "/api/v1/nodes" else None

    bench.user.create(NODES, a_node("n", ready=False))
    bench.after(4.5, lambda: bench.set_ready("True"))
    transport = RecordingTransport(FaultyTransport(bench.host, InProcessTransport(bench.host, bench.server), no_lists))

    Client(bench.host, transport).wait(NODES, KEY, until=condition("Ready"))

    assert [request.path for request in transport.requests] == ["/api/v1/nodes", *["/api/v1/nodes/n"] * 6]


def test_an_object_that_may_not_be_read_at_all_is_refused_at_once(bench: Bench) -> None:
    with pytest.raises(Forbidden):
        bench.client(lambda number, request: NOBODY).wait(NODES, KEY, until=gone)


def test_a_kind_that_is_not_served_is_not_waited_for(bench: Bench) -> None:
    client = bench.client()

    with pytest.raises(NotFound):
        client.wait(attrs.evolve(PODS, plural="posd"), ObjectKey("p", "default"), until=gone)


def test_the_deadline_of_the_client_ends_a_wait(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n", ready=False))
    began = bench.host.monotonic()

    with pytest.raises(ConnectionLost, match="its deadline has passed"):
        bench.client().until(began + 3.0).wait(NODES, KEY, until=condition("Ready"))

    assert bench.host.monotonic() - began == pytest.approx(3.0, abs=0.5)


def test_the_deadline_of_a_reconcile_ends_a_wait(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n", ready=False))
    began = bench.host.monotonic()
    inner = InProcessTransport(bench.host, bench.server)
    client = Client(bench.host, DeadlineTransport(inner, reconcile_limit(bench.host)))

    with deadline_scope(began + 3.0), pytest.raises(ReconcileTimeout):
        client.wait(NODES, KEY, until=condition("Ready"))

    assert bench.host.monotonic() - began == pytest.approx(3.0, abs=0.5)


def test_a_deadline_that_moves_on_as_a_leadership_does_ends_no_wait(bench: Bench) -> None:
    bench.user.create(NODES, a_node("n", ready=False))
    bench.after(7.0, lambda: bench.set_ready("True"))
    inner, began = InProcessTransport(bench.host, bench.server), bench.host.monotonic()
    client = Client(bench.host, DeadlineTransport(inner, lambda request: bench.host.monotonic() + 2.0))

    client.wait(NODES, KEY, until=condition("Ready"))

    assert 7.0 <= bench.host.monotonic() - began < 8.0


def test_a_wait_of_no_time_is_refused(bench: Bench) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        bench.client().wait(NODES, KEY, until=gone, within=0.0)
