# SPDX-License-Identifier: Apache-2.0
"""Spans of OpenTelemetry: for a change that a watch reports, for the reconciles that it causes, and for their requests.

A change and the reconciles that it causes are one trace. Other related spans are linked, so that no trace grows without
end: further changes of the same reconcile, the write that caused a change, and the reconcile before a retry. Imported
only by a manager that was given a tracer provider.
"""

from __future__ import annotations

import traceback
from contextvars import Token
from types import TracebackType

from opentelemetry import context as current
from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanKind,
    StatusCode,
    TracerProvider,
    get_current_span,
    set_span_in_context,
)

from apimachinery.host import Host
from apimachinery.log import bound
from apimachinery.objects import Cached
from apimachinery.texts import bounded, kept_text
from controller_runtime.api.collection import Collection
from controller_runtime.client.tracing import RecentSpans, SpanClock, TracedTransport
from controller_runtime.client.transport import Transport
from controller_runtime.controller.counters import Outcome
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.queue.causes import Cause, Causes

_FAILED = (Outcome.ERROR, Outcome.TERMINAL_ERROR, Outcome.PANIC)
_REPEATED = (Outcome.REQUEUE_AFTER, Outcome.ERROR, Outcome.PANIC, Outcome.CANCELLED)


class Tracing:
    """Makes the spans of one manager's controllers.

    Args:
        host: The source of time and locks.
        provider: The tracer provider, which decides the sampled spans and their exporter. It must not raise.

    Threads: any.
    """

    def __init__(self, host: Host, provider: TracerProvider) -> None:
        self._clock = SpanClock(host, provider)
        self._recent = RecentSpans(host)

    def transport(self, inner: Transport) -> Transport:
        """Return a transport that makes a span of each request in a reconcile."""
        return TracedTransport(self._clock, self._recent, inner)

    def changed(self, cause: str, collection: Collection, obj: Cached) -> None:
        """Make the span of a change that causes reconciles, unless another controller has made it already.

        Args:
            cause: The text of the cause, such as `pods changed`.
            collection: The collection that changed.
            obj: The object after the change; for a deletion, its last state.
        """
        place = (obj.plain_key, obj.resource_version)
        if self._recent.get([("cause", cause, *place)]):
            return
        span = self._clock.tracer.start_span(
            cause,
            context=Context(),  # a trace of its own, whatever span the informer's thread was started in
            kind=SpanKind.PRODUCER,
            attributes={
                "k8s.object.kind": collection.resource.kind,
                "k8s.object.name": obj.name,
                "k8s.namespace.name": obj.namespace,
                "k8s.object.resource_version": obj.resource_version,
            },
            start_time=self._clock.now(),
        )
        write = self._recent.put(span, ("cause", cause, *place), ("change", *place), look_up=("write", *place))
        if write is not None:
            span.add_link(write)
        span.end(self._clock.now())

    def reconcile(self, controller: str, request: Request, number: int, causes: Causes) -> TracedReconcile:
        """Return the context manager of a reconcile, which sets its span and the fields of its log lines.

        Args:
            controller: The controller's name.
            request: The key.
            number: The number of the reconcile, for the log.
            causes: Why it was requested.
        """
        changes = self._recent.get(("cause", text, key, version) for text, key, version, _ in causes)
        before = self._recent.pop(("reconcile", controller, request))
        parent = set_span_in_context(NonRecordingSpan(changes[0]), Context()) if changes else Context()
        links = [Link(each) for each in changes[1:]]
        if before is not None:
            links.append(Link(before, {"reason": "the reconcile that asked for this one"}))
        span = self._clock.tracer.start_span(
            f"reconcile {controller}",
            context=parent,
            kind=SpanKind.CONSUMER if changes else SpanKind.INTERNAL,
            attributes={
                "controller": controller,
                "reconcile": number,
                "k8s.object.name": request.name,
                "k8s.namespace.name": request.namespace,
                "causes": [str(Cause._make(each)) for each in causes],
            },
            links=links,
            start_time=self._clock.now(),
        )
        return TracedReconcile(self._clock, span, controller, request, number)

    def ended(self, controller: str, request: Request, outcome: Outcome, end: Result | BaseException) -> None:
        """Record the end of this thread's reconcile in its span, and remember the span of one that will be repeated.

        Args:
            controller: The controller's name.
            request: The key.
            outcome: The outcome under which the metrics count the reconcile.
            end: The value that the reconciler returned, or the error that it raised.
        """
        span = get_current_span()
        span.set_attribute("outcome", outcome.name.lower())
        if outcome in _FAILED:
            is_error = isinstance(end, BaseException)
            text = f"{type(end).__name__}: {end}" if is_error else "the reconcile took longer than it may"
            span.set_status(StatusCode.ERROR, kept_text(text))
            if isinstance(end, Exception):
                span.record_exception(
                    end,
                    # In place of the whole texts, which an exporter would keep until it has sent them.
                    {
                        "exception.message": kept_text(end),
                        "exception.stacktrace": bounded("".join(traceback.format_exception(end))),
                    },
                    timestamp=self._clock.now(),
                )
        if outcome in _REPEATED:
            self._recent.put(span, ("reconcile", controller, request))


class TracedReconcile:
    """A context manager: inside its block, one reconcile's span is the current one; at the end, the span is ended.

    Threads: one, or one coroutine. Threads started inside inherit the span.
    """

    __slots__ = ("_clock", "_fields", "_span", "_token")

    def __init__(self, clock: SpanClock, span: Span, controller: str, request: Request, number: int) -> None:
        self._clock = clock
        self._span = span
        fields = {"controller": controller, "request": request, "reconcile": number}
        context = span.get_span_context()
        if context.trace_flags.sampled:  # else nobody could look the trace up
            fields["trace_id"] = f"{context.trace_id:032x}"
        self._fields = bound(**fields)

    def __enter__(self) -> None:
        self._token: Token[Context] = current.attach(set_span_in_context(self._span))
        self._fields.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._fields.__exit__(kind, error, trace)
        current.detach(self._token)
        self._span.end(self._clock.now())
