# SPDX-License-Identifier: Apache-2.0
"""Tells requests that take a few milliseconds from those that may take long, before they are answered.

The cost of a request follows from the bytes that are decoded, compared and encoded for it: those of its body, of the
object that it names, or of the objects that it lists. There are five exceptions: the cost of a JSON patch can grow
with the product of both sizes; a definition changes what is served; the cost of a custom object grows with its
schema; the rules of a role are compared right by right with those of its writer; and expressions of policies and of
custom resources can take long for a small object.
"""

from __future__ import annotations

from apimachinery.http import HTTPRequest
from embedded_apiserver.groups.core.kinds import COMPONENT_STATUS
from embedded_apiserver.groups.definitions.kinds import DEFINITION
from embedded_apiserver.groups.devices.kinds import DEVICE_CLASS, RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from embedded_apiserver.groups.rbac.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from embedded_apiserver.groups.registration.kinds import (
    MUTATING_HOOKS,
    MUTATING_POLICY,
    MUTATING_POLICY_BINDING,
    VALIDATING_HOOKS,
    VALIDATING_POLICY,
    VALIDATING_POLICY_BINDING,
)
from embedded_apiserver.list_options import is_watch
from embedded_apiserver.options import query_of
from embedded_apiserver.routes import Route
from embedded_apiserver.storage.storage import Storage

LIGHT = 64 * 1024
"""The size in bytes of a body, an object or a list up to which a request takes a few milliseconds."""

# The most objects of a list whose sizes are added up. A list with more is heavy, whatever their sizes.
_COUNTED = 256
# The size of a custom object times that of its definition: each value may be checked against each part of the schema.
_LIGHT_PRODUCT = 64 * 1024 * 1024
# The patches whose result is at most as large as object and patch together, and which take time in proportion.
_LIGHT_PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json")
_READS = ("GET", "HEAD")
_JUDGES = (
    (VALIDATING_POLICY.resource, VALIDATING_POLICY_BINDING.resource),
    (MUTATING_POLICY.resource, MUTATING_POLICY_BINDING.resource),
)
# Kinds with expressions, which are compiled when they are written: up to 20 µs for a character.
_COMPILED = tuple(
    kind.resource
    for kind in (
        *(VALIDATING_POLICY, MUTATING_POLICY, VALIDATING_HOOKS, MUTATING_HOOKS),
        *(DEVICE_CLASS, RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE),
    )
)
_RULES = b'"x-kubernetes-validations"'
_COMPARED = tuple(kind.resource for kind in (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING))


def is_heavy(storage: Storage, request: HTTPRequest, route: Route | None) -> bool:
    """Return whether answering `request` may take more than a few milliseconds; `route` is that of its path, if any."""
    if len(request.body) > LIGHT:
        return True
    if route is None:
        return request.path.startswith("/openapi")  # built from all schemas whenever the kinds have changed
    method = request.method
    if method not in _READS and _is_judged(storage):
        return True
    if not route.name and method != "POST":
        return not is_watch(query_of(request.query)) and _is_large(storage, route)
    found = storage.get(route.kind.resource, route.key) if route.name else None
    size = 0 if found is None else len(found.raw)
    return size > LIGHT or (method not in _READS and _is_laborious(storage, route, request, size))


def calls_out(storage: Storage, request: HTTPRequest, route: Route | None) -> bool:
    """Return whether answering `request` may wait for a webhook or a component; `route` is that of its path, if any."""
    if route is None:
        return False
    if route.kind.conversion is not None or route.kind == COMPONENT_STATUS:
        return True
    if request.method in _READS:
        return False
    return not all(storage.is_empty(kind.resource) for kind in (MUTATING_HOOKS, VALIDATING_HOOKS))


def _is_judged(storage: Storage) -> bool:
    """Return whether policies may judge writes. Which ones is not looked at: that takes as long as a usual write."""
    return any(not storage.is_empty(policies) and not storage.is_empty(bindings) for policies, bindings in _JUDGES)


def _is_large(storage: Storage, route: Route) -> bool:
    """Return whether a collection has many objects or bytes, for a list or the deletion of the collection."""
    items = storage.read(route.kind.resource, f"{route.namespace}/" if route.namespace else "").items
    return len(items) > _COUNTED or sum(len(item.raw) for item in items) > LIGHT


def _is_laborious(storage: Storage, route: Route, request: HTTPRequest, size: int) -> bool:
    """Return whether the cost of a write may be out of proportion to its body and its object of `size` bytes."""
    kind = route.kind
    if kind.resource == DEFINITION.resource or kind.resource in _COMPARED or kind.resource in _COMPILED:
        return True
    if request.method == "PATCH":
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in _LIGHT_PATCHES:
            return True
    if kind.definition is None:
        return False
    definition = storage.get(DEFINITION.resource, kind.resource)
    if definition is None:
        return False
    has_rules = request.method != "DELETE" and _RULES in definition.raw
    return has_rules or len(definition.raw) * (len(request.body) + size) > _LIGHT_PRODUCT
