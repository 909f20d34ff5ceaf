# SPDX-License-Identifier: Apache-2.0
"""Tell requests that are answered in a few milliseconds from those that may take long, before they are answered.

What a request costs follows from the bytes that are decoded, compared and encoded for it: its
body, the object that it names, or the objects that it lists. Three kinds of requests have costs
of their own: JSON patches multiply both sizes, definitions decide what is served, and custom
objects are as expensive as their schema.
"""

from __future__ import annotations

from controller_runtime.api.http import HTTPRequest
from controller_runtime.apiserver.kinds.registry import DEFINITION
from controller_runtime.apiserver.options import is_watch, query_of
from controller_runtime.apiserver.routes import Route
from controller_runtime.apiserver.storage.storage import Storage

LIGHT = 64 * 1024
"""Bytes of a body, of an object or of a list that are worked on in a few milliseconds."""

# Objects of a list whose sizes are added up: more are heavy, whatever their size.
_COUNTED = 256
# Bytes of a custom object times those of its definition: each value may be compared with each word of the schema.
_LIGHT_PRODUCT = 64 * 1024 * 1024
# The patches whose result is no larger than the object and the patch, in time that grows with both.
_LIGHT_PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json")
_READS = ("GET", "HEAD")


def is_heavy(storage: Storage, request: HTTPRequest, route: Route | None) -> bool:
    """Whether answering `request`, whose path names `route`, may take more than a few milliseconds."""
    if len(request.body) > LIGHT:
        return True
    if route is None:
        return request.path.startswith("/openapi")  # built from all schemas whenever the kinds have changed
    method = request.method
    if not route.name and method != "POST":
        return not is_watch(query_of(request.query)) and _is_large(storage, route)
    found = storage.get(route.kind.resource, route.key) if route.name else None
    size = 0 if found is None else len(found.raw)
    return size > LIGHT or (method not in _READS and _is_laborious(storage, route, request, size))


def _is_large(storage: Storage, route: Route) -> bool:
    """Whether a list, or the deletion of a collection, goes over much."""
    items = storage.read(route.kind.resource, f"{route.namespace}/" if route.namespace else "").items
    return len(items) > _COUNTED or sum(len(item.raw) for item in items) > LIGHT


def _is_laborious(storage: Storage, route: Route, request: HTTPRequest, size: int) -> bool:
    """Whether the cost of a write does not follow from the sizes of its body and of its object, `size`."""
    kind = route.kind
    if kind.resource == DEFINITION.resource:
        return True
    if request.method == "PATCH":
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in _LIGHT_PATCHES:
            return True
    if kind.definition is None:
        return False
    definition = storage.get(DEFINITION.resource, kind.resource)
    return definition is not None and len(definition.raw) * (len(request.body) + size) > _LIGHT_PRODUCT
