# SPDX-License-Identifier: Apache-2.0
"""Reads from a request whether it deletes objects. Pure functions."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from apimachinery.http import HTTPRequest
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import NAMESPACES, PODS
from controller_runtime.core.resource_paths import resource_path
from controller_runtime.crd.definitions import DEFINITIONS

CONTAINERS = frozenset((str(NAMESPACES), str(DEFINITIONS)))
"""The kinds whose deletion also deletes other objects: a namespace with its objects, and a definition with those of its
kind.
"""

_APPLY = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"
_OF_FINALIZERS = "/metadata/finalizers"


class Takes(enum.Enum):
    """The objects that a request would delete."""

    OBJECT = "object"
    """The object that its path names, by a deletion or an eviction."""
    LAST_FINALIZER = "last finalizer"
    """The object that the request writes, if it is being deleted and would have no finalizer left."""
    COLLECTION = "collection"
    """The objects that it selects."""


class Deletion(NamedTuple):
    """The objects that a request would delete.

    Attributes:
        takes: Which objects it would delete.
        kind: The kind in the path, with its group: `pods`, `deployments.apps`.
        namespace: The namespace in the path; empty if there is none.
        name: The name of the object; empty for a collection.
        path: The path of the object, without a subresource, or of the collection.
    """

    takes: Takes
    kind: str
    namespace: str
    name: str
    path: str


def deletion_of(request: HTTPRequest, budgeted: Collection[str]) -> Deletion | None:
    """Return what a request deletes of the budgeted kinds, as far as the request shows it; None if it deletes nothing.

    Deletions of ConfigMaps are always included, since deletions are recorded in one, and so are those of `CONTAINERS`.
    A dry run deletes nothing.

    Args:
        request: The request.
        budgeted: The names of the kinds that have a budget.
    """
    target = None if request.method in ("GET", "HEAD") else resource_path(request.path)
    if target is None:
        return None
    kind = target.plural_and_group
    takes = _takes(request, kind, target.subresource, bool(target.name), budgeted)
    if takes is None or _is_dry(request):
        return None
    return Deletion(takes, kind, target.namespace, target.name, target.path)


def _takes(
    request: HTTPRequest, kind: str, subresource: str, is_object: bool, budgeted: Collection[str]
) -> Takes | None:
    match request.method:
        case "DELETE" if not subresource and (kind in budgeted or kind in CONTAINERS or kind == str(CONFIG_MAPS)):
            return Takes.OBJECT if is_object else Takes.COLLECTION
        case "POST" if subresource == "eviction" and kind == str(PODS) and kind in budgeted:
            return Takes.OBJECT
        case "PUT" if subresource == "finalize" and kind == str(NAMESPACES):
            return None if _part(_document(request), "spec").get("finalizers") else Takes.OBJECT
        case "PUT" | "PATCH" if subresource in ("", "status") and kind in budgeted and may_end(request):
            return Takes.LAST_FINALIZER
    return None


def may_end(request: HTTPRequest) -> bool:
    """Return whether an update or a patch can remove the last finalizer of an object that is being deleted.

    An update with a resourceVersion but without a deletionTimestamp cannot: it was read before the deletion, so the
    server refuses it.
    """
    kind, document = request.headers.get("content-type", "").partition(";")[0].strip(), _document(request)
    if kind == _JSON_PATCH:
        return any(_removes(each) for each in (document if isinstance(document, list) else ()))
    metadata = _part(document, "metadata")
    if request.method == "PUT":
        was_read = "resourceVersion" in metadata and "deletionTimestamp" not in metadata
        return not metadata.get("finalizers") and not was_read
    if kind == _APPLY:
        return not metadata.get("finalizers")
    if any(name.startswith("$") for name in metadata):  # a directive of a strategic merge patch
        return True
    is_removed = isinstance(document, dict) and document.get("metadata", {}) is None
    return is_removed or ("finalizers" in metadata and not metadata["finalizers"])


def _removes(operation: Any) -> bool:
    if not isinstance(operation, dict) or operation.get("op") == "test":
        return False
    path, source = str(operation.get("path", "")), str(operation.get("from", ""))
    if operation.get("op") == "move" and source.startswith(_OF_FINALIZERS):
        return True
    if path in ("", "/metadata"):
        value = operation.get("value")
        metadata = _part(value, "metadata") if path == "" else value
        return not (isinstance(metadata, dict) and metadata.get("finalizers"))
    if path.startswith(_OF_FINALIZERS):
        return operation.get("op") == "remove" or not operation.get("value")
    return False


def is_last(metadata: Mapping[str, Any], request: HTTPRequest) -> bool:
    """Return whether an object has finalizers now, and may have none after a request for which `may_end` is true.

    A JSON patch may remove some of several, which its operations show. An apply removes those that its field manager
    applied before.

    Args:
        metadata: The metadata of the object before the request.
        request: The request.
    """
    finalizers = metadata.get("finalizers") or ()
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if not finalizers:
        return False
    if kind == _APPLY:
        manager = dict(request.query).get("fieldManager")
        owned = (each for each in metadata.get("managedFields") or () if each.get("manager") == manager)
        return any("f:finalizers" in _part(each.get("fieldsV1"), "f:metadata") for each in owned)
    if kind != _JSON_PATCH:
        return True
    operations = [each for each in _document(request) if _removes(each)]
    single = [each for each in operations if str(each.get("path", "")).startswith(f"{_OF_FINALIZERS}/")]
    return len(single) < len(operations) or len(single) >= len(finalizers)


def _is_dry(request: HTTPRequest) -> bool:
    """Return whether a request is a dry run; a deletion with a body has its options there, and nowhere else."""
    in_query = any(name == "dryRun" for name, _ in request.query)
    if request.method not in ("DELETE", "POST") or not request.body:
        return in_query
    document = _document(request)
    options = document if request.method == "DELETE" else _part(document, "deleteOptions")
    is_asked = isinstance(options, dict) and bool(options.get("dryRun"))
    return is_asked or (in_query and request.method == "POST")


def _document(request: HTTPRequest) -> Any:
    try:
        return msgspec.json.decode(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _part(document: Any, name: str) -> dict[str, Any]:
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}
