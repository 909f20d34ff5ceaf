# SPDX-License-Identifier: Apache-2.0
"""The access that a request needs, read from its method, path, query and body. Pure functions.

The path is read as an API server reads it; a test compares this with the embedded server's own authorization.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from apimachinery.http import HTTPRequest
from controller_runtime.core.resource_paths import resource_path

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_APPLY = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"

# Every user who is authenticated has these rights from the first roles of a cluster: `system:discovery` and
# `system:basic-user`.
_DISCOVERY = re.compile(r"/(api|apis|openapi|version)(/.*)?|/(healthz|livez|readyz)")
_ABOUT_ONESELF = {
    ("authorization.k8s.io", "selfsubjectaccessreviews", "create"),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "create"),
    ("authentication.k8s.io", "selfsubjectreviews", "create"),
}


class AskedAccess(NamedTuple):
    """A right that one request needs.

    Attributes:
        verb: The verb, such as `list`.
        group: The API group; empty for the core group.
        resource: The resource with its subresource, such as `pods/status`; empty if the path names none.
        namespace: The namespace; empty for a cluster-scoped resource and for all namespaces.
        name: The name of the object, also for a creation; empty for a collection.
        path: The path, if it names no resource.
    """

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Blocked(NamedTuple):
    """An owner reference with `blockOwnerDeletion` in a write, for which some servers require a right on the owner.

    Attributes:
        group: The owner's API group.
        kind: The owner's kind.
        namespace: The namespace of the written object; empty if it is cluster-scoped.
        name: The owner's name.
        is_update: True if the whole object was written, so that it may have had this owner before.
    """

    group: str
    kind: str
    namespace: str
    name: str
    is_update: bool


def asked_by(request: HTTPRequest) -> list[AskedAccess]:
    """Return the rights that a request needs, without those that every user has.

    An apply that may create the object also needs `create`. A watch with an initial list also needs `list`, because the
    cache lists first on servers that do not stream lists. A stream to a pod needs `get` and `create`.
    """
    asked = _by_path(request)
    if asked.path:
        return [] if _DISCOVERY.fullmatch(asked.path) else [asked]
    if (asked.group, asked.resource, asked.verb) in _ABOUT_ONESELF:
        return []
    if asked.verb == "get" and "upgrade" in request.headers:  # a stream of a pod, which is no read since 1.35
        return [asked, asked._replace(verb="create")]
    if asked.verb == "watch" and ("sendInitialEvents", "true") in request.query:
        return [asked, asked._replace(verb="list")]
    if asked.verb == "create" and not asked.name:
        return [asked._replace(name=str(_metadata(request).get("name") or ""))]
    if asked.verb == "patch" and "/" not in asked.resource and _content_type(request) == _APPLY:
        metadata = _metadata(request)
        if not metadata.get("uid") and not metadata.get("resourceVersion"):  # with either, it cannot create
            return [asked, asked._replace(verb="create")]
    return [asked]


def blocked_by(request: HTTPRequest) -> Iterator[Blocked]:
    """Yield the owners to which a write refers with `blockOwnerDeletion: true`."""
    if b"blockOwnerDeletion" not in request.body:
        return
    asked = _by_path(request)
    for reference in _owner_references(request):
        if isinstance(reference, dict) and reference.get("blockOwnerDeletion") is True:
            group = str(reference.get("apiVersion", "")).rpartition("/")[0]
            kind, name = str(reference.get("kind", "")), str(reference.get("name", ""))
            yield Blocked(group, kind, asked.namespace, name, asked.verb == "update")


def _by_path(request: HTTPRequest) -> AskedAccess:
    asked = resource_path(request.path)
    if asked is None:
        return AskedAccess(request.method.lower(), path=request.path)
    verb = _VERBS.get(request.method, request.method.lower())
    if not asked.name and verb == "get":
        verb = "watch" if any(key == "watch" and value in ("1", "true") for key, value in request.query) else "list"
    if not asked.name and verb == "delete":
        verb = "deletecollection"
    return AskedAccess(verb, asked.group, asked.resource_and_part, asked.namespace, asked.name)


def _content_type(request: HTTPRequest) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip()


def _body(request: HTTPRequest) -> Any:
    """Return the decoded body; an empty dict if it is not JSON, which this library's clients always write."""
    try:
        return msgspec.json.decode(request.body)
    except msgspec.DecodeError:
        return {}


def _metadata(request: HTTPRequest) -> dict[str, Any]:
    body = _body(request)
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _owner_references(request: HTTPRequest) -> Iterator[Any]:
    if _content_type(request) != _JSON_PATCH:
        yield from _metadata(request).get("ownerReferences") or ()
        return
    operations = _body(request)
    for operation in operations if isinstance(operations, list) else ():
        path, value = str(operation.get("path", "")), operation.get("value")
        if path == "/metadata" and isinstance(value, dict):
            yield from value.get("ownerReferences") or ()
        elif path.startswith("/metadata/ownerReferences"):
            yield from value if isinstance(value, list) else [value]
