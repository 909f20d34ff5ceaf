# SPDX-License-Identifier: Apache-2.0
"""Finds writes of a status that the server would drop or refuse, from what the class of a custom resource declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller_runtime.api.resources import Resource
from controller_runtime.crd.types import CustomResource


def lost_status(resource: Resource[Any], body: object, subresource: str = "") -> str:
    """Return why the server would not store the status in `body`, with a remedy; empty if it would, or if unknown.

    The server drops a status that is written without its subresource and answers with success, and answers `NotFound`
    about an object that exists if its kind has no such subresource.

    Args:
        resource: The resource. The answer is only known for one with a declared class.
        body: The object that is created or applied, or the patch: a mapping, or a list of operations.
        subresource: The subresource that the request names; empty for the object itself.
    """
    cls = resource.model
    if not (isinstance(cls, type) and issubclass(cls, CustomResource)):
        return ""
    if "status" not in cls.__struct_fields__:
        if subresource == "status" or (not subresource and _has_status(body)):
            return f"{cls.__name__} has no field `status`, so the server stores none: add the field to the class"
        return ""
    if subresource or not _has_status(body):
        return ""
    return f"the server drops a status of {cls.__name__} that is written without subresource='status'"


def _has_status(body: object) -> bool:
    if isinstance(body, Mapping):
        return body.get("status") is not None
    operations: Iterable[object] = body if isinstance(body, list | tuple) else ()
    paths = (str(each.get("path")) for each in operations if isinstance(each, Mapping))
    return any(path == "/status" or path.startswith("/status/") for path in paths)
