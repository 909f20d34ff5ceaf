# SPDX-License-Identifier: Apache-2.0
"""The rights that requests need, and those that roles grant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller_runtime.api.http import HTTPRequest

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

Right = tuple[str, str, str, str]
"""Namespace (empty: everywhere), API group, resource with subresource, verb."""


def rights_of(documents: Iterable[Mapping[str, Any]]) -> set[Right]:
    """Returns the rights that the roles among the documents grant."""
    return {
        (document["metadata"].get("namespace", ""), group, resource, verb)
        for document in documents
        for rule in document.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def right_of(request: HTTPRequest) -> Right:
    """Returns the right that an API server would require for the request."""
    parts = request.path.strip("/").split("/")
    group, parts = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    resource = "/".join([parts[0], *parts[2:]])
    is_watch = any(name == "watch" and value in ("1", "true") for name, value in request.query)
    read = "get" if len(parts) > 1 else "watch" if is_watch else "list"
    return namespace, group, resource, VERBS.get(request.method, read)


def is_covered(right: Right, grants: set[Right]) -> bool:
    """Returns whether a right is granted, in its namespace or everywhere."""
    return right in grants or ("", *right[1:]) in grants
