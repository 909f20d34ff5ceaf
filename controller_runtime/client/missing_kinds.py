# SPDX-License-Identifier: Apache-2.0
"""Tells the 404 of a kind that the server does not serve from every other 404."""

from __future__ import annotations

from typing import Any

from apimachinery.errors import NoSuchKind, NotFound
from controller_runtime.api.resources import Resource


def explained(error: NotFound, resource: Resource[Any]) -> NotFound:
    """Return the error to raise for a 404 of a collection's path: `NoSuchKind`, or `error` if it means something else.

    A server that does not have the group answers with the text of Go's HTTP server. One that has the group and not the
    version or the plural answers with a Status that names no object, while the Status of an absent object or namespace
    names it. A 404 of anything between this client and the server, such as a proxy's page, is neither.
    """
    is_unknown = not error.details.get("name") if error.reason else str(error).endswith(": 404 page not found")
    if not is_unknown:
        return error
    is_custom = "." in resource.group and not resource.group.endswith(".k8s.io")
    remedy = "is its CustomResourceDefinition installed?" if is_custom else "does this server enable that API?"
    text = f"the server has no kind {resource.kind} in {resource.api_version}: {remedy}"
    return NoSuchKind(text, code=error.code, reason=error.reason, details=error.details)
