# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI v3 paths of logs, and of subresources whose requests are passed on to nodes, pods and services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_apiserver.groups.parts import PARTS
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.protobuf.envelope import MEDIA_TYPE as PROTOBUF

_STREAMS = ("get", "post")
_PROXIES = ("get", "put", "post", "delete", "options", "head", "patch")
_ANY = ("*/*",)
_TEXTS = ("application/json", "application/yaml", PROTOBUF, "text/plain")

Texts = Mapping[str, str]


def connected_paths(kind: Kind, path: str, part: str, texts: Texts) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the OpenAPI paths of a subresource with streams or a proxy, with their operations.

    Args:
        kind: The kind of the objects.
        path: The path of the subresource.
        part: The name of the subresource.
        texts: The descriptions of the parameters, by name.
    """
    if part != "proxy":
        yield path, _item(kind, path, part, _STREAMS, texts)
        return
    yield path, _item(kind, path, part, _PROXIES, texts)
    below = f"{path}/{{path}}"
    yield below, _item(kind, below, part, _PROXIES, texts)


def with_log(item: dict[str, Any], texts: Texts) -> dict[str, Any]:
    """Return the OpenAPI path item of a `log` subresource: its response is a text, and it has special parameters."""
    get = {**item["get"], "parameters": [], "responses": _responses(_TEXTS)}
    return {**item, "get": get, "parameters": [*item["parameters"], *_query("log", texts)]}


def _item(kind: Kind, path: str, part: str, methods: tuple[str, ...], texts: Texts) -> dict[str, Any]:
    about = PARTS[part].response_kind(kind)
    scope = "Namespaced" if "{namespace}" in path else ""
    end = f"{kind.kind}{part.capitalize()}{'WithPath' if '{path}' in path else ''}"
    operations = {
        method: {
            "tags": ["core_v1"],
            "description": f"connect {method.upper()} requests to {part} of {kind.kind}",
            "operationId": f"connectCoreV1{method.capitalize()}{scope}{end}",
            "responses": _responses(_ANY),
            "x-kubernetes-action": "connect",
            "x-kubernetes-group-version-kind": {"group": about.group, "version": about.version, "kind": about.kind},
        }
        for method in methods
    }
    variables = [name for name in ("name", "namespace", "path") if f"{{{name}}}" in path]
    parameters = [_variable(name, about.kind, texts) for name in variables]
    return {**operations, "parameters": [*parameters, *_query(part, texts)]}


def _responses(media_types: tuple[str, ...]) -> dict[str, Any]:
    content = {media_type: {"schema": {"type": "string"}} for media_type in media_types}
    return {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}}


def _variable(name: str, about: str, texts: Texts) -> dict[str, Any]:
    text = {"name": f"name of the {about}", "path": "path to the resource"}.get(name) or texts[name]
    schema = {"type": "string", "uniqueItems": True}
    return {"name": name, "in": "path", "description": text, "required": True, "schema": schema}


def _query(part: str, texts: Texts) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "query",
            "description": texts[f"{part}.{name}"],
            "schema": {"type": type_, "uniqueItems": True},
        }
        for name, type_ in PARTS[part].query.items()
    ]
