# SPDX-License-Identifier: Apache-2.0
"""Distinguishes the 404 of a kind that the server does not serve from every other 404."""

from __future__ import annotations

from typing import Any

from apimachinery.errors import NoSuchKind, NotFound
from controller_runtime.api.resources import Resource


def explained(error: NotFound, resource: Resource[Any]) -> NotFound:
    """Return the error to raise for a 404: `NoSuchKind` if the kind is not served, otherwise `error` itself.

    The kind is not served in two cases: the body is the text of Go's HTTP server, because the group is unknown, or a
    Status that names no object, because the version or plural is unknown. The Status of an absent object or namespace
    has its name. A 404 of a proxy has neither form.
    """
    is_unknown = not error.details.get("name") if error.reason else str(error).endswith(": 404 page not found")
    if not is_unknown:
        return error
    is_custom = "." in resource.group and not resource.group.endswith(".k8s.io")
    remedy = "is its CustomResourceDefinition installed?" if is_custom else "does this server enable that API?"
    text = f"the server has no kind {resource.kind} in {resource.api_version}: {remedy}"
    return NoSuchKind(text, code=error.code, reason=error.reason, details=error.details)
