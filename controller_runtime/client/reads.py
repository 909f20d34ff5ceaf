# SPDX-License-Identifier: Apache-2.0
"""The half of `Client` that sends requests and reads; `client.py` adds the writes."""

from __future__ import annotations

import builtins
import copy
import os
from typing import Any, Self, TypeVar, overload

from apimachinery.errors import ConnectionLost, DecodeError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from apimachinery.system import SystemHost
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.client.answers import check
from controller_runtime.client.bodies import encoded
from controller_runtime.client.deadlines import DeadlineTransport
from controller_runtime.client.discovery import Discovery
from controller_runtime.client.kubeconfig_transport import kubeconfig_transport
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.paging import ListBounds
from controller_runtime.client.subresources import kind_of
from controller_runtime.client.throttle import ThrottledTransport
from controller_runtime.client.transport import Transport
from controller_runtime.client.user_agent import user_agent as default_user_agent
from controller_runtime.client.warnings import Warnings
from controller_runtime.client.write_options import Query

T = TypeVar("T")
V = TypeVar("V")

_JSON = "application/json"


class ClientReads:
    """The constructor, the copies with other limits, and the reads of `Client`, its only subclass.

    It is a class of its own because one file would be too long.

    Args:
        host: Its clock bounds the calls, and its name is part of the user agent.
        transport: Carries the requests.
        request_timeout: Seconds that one request may take.
        user_agent: The name in the server's logs; by default this package, its version and the host's name.
        list_bounds: How much one list may bring, and how quickly its pages are asked for.

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
        self.transport = transport
        self.host = host
        self._timeout = request_timeout
        self._list_bounds = list_bounds or ListBounds()
        self._agent = user_agent or default_user_agent(host)
        self._warnings = Warnings(host)
        self._discovery = Discovery(host, lambda path, accept: self._call("GET", path, accept=accept))

    @classmethod
    def from_kubeconfig(cls, path: str | os.PathLike[str] | None = None, context: str | None = None) -> Self:
        """Return a client on this machine, for the cluster that a kubeconfig describes.

        Close its `transport` when it is used no more, which ends its connections.

        Args:
            path: The file. If None, the file that `$KUBECONFIG` names, or `~/.kube/config`; but a process in a pod uses
                the cluster of the pod, unless `context` is given.
            context: The name of one of its contexts; None is the current one.

        Raises:
            UsageError: The configuration is missing or cannot be used.
        """
        host = SystemHost()
        return cls(host, kubeconfig_transport(host, path, context))

    def within(self, seconds: float) -> Self:
        """Return a copy whose requests may take `seconds` at most, and no longer than those of this client.

        Raises:
            ValueError: `seconds` is not positive.
        """
        if seconds <= 0:
            raise ValueError(f"seconds ({seconds}) must be positive")
        quick = copy.copy(self)
        quick._timeout = min(seconds, self._timeout)
        return quick

    def until(self, deadline: float) -> Self:
        """Return a copy whose requests must be over by `deadline`, in monotonic seconds of the host.

        Once it has passed, each request raises `ConnectionLost` and nothing is sent.
        """

        def limit(request: HTTPRequest) -> float:
            if deadline <= self.host.monotonic():
                raise ConnectionLost(f"{request.method} {request.path} was not sent: its deadline has passed")
            return deadline

        bounded = copy.copy(self)
        bounded.transport = DeadlineTransport(self.transport, limit)
        return bounded

    def limited(self, qps: float, burst: int = 10) -> Self:
        """Return a copy that begins at most `burst` requests at once and then `qps` a second, as client-go does.

        The copy and the copies made of it share the limit. A request that would have to wait past its
        deadline raises `ConnectionLost` at once, and is not sent.

        Raises:
            ValueError: `qps` is not positive, or `burst` is less than one.
        """
        other = copy.copy(self)
        other.transport = ThrottledTransport(self.host, self.transport, qps, burst)
        return other

    def resource(self, name: str, api_version: str = "") -> Resource[Any]:
        """Return the resource of any kind that the server serves; its objects are read as dicts.

        The server's discovery is read once, and again when a name is not found, but at most every two
        seconds. So a kind that was just defined may not be found for two seconds. If several groups or
        versions have the name, the server's order of preference decides.

        Args:
            name: Its kind, plural, singular or short name, such as `Deployment` or `deploy`; `deployments.apps` names
                the group as well.
            api_version: Only in this group and API version, such as `apps/v1`.

        Raises:
            NotFound: The server does not serve such a kind. The message names the groups whose discovery failed.
        """
        return self._discovery.resource(name, api_version)

    @overload
    def get(self, resource: Kind[T], key: ObjectKey) -> T: ...

    @overload
    def get(self, resource: Kind[T], key: ObjectKey, view: type[V]) -> V: ...

    def get(self, resource: Kind[Any], key: ObjectKey, view: type[Any] | None = None) -> Any:
        """Return one object as the server has it now, as the resource's model or as `view`.

        Raises:
            NotFound: No object has that key.
        """
        known = resource_of(resource)
        decode = decoder_for(view, known)
        return decode(self._call("GET", known.path(key.namespace, key.name)).body)

    @overload
    def get_subresource(self, resource: Kind[Any], key: ObjectKey, subresource: str) -> dict[str, Any]: ...

    @overload
    def get_subresource(self, resource: Kind[Any], key: ObjectKey, subresource: str, view: type[V]) -> V: ...

    def get_subresource(
        self, resource: Kind[Any], key: ObjectKey, subresource: str, view: type[Any] | None = None
    ) -> Any:
        """Return a subresource, such as `scale`, as the server has it now, as a dict or as `view`.

        Raises:
            NotFound: No object has that key, or its kind has no such subresource.
        """
        known = resource_of(resource)
        decode = decoder_for(view or dict, kind_of(known, subresource))
        return decode(self._call("GET", known.path(key.namespace, key.name, subresource)).body)

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
        """Return the objects of a collection as the server has them now, all at one resourceVersion, in pages of 500.

        Args:
            resource: The resource, or the declared class of the objects.
            namespace: Only this namespace; empty for all of them.
            label_selector: Only objects whose labels match.
            field_selector: Only objects whose fields match.
            view: The class to read as; None for that of the resource.

        Raises:
            Expired: The pages took so long that the server no longer has the resourceVersion: list again.
            DecodeError: One of the objects cannot be read, or the list goes beyond its bounds.
        """
        decode = decoder_for(view, resource_of(resource))
        collection = ListWatch(
            self.host,
            self.transport,
            Collection(resource, namespace, label_selector, field_selector),
            request_timeout=self._timeout,
            warnings=self._warnings,
        )
        found: builtins.list[Any] = []
        for page in collection.pages(bounds=self._list_bounds):
            if page.undecodable:
                raise DecodeError(f"{collection}: {page.undecodable[0].text}")
            found += [decode(cached.raw) for cached in page.items]
        return found

    def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = _JSON,
        accept: str = _JSON,
        query: Query = (),
    ) -> HTTPResponse:
        headers = {"user-agent": self._agent, "accept": accept}
        if body is not None:
            headers["content-type"] = content_type
        request = HTTPRequest(method, path, query, headers, b"" if body is None else encoded(body))
        answer = self.transport.request(request, self.host.monotonic() + self._timeout)
        self._warnings.log_new(answer, path)
        return check(answer)
