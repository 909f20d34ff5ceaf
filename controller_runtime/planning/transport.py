# SPDX-License-Identifier: Apache-2.0
"""The transport of a plan: writes become dry runs, and reads find what is planned."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport, TransportWrapper
from controller_runtime.core.resource_paths import ResourcePath, resource_path
from controller_runtime.isolation.calls import OutwardCall
from controller_runtime.isolation.guard import OutsideRefused
from controller_runtime.planning.dry_runs import DryRunOnly, as_dry_run
from controller_runtime.planning.outcomes import document, meta_of
from controller_runtime.planning.overlay import Overlay, Work, current_work
from controller_runtime.planning.reads import listed, planned_answer, with_planned
from controller_runtime.planning.writes import plan_write

_INTO_PODS = ("exec", "attach", "portforward", "proxy")
"""Subresources that lead out of the API server, where nothing is a dry run."""


class PlanTransport(TransportWrapper):
    """A `transport.Transport` that sends only reads and dry runs, and keeps the states that writes would lead to.

    Args:
        host: The source of time, the lock and randomness.
        inner: Carries the requests; it gets only reads and dry runs.
        on_outside: Called with each request that has effects outside of the API server (into a pod or proxy), before it
            is refused.
        is_over: Returns the outside call of a reconcile that was refused, after which it may no longer write; None if
            there was none.

    Attributes:
        overlay: The planned states.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        inner: Transport,
        on_outside: Callable[[OutwardCall], None] = lambda call: None,
        is_over: Callable[[Work], OutwardCall | None] = lambda work: None,
    ) -> None:
        super().__init__(DryRunOnly(inner))
        self.overlay = Overlay(host)
        self._host = host
        self._on_outside = on_outside
        self._is_over = is_over

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """Answer a read with planned states included, or plan a write; see `Transport.request`.

        Raises:
            OutsideRefused: The request has effects outside of the API server; or it is a write of a reconcile whose
                earlier outside call was refused, so that the write would be wrong.
        """
        target = resource_path(request.path)
        self._stay_inside(target)

        def send(asked: HTTPRequest) -> HTTPResponse:
            return self.inner.request(asked, deadline)

        if target is None:
            return send(as_dry_run(request))
        if request.method in ("GET", "HEAD"):
            known = planned_answer(self.overlay, request, target) if target.name else None
            return known or with_planned(self.overlay, request, target, send(request))
        self._refuse_after_refusal()
        if ("dryRun", "All") in request.query:  # the writer's own: it changes nothing in the end either
            return send(request)
        if request.method == "DELETE" and not target.name:
            return self._delete_collection(request, target, deadline)
        if request.method == "POST" and not target.name:
            target = target.named(str(meta_of(document(request.body)).get("name") or ""))
        return plan_write(self._host, self.overlay, request, target, send)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        """Open a watch at the server, which does not show planned changes; see `Transport.stream`."""
        self._stay_inside(resource_path(request.path))
        return self.inner.stream(as_dry_run(request), deadline)

    def _delete_collection(self, request: HTTPRequest, target: ResourcePath, deadline: float) -> HTTPResponse:
        """Plan the deletion of each object that the selectors match now, planned ones among them."""
        selectors = tuple(pair for pair in request.query if pair[0] in ("labelSelector", "fieldSelector"))
        headers = {name: value for name, value in request.headers.items() if name == "user-agent"}
        asked = HTTPRequest("GET", target.path, selectors, {**headers, "accept": "application/json"})
        page = with_planned(self.overlay, asked, target, self.inner.request(asked, deadline))
        answer = self.inner.request(as_dry_run(request), deadline)
        if not 200 <= answer.status < 300:
            return answer
        for item in listed(page):
            metadata = meta_of(item)
            one = target._replace(namespace=metadata.get("namespace", ""), name=metadata["name"])
            single = HTTPRequest("DELETE", one.path, (), request.headers, request.body)
            plan_write(self._host, self.overlay, single, one, lambda each: self.inner.request(each, deadline))
        return answer

    def _stay_inside(self, target: ResourcePath | None) -> None:
        if target is not None and target.subresource in _INTO_PODS:
            call = OutwardCall(f"{target.plural}/{target.name}/{target.subresource}")
            self._on_outside(call)
            raise OutsideRefused(call)

    def _refuse_after_refusal(self) -> None:
        work = current_work.get()
        if work is not None and (call := self._is_over(work)) is not None:
            raise OutsideRefused(call)
