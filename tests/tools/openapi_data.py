# SPDX-License-Identifier: Apache-2.0
"""Writes schemas-1.36.json.gz and descriptions-1.36.json.gz from the documents of a real server.

Save them as files first (`kubectl get --raw /openapi/v3/api/v1`, …), one for each group
version that is to be known, then run `python tests/tools/openapi_data.py FILE...`.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "apimachinery" / "data" / "schemas-1.36.json.gz"
DESCRIPTIONS = ROOT / "apiserver" / "embedded_apiserver" / "discovery" / "data" / "descriptions-1.36.json.gz"
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


def pack(target: Path, content: Any) -> None:
    """Write a file; the same content gives the same bytes."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main() -> int:
    """Read the documents, write both files."""
    documents = [json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]]
    schemas: dict[str, Any] = {}
    for document in documents:
        schemas |= document["components"]["schemas"]
    pack(SCHEMAS, bare(schemas))
    known = {name: found for name, schema in schemas.items() if (found := texts(schema))}
    pack(DESCRIPTIONS, {"definitions": known, "parameters": parameters(documents)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
