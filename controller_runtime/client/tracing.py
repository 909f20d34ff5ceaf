# SPDX-License-Identifier: Apache-2.0
"""Spans of OpenTelemetry around requests; imported only by a manager that was given a tracer provider."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from urllib.parse import urlsplit

from opentelemetry import propagate
from opentelemetry.context import Context
from opentelemetry.trace import (
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    Tracer,
    TracerProvider,
    get_current_span,
    set_span_in_context,
)

from apimachinery.errors import DecodeError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import cached_from_bytes
from apimachinery.texts import kept_text
from controller_runtime.client.transport import Transport, TransportWrapper
from controller_runtime.core.resource_paths import resource_path
from controller_runtime.core.version import __version__

REMEMBERED = 8192
"""The most spans that can be linked to, the newest ones; about 4 MiB. Older ones are forgotten."""


class SpanClock:
    """Starts and ends spans at the times of a host, so that a simulation's spans have its virtual time.

    Args:
        host: The source of the time.
        provider: Makes the tracer, which decides the sampled spans and their exporter.

    Threads: any.
    """

    def __init__(self, host: Host, provider: TracerProvider) -> None:
        self._host = host
        self.tracer: Tracer = provider.get_tracer("controller_runtime", __version__)

    def now(self) -> int:
        """Return the time as OpenTelemetry needs it: nanoseconds since 1970, with a precision of a microsecond."""
        return round(self._host.now().timestamp() * 1e6) * 1000


class RecentSpans:
    """The spans of the last `REMEMBERED` changes, writes and reconciles, by key. Threads: any."""

    def __init__(self, host: Host) -> None:
        # Guards the fields below.
        self._lock = host.lock("recent spans")
        self._spans: OrderedDict[Hashable, tuple[SpanContext, int]] = OrderedDict()
        self._count = 0  # how many spans were put: the order in which they came

    def count(self) -> int:
        """Return the number of spans put so far, to be passed as `since` to a later `put`."""
        with self._lock:
            return self._count

    def put(self, span: Span, *keys: Hashable, look_up: Hashable = None, since: int = 0) -> SpanContext | None:
        """Store a span under those `keys` that have no span; in the same step, return the span under `look_up`, or
        None.

        A write and the change that it causes are seen on two threads. Each puts its own span and looks for the other,
        so exactly the later one finds the earlier. A span that was put before the count `since` is not returned: a
        write that changes nothing is answered with the version of a change that it did not make.
        """
        context = span.get_span_context()
        with self._lock:
            found, at = self._spans.get(look_up, (None, 0))
            self._count += 1
            for key in keys:
                self._spans.setdefault(key, (context, self._count))
            while len(self._spans) > REMEMBERED:
                self._spans.popitem(last=False)
            return found if at > since else None

    def get(self, keys: Iterable[Hashable]) -> list[SpanContext]:
        """Return the spans stored under these keys; keys without a span are left out."""
        with self._lock:
            return [self._spans[key][0] for key in keys if key in self._spans]

    def pop(self, key: Hashable) -> SpanContext | None:
        """Remove and return the span under a key; None if there is none."""
        with self._lock:
            found, _ = self._spans.pop(key, (None, 0))
        return found


class TracedTransport(TransportWrapper):
    """A `transport.Transport` that makes a span for each request inside another span, such as that of a reconcile.

    The request has the span's `traceparent` header, by which a tracing server links its own spans. Requests outside of
    a span, and streams, pass unchanged.

    Args:
        clock: Makes the spans.
        recent: Keeps the spans of writes, so that the changes which they cause can be linked.
        inner: Carries the requests.

    Threads: any.
    """

    def __init__(self, clock: SpanClock, recent: RecentSpans, inner: Transport) -> None:
        super().__init__(inner)
        self._clock = clock
        self._recent = recent
        self._server = urlsplit(str(inner)).hostname or str(inner)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if not get_current_span().get_span_context().is_valid:
            return self.inner.request(request, deadline)
        span = self._clock.tracer.start_span(
            f"{request.method} {collection_of(request.path)}".rstrip(),
            kind=SpanKind.CLIENT,
            attributes={
                "http.request.method": request.method,
                "url.path": request.path,
                "server.address": self._server,
            },
            start_time=self._clock.now(),
        )
        begun = self._recent.count()
        headers = dict(request.headers)
        propagate.inject(headers, context=set_span_in_context(span, Context()))
        try:
            response = self.inner.request(request._replace(headers=headers), deadline)
            span.set_attribute("http.response.status_code", response.status)
            if response.status >= 400:  # an error of the server or of the client, as the conventions for clients say
                span.set_status(StatusCode.ERROR)
                span.set_attribute("error.type", str(response.status))
            elif request.method != "GET":
                self._note_write(span, response, begun)
            return response
        except Exception as error:
            span.set_status(StatusCode.ERROR, kept_text(f"{type(error).__name__}: {error}"))
            span.set_attribute("error.type", type(error).__qualname__)
            raise
        finally:
            span.end(self._clock.now())

    def _note_write(self, span: Span, response: HTTPResponse, begun: int) -> None:
        try:
            written = cached_from_bytes(response.body)
        except DecodeError:  # such as a Status: the answer shows no object, so no change can be known by its version
            return
        place = (written.plain_key, written.resource_version)
        span.set_attribute("k8s.object.resource_version", written.resource_version)
        change = self._recent.put(span, ("write", *place), look_up=("change", *place), since=begun)
        if change is not None:  # the watch was quicker than the answer; links may be added until a span ends
            span.add_link(change)


def collection_of(path: str) -> str:
    """Return the plural that an API path names, with its subresource: `nodes`, `pods/status`; empty for other paths.

    The result never has the name of an object, so that it can be the name of a span, of which there should be few.
    """
    named = resource_path(path)
    return named.resource_and_part if named is not None else ""
