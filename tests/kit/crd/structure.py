# SPDX-License-Identifier: Apache-2.0
"""The structure of an OpenAPI schema as lines of text, one for each place, so that two schemas can be compared.

A line has the place's name, indented by its depth, its type and its constraints, without defaults and descriptions.
`python tests/kit/crd/structure.py FILE [VERSION]` prints the structure of the objects of a definition in YAML.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

_BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")
_FLAGS = {
    "nullable": "nullable",
    "exclusiveMinimum": "exclusiveMinimum",
    "exclusiveMaximum": "exclusiveMaximum",
    "x-kubernetes-preserve-unknown-fields": "open",
    "x-kubernetes-embedded-resource": "embedded",
}


def structure(schema: Mapping[str, Any], name: str = "", *, required: bool = False, depth: int = 0) -> Iterator[str]:
    """Yield the lines of a schema."""
    words = [name, "int-or-string" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "any")]
    if "format" in schema:
        words.append(schema["format"])
    words += ["required"] if required else []
    words += [word for flag, word in _FLAGS.items() if schema.get(flag)]
    words += [f"{bound}={schema[bound]}" for bound in _BOUNDS if bound in schema]
    if "enum" in schema:
        words.append("enum=" + "|".join(sorted(map(str, schema["enum"]))))
    if kind := schema.get("x-kubernetes-list-type"):
        words.append(f"{kind}({','.join(schema.get('x-kubernetes-list-map-keys', ()))})")
    if kind := schema.get("x-kubernetes-map-type"):
        words.append(f"{kind}-map")
    yield " " * depth + " ".join(words)
    needed = schema.get("required", ())
    for field, inner in sorted(schema.get("properties", {}).items()):
        yield from structure(inner, field, required=field in needed, depth=depth + 1)
    if "items" in schema:
        yield from structure(schema["items"], "[]", depth=depth + 1)
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from structure(schema["additionalProperties"], "{}", depth=depth + 1)


if __name__ == "__main__":
    versions = yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))["spec"]["versions"]
    chosen = [one for one in versions if one["name"] == (sys.argv[2:] or [versions[0]["name"]])[0]]
    print(*structure(chosen[0]["schema"]["openAPIV3Schema"], "Object"), sep="\n")  # noqa: T201
