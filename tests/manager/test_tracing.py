# SPDX-License-Identifier: Apache-2.0
"""Spans from the change that a watch tells, through the reconcile, to its writes, as OpenTelemetry's SDK gets them."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime

import attrs
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from apimachinery.errors import Conflict, ControllerRuntimeError, UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import fields_of
from apimachinery.objects import ObjectKey, meta
from apimachinery.texts import KEPT, LONGEST
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.tracing import collection_of
from controller_runtime.client.transport import TransportWrapper
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controller_runtime.program.tracing import global_provider
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node

LABELED = {"metadata": {"labels": {"seen": "yes"}}}
Work = Callable[[Manager, Request], Result]


@attrs.frozen
class Doing(Reconciler):
    manager: Manager
    work: Work

    def reconcile(self, request: Request) -> Result:
        return self.work(self.manager, request)


@attrs.frozen
class DoingAsync(AsyncReconciler):
    manager: Manager

    async def reconcile(self, request: Request) -> Result:
        await self.manager.async_client.patch(NODES, request, LABELED)
        return Result()


class Noting(TransportWrapper):
    """Keeps the requests that pass."""

    def __init__(self, inner: InProcessTransport) -> None:
        super().__init__(inner)
        self.seen: list[HTTPRequest] = []

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self.seen.append(request)
        return self.inner.request(request, deadline)


@attrs.define
class Traced:
    """A manager whose spans are kept in memory, beside a user that makes no spans."""

    simulation: Simulation
    user: Client
    manager: Manager
    transport: Noting
    exporter: InMemorySpanExporter

    def run(self, controller: Controller) -> None:
        self.manager.add(controller)
        self.manager.host.spawn("run", self.manager.run)
        self.simulation.settle()

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        [span] = self.spans(name)
        return span


def context_of(span: ReadableSpan) -> SpanContext:
    assert span.context is not None
    return span.context


def linked(span: ReadableSpan) -> list[int]:
    return [link.context.span_id for link in span.links]


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def traced(simulation: Simulation, cluster: EmbeddedCluster, exporter: InMemorySpanExporter) -> Iterator[Traced]:
    host = simulation.host("program")
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    transport = Noting(InProcessTransport(host, cluster.server))
    manager = Manager(host, transport, tracer_provider=provider)
    yield Traced(simulation, cluster.user, manager, transport, exporter)
    manager.stopping.set()
    simulation.settle()


def patch_once(manager: Manager, request: Request) -> Result:
    node = manager.client.get(NODES, request)
    if "seen" not in (meta(node).labels or {}):
        manager.client.patch(NODES, request, LABELED)
    return Result()


def test_a_change_its_reconcile_and_the_write_are_one_trace_and_the_change_by_the_write_is_linked(
    traced: Traced,
) -> None:
    traced.user.create(NODES, a_node("listed"))
    traced.run(Controller("labels", Doing(traced.manager, patch_once)).watch(NODES))
    traced.exporter.clear()
    traced.user.create(NODES, a_node("a"))
    traced.simulation.settle()

    added, changed = traced.one("nodes added"), traced.one("nodes changed")
    first, second = traced.spans("reconcile labels")
    write = traced.one("PATCH nodes")
    assert (added.kind, first.kind, write.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER, SpanKind.CLIENT)
    assert added.parent is None
    assert first.parent is not None
    assert first.parent.span_id == context_of(added).span_id
    assert write.parent is not None
    assert write.parent.span_id == context_of(first).span_id
    assert {context_of(each).trace_id for each in (added, first, write)} == {context_of(added).trace_id}
    # The change that the write made is a trace of its own, else a controller that answers itself had an endless one.
    assert second.parent is not None
    assert second.parent.span_id == context_of(changed).span_id
    assert context_of(changed).trace_id != context_of(added).trace_id
    assert (linked(changed), linked(write)) in (
        ([context_of(write).span_id], []),
        ([], [context_of(changed).span_id]),  # the watch was quicker than the answer
    )
    version = meta(traced.user.get(NODES, ObjectKey("a"))).resource_version
    assert changed.attributes is not None
    assert dict(changed.attributes) == {
        "k8s.object.kind": "Node",
        "k8s.object.name": "a",
        "k8s.namespace.name": "",
        "k8s.object.resource_version": version,
    }
    assert second.attributes is not None
    assert second.attributes["causes"] == (f"nodes changed (a at {version})",)
    assert (second.attributes["reconcile"], second.attributes["outcome"]) == (4, "success")


def test_a_write_that_changes_nothing_is_linked_to_no_change(traced: Traced) -> None:
    def patch(manager: Manager, request: Request) -> Result:
        manager.client.patch(NODES, request, LABELED)
        return Result()

    traced.run(Controller("labels", Doing(traced.manager, patch)).watch(NODES))
    traced.user.create(NODES, a_node("a"))
    traced.simulation.settle()

    first, second = traced.spans("PATCH nodes")
    changed = traced.one("nodes changed")
    assert linked(first) + linked(changed) in ([context_of(first).span_id], [context_of(changed).span_id])
    assert linked(second) == []


def test_the_request_carries_the_span_to_the_server(traced: Traced) -> None:
    traced.run(Controller("labels", Doing(traced.manager, patch_once)).watch(NODES))
    traced.user.create(NODES, a_node("a"))
    traced.simulation.settle()

    [sent] = [each for each in traced.transport.seen if each.method == "PATCH"]
    write = context_of(traced.one("PATCH nodes"))
    assert sent.headers["traceparent"].startswith(f"00-{write.trace_id:032x}-{write.span_id:016x}-")
    assert all("traceparent" not in each.headers for each in traced.transport.seen if "watch" in dict(each.query))


def test_objects_of_the_initial_list_have_reconciles_without_a_change(traced: Traced) -> None:
    traced.user.create(NODES, a_node("a"))
    traced.run(Controller("labels", Doing(traced.manager, lambda *_: Result())).watch(NODES))

    [span] = traced.exporter.get_finished_spans()
    assert (span.name, span.parent, span.kind) == ("reconcile labels", None, SpanKind.INTERNAL)


def test_a_retry_is_linked_to_the_reconcile_that_failed(traced: Traced) -> None:
    def fail_once(manager: Manager, request: Request) -> Result:
        if not tries:
            tries.append(request)
            raise ControllerRuntimeError("not yet")
        return Result()

    tries: list[Request] = []
    traced.user.create(NODES, a_node("a"))
    traced.run(Controller("c", Doing(traced.manager, fail_once)).watch(NODES))
    traced.simulation.advance(1.0)

    failed, retried = traced.spans("reconcile c")
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.status.description == "ControllerRuntimeError: not yet"
    assert [event.name for event in failed.events] == ["exception"]
    assert (linked(retried), retried.status.status_code) == ([context_of(failed).span_id], StatusCode.UNSET)
    assert retried.attributes is not None
    assert retried.attributes["causes"] == ("retry",)


def test_a_span_has_a_bounded_text_of_its_error_in_printable_lines(traced: Traced) -> None:
    def fail(manager: Manager, request: Request) -> Result:
        raise ControllerRuntimeError("\x1b]0;x\n" + "x" * 2_000_000)

    traced.user.create(NODES, a_node("a"))
    traced.run(Controller("c", Doing(traced.manager, fail)).watch(NODES))

    failed = traced.spans("reconcile c")[0]
    kept = [failed.status.description or "", *(str(value) for value in (failed.events[0].attributes or {}).values())]
    assert sum(map(len, kept)) < 2 * KEPT + LONGEST + 1000
    assert kept[0].isprintable()


def test_changes_that_one_reconcile_answers_are_its_parent_and_links(traced: Traced) -> None:
    def slow(manager: Manager, request: Request) -> Result:
        manager.stopping.wait(10.0)
        return Result()

    traced.run(Controller("slow", Doing(traced.manager, slow)).watch(NODES))
    traced.user.create(NODES, a_node("a"))
    traced.simulation.advance(1.0)
    traced.user.patch(NODES, ObjectKey("a"), LABELED)
    traced.simulation.advance(1.0)
    traced.user.delete(NODES, ObjectKey("a"))
    traced.simulation.advance(30.0)

    _, second = traced.spans("reconcile slow")
    assert second.parent is not None
    assert second.parent.span_id == context_of(traced.one("nodes changed")).span_id
    assert linked(second) == [context_of(traced.one("nodes deleted")).span_id]


def test_spans_have_the_times_of_the_host(traced: Traced) -> None:
    def slow(manager: Manager, request: Request) -> Result:
        manager.stopping.wait(10.0)
        return Result()

    traced.run(Controller("slow", Doing(traced.manager, slow)).watch(NODES))
    begun: datetime = traced.manager.host.now()
    traced.user.create(NODES, a_node("a"))
    traced.simulation.advance(30.0)

    span = traced.one("reconcile slow")
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time == 10_000_000_000
    assert abs(span.start_time / 1e9 - begun.timestamp()) < 1.0


def test_a_refused_write_is_an_error_of_its_span(traced: Traced) -> None:
    def outdated(manager: Manager, request: Request) -> Result:
        with pytest.raises(Conflict):
            manager.client.patch(NODES, request, {"metadata": {"resourceVersion": "1"}})
        return Result()

    traced.user.create(NODES, a_node("a"))
    traced.run(Controller("c", Doing(traced.manager, outdated)).watch(NODES))

    write = traced.one("PATCH nodes")
    assert write.status.status_code is StatusCode.ERROR
    assert write.attributes is not None
    assert (write.attributes["http.response.status_code"], write.attributes["error.type"]) == (409, "409")


def test_writes_of_coroutines_belong_to_their_reconcile(traced: Traced) -> None:
    traced.user.create(NODES, a_node("a"))
    traced.user.create(NODES, a_node("b"))
    traced.run(Controller("c", DoingAsync(traced.manager), workers=2).watch(NODES))

    reconciles = {context_of(each).span_id: each for each in traced.spans("reconcile c")}
    for write in traced.spans("PATCH nodes"):
        assert write.parent is not None
        assert write.attributes is not None
        reconcile = reconciles[write.parent.span_id]
        assert reconcile.attributes is not None
        assert write.attributes["url.path"] == f"/api/v1/nodes/{reconcile.attributes['k8s.object.name']}"
    assert len(traced.spans("PATCH nodes")) == 2 + len(traced.spans("nodes changed"))


def test_log_lines_of_a_reconcile_name_its_trace_if_it_is_sampled(
    traced: Traced, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    traced.user.create(NODES, a_node("a"))
    traced.run(Controller("c", Doing(traced.manager, lambda *_: Result())).watch(NODES))

    [fields] = [fields_of(each) for each in caplog.records if each.getMessage().startswith("reconciled")]
    assert fields["trace_id"] == f"{context_of(traced.one('reconcile c')).trace_id:032x}"


def test_a_sampler_that_takes_nothing_leaves_the_work_as_it_is(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    host = simulation.host("program")
    manager = Manager(
        host, InProcessTransport(host, cluster.server), tracer_provider=TracerProvider(sampler=ALWAYS_OFF)
    )
    cluster.user.create(NODES, a_node("a"))
    manager.add(Controller("labels", Doing(manager, patch_once)).watch(NODES))
    host.spawn("run", manager.run)
    simulation.settle()

    assert meta(cluster.user.get(NODES, ObjectKey("a"))).labels == {"seen": "yes"}
    manager.stopping.set()
    simulation.settle()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/v1/nodes/a", "nodes"),
        ("/api/v1/namespaces/default/pods/a/status", "pods/status"),
        ("/api/v1/namespaces/default", "namespaces"),
        ("/api/v1/namespaces/default/status", "namespaces/status"),
        ("/apis/apps/v1/namespaces/n/deployments/d/scale", "deployments/scale"),
        ("/apis/apps/v1/deployments", "deployments"),
        ("/version", ""),
        ("/api", ""),
    ],
)
def test_names_of_spans_have_the_resource_and_no_object(path: str, name: str) -> None:
    assert collection_of(path) == name


def test_the_flag_refuses_a_process_without_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="opentelemetry-instrument"):
        global_provider()
    provider = TracerProvider()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    assert global_provider() is provider


def test_nothing_of_opentelemetry_is_imported_unless_it_is_asked_for() -> None:
    code = (
        "import sys; from controller_runtime import Manager, Controller\n"
        "import controller_runtime.program.program, controller_runtime.controller.workers\n"
        "print([each for each in sys.modules if 'opentelemetry' in each])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"
