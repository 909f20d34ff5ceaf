# SPDX-License-Identifier: Apache-2.0
"""The client's verbs: reads of the live state, and writes. Nothing is cached and nothing is repeated."""

from __future__ import annotations

import builtins
import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar, overload

from controller_runtime.api.codec import decoder_for
from controller_runtime.api.objects import Cached, Request, cached_from_bytes
from controller_runtime.api.resources import Resource
from controller_runtime.api.wire import HTTPRequest, HTTPResponse
from controller_runtime.client.answers import check
from controller_runtime.client.bodies import Body, encoded, mapping_of
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.patches import PatchType
from controller_runtime.client.transport import Transport
from controller_runtime.client.user_agent import user_agent as default_user_agent
from controller_runtime.core.errors import DecodeError
from controller_runtime.core.host import Host

T = TypeVar("T")
V = TypeVar("V")

_APPLY = "application/apply-patch+yaml"


class Client:
    """Reads and writes objects of one API server.

    Every call is one request (a list: one for each page) with a deadline. Errors:
    the `APIError` that the server's answer stands for, or `ConnectionLost` when there was
    none; then a write may have been done all the same.

    Args:
        host: Its clock bounds the calls, its name is told to the server.
        transport: Carries the requests.
        request_timeout: Seconds that one request may take.
        user_agent: What the server logs; by default this package, its version and the host's name.

    Threads: any.
    """

    def __init__(
        self, host: Host, transport: Transport, *, request_timeout: float = 30.0, user_agent: str | None = None
    ) -> None:
        if request_timeout <= 0:
            raise ValueError(f"request_timeout ({request_timeout}) must be positive")
        self.transport = transport
        self._host = host
        self._timeout = request_timeout
        self._headers = {"user-agent": user_agent or default_user_agent(host), "accept": "application/json"}

    def within(self, seconds: float) -> Self:
        """The same client for requests that may take `seconds` at most, and no longer than this one's."""
        if seconds <= 0:
            raise ValueError(f"seconds ({seconds}) must be positive")
        quick = copy.copy(self)
        quick._timeout = min(seconds, self._timeout)
        return quick

    @overload
    def get(self, resource: Resource[T], request: Request) -> T: ...

    @overload
    def get(self, resource: Resource[T], request: Request, view: type[V]) -> V: ...

    def get(self, resource: Resource[Any], request: Request, view: type[Any] | None = None) -> Any:
        """One object as it is now, as the resource's model or as `view`.

        Raises:
            NotFound: There is none of that name.
        """
        decode = decoder_for(view, resource)
        answer = self._call("GET", resource.path(request.namespace, request.name))
        return decode(answer.body)

    @overload
    def list(
        self, resource: Resource[T], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> list[T]: ...

    @overload
    def list(
        self,
        resource: Resource[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        view: type[V],
    ) -> builtins.list[V]: ...

    def list(
        self,
        resource: Resource[Any],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        view: type[Any] | None = None,
    ) -> builtins.list[Any]:
        """The objects of a collection as they are now, all of one version, fetched in pages of 500.

        Raises:
            Expired: The pages took so long that the server forgot the version: list again.
            DecodeError: One of the objects cannot be read.
        """
        decode = decoder_for(view, resource)
        collection = ListWatch(
            self._host,
            self.transport,
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            request_timeout=self._timeout,
        )
        found: builtins.list[Any] = []
        for page in collection.pages():
            if page.undecodable:
                raise DecodeError(f"{collection}: {page.undecodable[0].text}")
            found += [decode(cached.raw) for cached in page.items]
        return found

    def create(self, resource: Resource[Any], obj: Body, namespace: str = "") -> Cached:
        """Create an object; the answer is what the server made of it.

        Args:
            resource: Its collection.
            obj: The object; `kind` and `apiVersion` may be left out.
            namespace: Where to, unless the object says so itself.

        Raises:
            AlreadyExists: The name is taken.
            Invalid: The object breaks a rule of its kind.
            ValueError: The object names another namespace.
        """
        body = _typed(resource, obj)
        own = _word(body, "namespace")
        if own and namespace and own != namespace:
            raise ValueError(f"{resource}: the object is of namespace {own!r}, not {namespace!r}")
        return _written(self._call("POST", resource.path(own or namespace), body))

    def replace(self, resource: Resource[Any], obj: Body) -> Cached:
        """Write a whole object over the present one; with its resourceVersion only if that is still the present one.

        Fields that `obj` does not carry are removed: an official model drops those it does
        not know, so use a dict, or `patch`.

        Raises:
            Conflict: It has changed since it was read.
            NotFound: There is none of that name.
        """
        body = _typed(resource, obj)
        return _written(self._call("PUT", resource.path(_word(body, "namespace"), _word(body, "name")), body))

    def patch(
        self,
        resource: Resource[Any],
        request: Request,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002 (the field's word, and read at the call only)
        subresource: str = "",
    ) -> Cached:
        """Change a part of an object; the answer is the whole of it.

        Args:
            resource: Its collection.
            request: Its name.
            patch: What changes: a mapping, or a list of operations for `PatchType.JSON`.
                Name `metadata.resourceVersion` in it where the decision depended on what was read.
            type: How `patch` says so.
            subresource: Such as `status`.

        Raises:
            Conflict: The resourceVersion in `patch` is not the present one.
            NotFound: There is none of that name.
        """
        path = resource.path(request.namespace, request.name, subresource)
        return _written(self._call("PATCH", path, patch, type.value))

    def apply(
        self, resource: Resource[Any], obj: Body, *, field_manager: str, force: bool = False, subresource: str = ""
    ) -> Cached:
        """Server-side apply: make the fields of `obj` so, create it if need be, and own them from then on.

        Fields that this manager applied before and now leaves out are removed, unless
        somebody else owns them too.

        Args:
            resource: Its collection.
            obj: What this manager wants, and nothing else; with its name, without managedFields.
            field_manager: Who wants it.
            force: Take fields that others own over, instead of raising.
            subresource: Such as `status`.

        Raises:
            Conflict: Others own some of the fields with other values; `details["causes"]` names them.
            Invalid: No `field_manager`, or the object breaks a rule of its kind.
        """
        body = _typed(resource, obj)
        path = resource.path(_word(body, "namespace"), _word(body, "name"), subresource)
        query = (("fieldManager", field_manager), *([("force", "true")] if force else []))
        return _written(self._call("PATCH", path, body, _APPLY, query))  # JSON is YAML

    def delete(
        self,
        resource: Resource[Any],
        request: Request,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
    ) -> None:
        """Delete an object, or mark it for deletion where finalizers or a grace period hold it.

        Args:
            resource: Its collection.
            request: Its name.
            uid: Only the object of this uid, not one that has taken its name since.
            resource_version: Only if it has not changed since this version.
            grace_period_seconds: For pods; None is the object's own.
            propagation_policy: `Background`, `Foreground` or `Orphan`; None is the kind's own.

        Raises:
            NotFound: There is none of that name.
            Conflict: There is, but of another uid or version.
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options = _present(
            preconditions=_present(**preconditions) or None,
            gracePeriodSeconds=grace_period_seconds,
            propagationPolicy=propagation_policy,
        )
        body = {"kind": "DeleteOptions", "apiVersion": "v1", **options} if options else None
        self._call("DELETE", resource.path(request.namespace, request.name), body)

    def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        query: tuple[tuple[str, str], ...] = (),
    ) -> HTTPResponse:
        headers = self._headers if body is None else {**self._headers, "content-type": content_type}
        request = HTTPRequest(method, path, query, headers, b"" if body is None else encoded(body))
        return check(self.transport.request(request, self._host.monotonic() + self._timeout))


def _typed(resource: Resource[Any], obj: Body) -> dict[str, Any]:
    body = {"apiVersion": resource.api_version, "kind": resource.kind, **_present(**mapping_of(obj))}
    metadata = body.get("metadata")
    if metadata is not None:
        body["metadata"] = mapping_of(metadata)
    return body


def _word(body: Mapping[str, Any], name: str) -> str:
    return str((body.get("metadata") or {}).get(name) or "")


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _written(answer: HTTPResponse) -> Cached:
    return cached_from_bytes(answer.body)
