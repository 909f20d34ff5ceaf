# SPDX-License-Identifier: Apache-2.0
"""A client that reads; `client.py` adds the writes, and the calls that enter pods."""

from __future__ import annotations

import builtins
import copy
import os
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload

from apimachinery.errors import ConnectionLost, DecodeError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from apimachinery.system import SystemHost
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.collection import Collection
from controller_runtime.api.conditions import ObjectCondition
from controller_runtime.api.readiness import Readiness
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.client.calls import ClientCalls
from controller_runtime.client.discovery import Discovery
from controller_runtime.client.kubeconfig_transport import kubeconfig_transport
from controller_runtime.client.paging import ListBounds
from controller_runtime.client.subresources import kind_of
from controller_runtime.client.throttle import ThrottledTransport
from controller_runtime.client.transport import Transport
from controller_runtime.client.user_agent import user_agent as default_user_agent
from controller_runtime.client.waiting import wait_for
from controller_runtime.client.warnings import Warnings

T = TypeVar("T")
V = TypeVar("V")


class ClientReads:
    """Reads objects of one API server, and waits for their states. It is the base of `Client`, and usable alone.

    Args:
        host: The source of the time; its name is part of the user agent.
        transport: Carries the requests.
        request_timeout: Seconds that one request may take.
        user_agent: The `User-Agent`, which servers log; by default this package's name, version and the host's name.
        list_bounds: The bounds of one list's size and of the rate of its pages.

    Raises:
        ValueError: `request_timeout` is not positive.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        transport: Transport,
        *,
        request_timeout: float = 30.0,
        user_agent: str | None = None,
        list_bounds: ListBounds | None = None,
    ) -> None:
        if request_timeout <= 0:
            raise ValueError(f"request_timeout ({request_timeout}) must be positive")
        self._list_bounds = list_bounds or ListBounds()
        agent = user_agent or default_user_agent(host)
        self._calls = ClientCalls(host, transport, request_timeout, agent, Warnings(host))
        self._discovery = Discovery(host)  # that of copies, too, so that what one of them has read is known to all

    @property
    def host(self) -> Host:
        """The source of the time for deadlines."""
        return self._calls.host

    @property
    def transport(self) -> Transport:
        """The transport that carries the requests."""
        return self._calls.transport

    @classmethod
    def from_kubeconfig(cls, path: str | os.PathLike[str] | None = None, context: str | None = None) -> Self:
        """Return a client for the cluster that a kubeconfig describes, with the clock and the network of this machine.

        Close its `transport` when the client is no longer used, which closes its connections.

        Args:
            path: The kubeconfig. If it is None, a process in a pod uses the pod's cluster, unless `context` is given;
                otherwise the kubeconfig is the file that `$KUBECONFIG` names, or else `~/.kube/config`.
            context: The name of a context in the kubeconfig; None for its current context.

        Raises:
            UsageError: The configuration is missing or cannot be used.
        """
        host = SystemHost()
        return cls(host, kubeconfig_transport(host, path, context))

    def within(self, seconds: float) -> Self:
        """Return a copy of this client with a timeout of `seconds` for each request, unless its own is shorter.

        Raises:
            ValueError: `seconds` is not positive.
        """
        if seconds <= 0:
            raise ValueError(f"seconds ({seconds}) must be positive")
        return self._with(self._calls._replace(timeout=min(seconds, self._calls.timeout)))

    def until(self, deadline: float) -> Self:
        """Return a copy of this client whose requests must end before `deadline`, in monotonic seconds of the host.

        After the deadline, each request raises `ConnectionLost`, and nothing is sent.
        """

        def limit(request: HTTPRequest) -> float:
            if deadline <= self.host.monotonic():
                raise ConnectionLost(f"{request.method} {request.path} was not sent: its deadline has passed")
            return deadline

        return self._with(self._calls.bounded(limit))

    def limited(self, qps: float, burst: int = 10) -> Self:
        """Return a copy of this client that sends at most `burst` requests at once, then `qps` a second.

        The copy shares the limit with copies that are made of it. A request that would have to wait past its deadline
        raises `ConnectionLost` at once, and is not sent.

        Raises:
            ValueError: `qps` is not positive, or `burst` is less than one.
        """
        throttled = ThrottledTransport(self.host, self.transport, qps, burst)
        return self._with(self._calls._replace(transport=throttled))

    def resource(self, name: str, api_version: str = "") -> Resource[Any]:
        """Return the resource of a kind that the server serves, found by `name`; its objects are read as dicts.

        The server's discovery is read once, and again when a name is not found, but at most every two seconds. So a
        kind that was just defined may not be found for two seconds. If several groups or versions have the name, the
        server's order of preference decides.

        Args:
            name: The kind, plural, singular or short name, such as `Deployment` or `deploy`, perhaps with the group:
                `deployments.apps`.
            api_version: Search only in this group and API version, such as `apps/v1`; empty for all.

        Raises:
            NotFound: The server does not serve such a kind. The message names the groups whose discovery failed.
        """
        calls = self._calls
        return self._discovery.resource(lambda path, accept: calls.call("GET", path, accept=accept), name, api_version)

    @overload
    def get(self, resource: Kind[T], key: ObjectKey) -> T: ...

    @overload
    def get(self, resource: Kind[T], key: ObjectKey, view: type[V]) -> V: ...

    def get(self, resource: Kind[Any], key: ObjectKey, view: type[Any] | None = None) -> Any:
        """Read one object from the server, and return it as an instance of `view`, or of the resource's default class.

        Raises:
            NotFound: No object has that key.
        """
        known = resource_of(resource)
        decode = decoder_for(view, known)
        return decode(self._calls.call("GET", known.path(key.namespace, key.name)).body)

    @overload
    def get_subresource(self, resource: Kind[Any], key: ObjectKey, subresource: str) -> dict[str, Any]: ...

    @overload
    def get_subresource(self, resource: Kind[Any], key: ObjectKey, subresource: str, view: type[V]) -> V: ...

    def get_subresource(
        self, resource: Kind[Any], key: ObjectKey, subresource: str, view: type[Any] | None = None
    ) -> Any:
        """Read a subresource, such as `scale`, from the server, and return it as a dict, or as an instance of `view`.

        Raises:
            NotFound: No object has that key, or its kind has no such subresource.
        """
        known = resource_of(resource)
        decode = decoder_for(view or dict, kind_of(known, subresource))
        return decode(self._calls.call("GET", known.path(key.namespace, key.name, subresource)).body)

    @overload
    def list(
        self, resource: Kind[T], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> list[T]: ...

    @overload
    def list(
        self,
        resource: Kind[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        view: type[V],
    ) -> builtins.list[V]: ...

    def list(
        self,
        resource: Kind[Any],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        view: type[Any] | None = None,
    ) -> builtins.list[Any]:
        """Read all objects of a collection from the server, in pages of 500 of one resourceVersion, and return them.

        Args:
            resource: The resource, or the declared class of the objects.
            namespace: Only objects in this namespace; empty for all namespaces.
            label_selector: Only objects whose labels match.
            field_selector: Only objects whose fields match.
            view: The class to decode into; None for the default class of the resource.

        Raises:
            Expired: Reading took so long that the server no longer has the resourceVersion; call `list` again.
            DecodeError: One of the objects cannot be read, or the list goes beyond its bounds.
        """
        decode = decoder_for(view, resource_of(resource))
        collection = self._calls.objects(Collection(resource, namespace, label_selector, field_selector))
        found: builtins.list[Any] = []
        for page in collection.pages(bounds=self._list_bounds):
            if page.undecodable:
                raise DecodeError(f"{collection}: {page.undecodable[0].text}")
            found += [decode(cached.raw) for cached in page.items]
        return found

    @overload
    def wait(
        self, resource: Kind[T], key: ObjectKey, *, until: ObjectCondition | Readiness, within: float = ...
    ) -> T: ...

    @overload
    def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[V],
        *,
        until: ObjectCondition | Readiness,
        within: float = ...,
    ) -> V: ...

    @overload
    def wait(
        self, resource: Kind[T], key: ObjectKey, *, until: Callable[[T | None], bool], within: float = ...
    ) -> T | None: ...

    @overload
    def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[V],
        *,
        until: Callable[[V | None], bool],
        within: float = ...,
    ) -> V | None: ...

    def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[Any] | None = None,
        *,
        until: Callable[[Any], bool],
        within: float = 30.0,
    ) -> Any:
        """Wait until `until` is true for an object, and return the object as `get` does.

        Only this object is watched; if the server does not allow that, it is read once a second. So a role needs `list`
        and `watch` of this name, or `get`. Transient failures, such as a lost connection, are retried. Each request has
        this client's timeout. Its deadline, a reconcile's or a leadership's ends the wait, with the error of a request.

        Args:
            resource: The object's resource.
            key: The object's name and namespace.
            view: The class to decode into; None for the default class of the resource.
            until: A predicate that gets each state, or None while the object is absent: `ready`, `condition("Ready")`,
                `gone`, or a quick function, which must not be an `async def`.
            within: The most seconds to wait.

        Returns:
            The object in the first state for which `until` is true; None if that state is its absence.

        Raises:
            WaitTimeout: `until` was not true in time; the message shows the last state.
            NotFound: The server does not serve the resource.
            Forbidden: The object may be neither watched nor read.
            DecodeError: The object cannot be read.
            ValueError: `within` is not positive.
        """
        return wait_for(self._calls, resource, key, view, until, within)

    def _with(self, calls: ClientCalls) -> Self:
        other = copy.copy(self)
        other._calls = calls
        return other
