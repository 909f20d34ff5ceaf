# SPDX-License-Identifier: Apache-2.0
"""The objects that a test declares and a controller reconciles, found in the record of an unperturbed run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from apimachinery.http import HTTPRequest
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.handlers import enqueue_object
from controller_runtime.controller.sources import Watch
from controller_runtime.testing.perturbation.record import Told
from controller_runtime.testing.perturbation.sequence_states import Schema
from controller_runtime.testing.perturbation.telling import unconditional
from embedded_apiserver import Kind, Kinds, Route, find_route
from embedded_apiserver.perturbation import Name

Content = dict[str, Any]
"""A declared state: the object without `apiVersion`, `kind`, `metadata` and `status`."""

_NOT_DECLARED = ("apiVersion", "kind", "metadata", "status")
# Kinds whose objects the parts of a cluster write, to say what is so: kubelets, the scheduler, leaders. No user
# declares a state of them that a controller has to bring about, and a pod that is deleted waits for its kubelet.
_REPORTED = frozenset(
    {
        *("nodes", "pods", "events", "events.events.k8s.io", "endpoints", "namespaces"),
        *("leases.coordination.k8s.io", "leasecandidates.coordination.k8s.io"),
    }
)


@attrs.frozen(eq=False)
class Primary:
    """An object whose states are varied by a sequence.

    Attributes:
        kind: The kind.
        namespace: The namespace; empty if the kind is cluster-scoped.
        name: The name.
        metadata: The labels and annotations that the test declares first; they stay the same.
        states: The states that the test declares, in order, at least one.
        others: The test's writes of other objects, in order, without deletions.
    """

    kind: Kind
    namespace: str
    name: str
    metadata: Mapping[str, Any]
    states: Sequence[Content]
    others: Sequence[HTTPRequest]

    @property
    def target(self) -> Name:
        """The name of the object in records and reports."""
        return Name(self.kind.resource, f"{self.namespace}/{self.name}" if self.namespace else self.name)

    @property
    def path(self) -> str:
        """The path of the object on the server."""
        kind = self.kind
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        return f"{root}{f'/namespaces/{self.namespace}' if self.namespace else ''}/{kind.plural}/{self.name}"

    @property
    def schema(self) -> Schema:
        """The schema of the object's states; empty for a built-in kind, whose states are derived from the test's."""
        if self.kind.definition is None:
            return {}
        structure: Schema = self.kind.definition.structure
        fields = {name: field for name, field in structure.get("properties", {}).items() if name not in _NOT_DECLARED}
        required = [name for name in structure.get("required", ()) if name in fields]
        return {**structure, "properties": fields, "required": required}


def own_resources(controllers: Iterable[Controller]) -> set[str]:
    """Return the resources that controllers reconcile themselves: a change of an object leads to a request for that
    object.
    """
    return {
        _resource_name(source)
        for controller in controllers
        for source in controller.sources
        if isinstance(source, Watch) and source.map is enqueue_object
    }


def _resource_name(source: Watch) -> str:
    resource = source.collection.resource
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def primaries(kinds: Kinds, story: Sequence[Told], own: Collection[str]) -> list[Primary]:
    """Return the objects that a test declares and a controller reconciles, in the order of their creation.

    Kinds that the parts of a cluster write themselves, such as pods, are left out.

    Args:
        kinds: The kinds of the server, including those that the test defines.
        story: The actions of the test.
        own: The resources that controllers reconcile, by `own_resources`.
    """
    writes = [(told.request, route) for told in story if told.request and (route := _route_of(kinds, told.request))]
    declared: dict[tuple[str, str, str], tuple[Route, Mapping[str, Any], list[Content]]] = {}
    for request, route in writes:
        body = _body_of(request)
        if body is None or route.subresource or request.method == "DELETE":
            continue
        if route.kind.resource not in own or route.kind.resource in _REPORTED:
            continue
        name = route.name or body.get("metadata", {}).get("name", "")
        if not name:
            continue
        former = declared.get((route.kind.resource, route.namespace, name))
        if former is None:
            if request.method == "POST" or "apply" in _media_type(request):
                made = (route._replace(name=name), _metadata_of(body), [_content_of(body)])
                declared[route.kind.resource, route.namespace, name] = made
        elif (state := _next(former[2][-1], request, body)) not in former[2]:
            former[2].append(state)
    return [
        Primary(route.kind, route.namespace, route.name, metadata, states, _others(writes, route))
        for route, metadata, states in declared.values()
    ]


def merged(target: Any, patch: Any) -> Any:
    """Return `target` after a merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    found = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value)
    return found


def _others(writes: Sequence[tuple[HTTPRequest, Route]], primary: Route) -> list[HTTPRequest]:
    def is_primary(request: HTTPRequest, route: Route) -> bool:
        name = route.name or (_body_of(request) or {}).get("metadata", {}).get("name", "")
        return (route.kind, route.namespace, name) == (primary.kind, primary.namespace, primary.name)

    return [
        unconditional(request)
        for request, route in writes
        if request.method != "DELETE" and not is_primary(request, route)
    ]


def _next(state: Content, request: HTTPRequest, body: Mapping[str, Any]) -> Content:
    """Return the state that a write of a declared object declares, or `state` if that cannot be told."""
    if request.method in ("POST", "PUT") or "apply" in _media_type(request):
        return _content_of(body)
    if "merge-patch" in _media_type(request) and "strategic" not in _media_type(request):
        return _content_of(merged(state, body))
    return state


def _route_of(kinds: Kinds, request: HTTPRequest) -> Route | None:
    return find_route(kinds, request.path.rstrip("/"))


def _media_type(request: HTTPRequest) -> str:
    return next((value for name, value in request.headers.items() if name.lower() == "content-type"), "")


def _body_of(request: HTTPRequest) -> dict[str, Any] | None:
    try:
        body = msgspec.json.decode(request.body) if request.body else None
    except msgspec.DecodeError:
        return None
    return body if isinstance(body, dict) else None


def _metadata_of(body: Mapping[str, Any]) -> dict[str, Any]:
    metadata = body.get("metadata", {})
    return {name: metadata[name] for name in ("labels", "annotations") if metadata.get(name)}


def _content_of(body: Mapping[str, Any]) -> Content:
    found: Content = _without_nulls({name: value for name, value in body.items() if name not in _NOT_DECLARED})
    return found


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {name: _without_nulls(part) for name, part in value.items() if part is not None}
        case list():
            return [_without_nulls(part) for part in value]
        case _:
            return value
