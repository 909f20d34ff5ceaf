# SPDX-License-Identifier: Apache-2.0
"""The facts about a program that decide its rights, and the place where a manager's requests can be observed.

A manager writes no roles. These are the facts from which `controller_runtime.rights` makes them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.client.transport import Stream, Transport, TransportWrapper


def _resource(kind: Kind[Any]) -> Resource[Any]:
    return resource_of(kind)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise UsageError(f"the names of a right are a list: names=[{names!r}]")
    return tuple(names)


@attrs.frozen
class Right:
    """A limit on the rights of a program, for `Manager.declare`: names and namespaces that belong to the program.

    When rights are recorded in a test, names and namespaces of requests are not used, because a cluster has others. So
    a program that always reads the same object declares it here, and the recorded role is then limited to that object.

    Attributes:
        resource: The resource, or a declared class; its subresources are included.
        names: The names of the objects that the program requests. Requests for other names are recorded without a name.
            So are requests that create, list, watch or delete a collection, since roles cannot limit them by name.
        namespace: The namespace of these objects, for which a Role is recorded; empty if the program finds the
            namespace at run time.

    Raises:
        UsageError: Neither names nor a namespace are given, `names` is a single string, or a namespace is given for a
            cluster-scoped resource.
    """

    resource: Resource[Any] = attrs.field(converter=_resource)
    names: tuple[str, ...] = attrs.field(default=(), kw_only=True, converter=_names)
    namespace: str = attrs.field(default="", kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not self.names and not self.namespace:
            raise UsageError(f"a right to {self.resource} bounds nothing: give names or a namespace")
        if self.namespace and not self.resource.namespaced:
            raise UsageError(f"{self.resource} are cluster-scoped: a right to them has no namespace")


Observe = Callable[[Any], Callable[[HTTPRequest], None]]
"""Called with each new `Manager`; returns a function that is called with each of its requests, on the request's thread,
before it is sent.

The type of the manager is `Any`, because modules below it must not import it.
"""

# The innermost observation of this process: managers are made anywhere, so no argument could reach them.
_observers: list[Observe] = []


@contextlib.contextmanager
def observing(observe: Observe) -> Iterator[None]:
    """Return a context manager: `observe` is called for each manager made inside its block.

    The requests of such a manager are reported even after the block. An inner block replaces an outer one. Threads:
    one, while no other makes managers.
    """
    _observers.append(observe)
    try:
        yield
    finally:
        _observers.remove(observe)


def observed(manager: object, transport: Transport) -> Transport:
    """Return the transport for a new manager; inside `observing`, one that reports each request to the observer."""
    return _ObservedTransport(transport, _observers[-1](manager)) if _observers else transport


class _ObservedTransport(TransportWrapper):
    def __init__(self, inner: Transport, note: Callable[[HTTPRequest], None]) -> None:
        super().__init__(inner)
        self._note = note

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self._note(request)
        return self.inner.request(request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        self._note(request)
        return self.inner.stream(request, deadline)
