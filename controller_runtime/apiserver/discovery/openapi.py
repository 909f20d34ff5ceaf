# SPDX-License-Identifier: Apache-2.0
"""OpenAPI v3 documents, one for each group version, made from the kinds served and their recorded schemas.

They tell what `kubectl` and other generic clients read: which paths there are, which
patches they take, how lists merge, and what fields there are (`kubectl explain`).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from controller_runtime.apiserver.discovery.discovery import VERSION
from controller_runtime.apiserver.kinds.kind import Kind, Kinds
from controller_runtime.apiserver.kinds.parts import PARTS
from controller_runtime.apiserver.writes.patch import patches_of

_REF = "#/components/schemas/"
_BODIES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_ANSWERS = ("application/json", "application/yaml")
_OF_COLLECTIONS = {"list": "get", "create": "post", "deletecollection": "delete"}
_OF_OBJECTS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
_ACTIONS = {"create": "post", "update": "put"}  # where the document's word for a verb is another
_LIST_QUERY = {
    **dict.fromkeys(("continue", "fieldSelector", "labelSelector", "resourceVersion"), "string"),
    "resourceVersionMatch": "string",
    "limit": "integer",
    "timeoutSeconds": "integer",
    **dict.fromkeys(("allowWatchBookmarks", "sendInitialEvents", "watch"), "boolean"),
}
_WRITE_QUERY = dict.fromkeys(("dryRun", "fieldManager", "fieldValidation"), "string")
_DELETE_QUERY = {
    "dryRun": "string",
    "gracePeriodSeconds": "integer",
    "orphanDependents": "boolean",
    "propagationPolicy": "string",
}
_QUERIES: Mapping[str, Mapping[str, str]] = {
    "list": _LIST_QUERY,
    "create": _WRITE_QUERY,
    "update": _WRITE_QUERY,
    "patch": {**_WRITE_QUERY, "force": "boolean"},
    "delete": _DELETE_QUERY,
    "deletecollection": {**_LIST_QUERY, **_DELETE_QUERY},
}


def openapi_document(kinds: Kinds, path: str) -> bytes | None:
    """The index at `/openapi/v3`, the document of a group version below it, or None for no such document."""
    if path == "/openapi/v3":
        return msgspec.json.encode(
            {"paths": {name: _link(name, told) for name, told in _group_versions(kinds).items()}}
        )
    told = _group_versions(kinds).get(path.removeprefix("/openapi/v3/"))
    return None if told is None else _document(tuple(told))


def _link(name: str, kinds: Iterable[Kind]) -> dict[str, str]:
    digest = hashlib.sha256(_document(tuple(kinds))).hexdigest().upper()
    return {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}


def _group_versions(kinds: Kinds) -> dict[str, list[Kind]]:
    """The kinds of each group version, by the path it is served at."""
    found: dict[str, list[Kind]] = {}
    for kind in kinds:
        found.setdefault(_root(kind).removeprefix("/"), []).append(kind)
    return found


def _root(kind: Kind) -> str:
    return f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"


@functools.lru_cache  # of kinds that are gone no more documents stay than the cache holds
def _document(kinds: tuple[Kind, ...]) -> bytes:
    paths = {path: item for kind in kinds for path, item in _paths(kind)}
    return msgspec.json.encode(
        {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": VERSION},
            "paths": dict(sorted(paths.items())),
            "components": {"schemas": _schemas(paths, [kind.schemas for kind in kinds])},
        }
    )


def _paths(kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
    below = f"{_root(kind)}/namespaces/{{namespace}}" if kind.namespaced else _root(kind)
    collection = f"{below}/{kind.plural}"
    yield collection, _item(kind, collection, kind.verbs, _OF_COLLECTIONS)
    if kind.namespaced and "list" in kind.verbs:
        everywhere = f"{_root(kind)}/{kind.plural}"
        yield everywhere, _item(kind, everywhere, ("list",), _OF_COLLECTIONS)
    if "get" in kind.verbs:
        single = f"{collection}/{{name}}"
        yield single, _item(kind, single, [verb for verb in kind.verbs if verb != "create"], _OF_OBJECTS)
        for part in kind.subresources:
            verbs, sent = PARTS[part]
            yield f"{single}/{part}", _item(sent or kind, f"{single}/{part}", verbs, _OF_OBJECTS)


def _item(kind: Kind, path: str, verbs: Iterable[str], methods: Mapping[str, str]) -> dict[str, Any]:
    """What may be done at one path."""
    names = [name for name in ("namespace", "name") if f"{{{name}}}" in path]
    parameters = [_parameter(name, "path", "string", required=True) for name in names]
    operations = {methods[verb]: _operation(kind, verb) for verb in verbs if verb in methods}
    return {**operations, "parameters": parameters} if parameters else operations


def _operation(kind: Kind, verb: str) -> dict[str, Any]:
    answered = f"{kind.schema.name}List" if verb == "list" else kind.schema.name
    operation: dict[str, Any] = {
        "parameters": [_parameter(name, "query", type_) for name, type_ in _QUERIES.get(verb, {}).items()],
        "responses": {"200": {"description": "OK", "content": _content(_ANSWERS, answered)}},
        "x-kubernetes-action": _ACTIONS.get(verb, verb),
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
    }
    if verb == "patch":
        patch = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
        operation["requestBody"] = {"content": _content(patches_of(kind), patch), "required": True}
    elif verb in ("create", "update"):
        operation["requestBody"] = {"content": _content(_BODIES, kind.schema.name), "required": True}
    elif verb in ("delete", "deletecollection"):
        options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
        operation["requestBody"] = {"content": _content(_BODIES, options)}
    return operation


def _parameter(name: str, place: str, type_: str, *, required: bool = False) -> dict[str, Any]:
    parameter = {"name": name, "in": place, "schema": {"type": type_, "uniqueItems": True}}
    return {**parameter, "required": True} if required else parameter


def _content(media_types: Iterable[str], name: str) -> dict[str, Any]:
    return {media_type: {"schema": {"$ref": _REF + name}} for media_type in media_types}


def _schemas(paths: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The definitions that the paths name, and those that these name."""
    found: dict[str, Any] = {}
    waiting = list(_references(paths))
    while waiting:
        name = waiting.pop()
        schema = next((schemas[name] for schemas in known if name in schemas), None)
        if name not in found and schema is not None:  # a default may look like a reference to nothing
            found[name] = schema
            waiting += _references(schema)
    return dict(sorted(found.items()))


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "$ref" and isinstance(value, str):
                yield value.removeprefix(_REF)
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)
