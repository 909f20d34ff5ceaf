# SPDX-License-Identifier: Apache-2.0
"""Parts of a real server's OpenAPI documents: schemas without descriptions, descriptions, and those of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ACTIONS = ("list", "post", "put", "patch", "delete", "deletecollection")

# Subresources whose parameters stand beside their operations, each under its own name.
HANDED_ON = ("attach", "exec", "log", "portforward", "proxy")


def bare(node: Any) -> Any:
    """Return a schema without descriptions; a property named `description` stays."""
    if isinstance(node, dict):
        return {k: bare(v) for k, v in sorted(node.items()) if k != "description" or not isinstance(v, str)}
    return [bare(item) for item in node] if isinstance(node, list) else node


def texts(schema: dict[str, Any]) -> dict[str, str]:
    """Return the descriptions of a definition's fields by name, and its own under the empty name."""
    fields = {
        name: child["description"] for name, child in schema.get("properties", {}).items() if child.get("description")
    }
    return {"": schema["description"], **fields} if schema.get("description") else fields


def parameters(documents: Sequence[Any]) -> dict[str, str]:
    """Return the description of each parameter by name; one that differs in patches has `patch.` before it."""
    operations = [
        operation
        for document in documents
        for item in document["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict) and operation.get("x-kubernetes-action") in ACTIONS
    ]
    found = {
        one["name"]: one["description"]
        for operation in operations
        for one in operation.get("parameters", ())
        if operation["x-kubernetes-action"] != "patch"
    }
    found["namespace"] = "object name and auth scope, such as for teams and projects"  # stands beside operations
    for document in documents:
        for path, item in document["paths"].items():
            *_, part = path.split("/")
            if part in HANDED_ON:
                own = (one for one in item.get("parameters", ()) if one["in"] == "query" and one["name"] != "pretty")
                found |= {f"{part}.{one['name']}": one["description"] for one in own}
    for operation in operations:
        for one in operation.get("parameters", ()):
            if found.setdefault(one["name"], one["description"]) != one["description"]:
                found[f"patch.{one['name']}"] = one["description"]
    return dict(sorted(found.items()))
