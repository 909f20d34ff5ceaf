# SPDX-License-Identifier: Apache-2.0
"""Records a run: the test's actions in the transport of its client, and changes with their changed fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport, TransportWrapper
from controller_runtime.testing.perturbation.naming import Kin
from controller_runtime.testing.perturbation.record import Landed
from embedded_apiserver import Change
from embedded_apiserver.perturbation import name_of

Tell = Callable[[HTTPRequest, Callable[[], HTTPResponse]], HTTPResponse]
"""Called with a write and a function that carries it out; records the write, carries it out, and returns the answer."""


class StoryTransport(TransportWrapper):
    """The transport of the test's client: each write is recorded as an action of the test.

    Args:
        inner: Carries the requests.
        tell: Called with each write and a function that carries it out; returns the answer.

    Threads: any.
    """

    def __init__(
        self, inner: Transport, tell: Callable[[HTTPRequest, Callable[[], HTTPResponse]], HTTPResponse]
    ) -> None:
        super().__init__(inner)
        self._tell = tell

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if request.method in ("GET", "HEAD", "OPTIONS"):
            return self.inner.request(request, deadline)
        return self._tell(request, lambda: self.inner.request(request, deadline))

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        return self.inner.stream(request, deadline)


def landed_of(resource: str, change: Change, first: int, writer: tuple[str, int], step: int, phase: int) -> Landed:
    """Return the record of a change.

    Args:
        resource: The resource of the object.
        change: The change.
        first: The server's resourceVersion when the run began.
        writer: The writer, and the number of its request or step.
        step: The number of steps that the test had made.
        phase: The number of steps and waits that the test had made.
    """
    old = change.old.decode() if change.old is not None else None
    new = change.new.decode() if change.new is not None else None
    shown: Any = new or old
    return Landed(
        version=change.version - first,
        name=name_of(resource, shown["metadata"]),
        writer=writer[0],
        number=writer[1],
        step=step,
        phase=phase,
        fields=tuple(_changed(old, new)) if old is not None and new is not None else (),
        creates=old is None,
        deletes=new is None,
        kin=_kin(new["metadata"]) if old is None and new is not None else frozenset(),
    )


def _kin(metadata: Mapping[str, Any]) -> Kin:
    owners = [(each["kind"], each["name"]) for each in metadata.get("ownerReferences") or ()]
    return frozenset([*owners, *(metadata.get("labels") or {}).items()])


def _changed(old: Any, new: Any, path: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            found
            for name in sorted({*old, *new})
            if name not in ("resourceVersion", "managedFields", "generation")
            for found in _changed(old.get(name), new.get(name), f"{path}.{name}" if path else name)
        ]
    return [] if old == new else [path]


def unconditional(request: HTTPRequest) -> HTTPRequest:
    """Return a write without uid, resourceVersion and preconditions, which differ in another run."""
    try:
        body = msgspec.json.decode(request.body) if request.body else None
    except msgspec.DecodeError:
        return request
    if not isinstance(body, dict):
        return request
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        body["metadata"] = {name: part for name, part in metadata.items() if name not in ("uid", "resourceVersion")}
    body.pop("preconditions", None)
    return request._replace(body=msgspec.json.encode(body))
