# SPDX-License-Identifier: Apache-2.0
"""The paths of a kind and the operations there, in the form of OpenAPI v3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from embedded_apiserver.discovery.connected import connected_paths, with_log
from embedded_apiserver.groups.parts import PARTS
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.list_options import SHARDS
from embedded_apiserver.protobuf.envelope import MEDIA_TYPE as PROTOBUF
from embedded_apiserver.protobuf.envelope import STREAM_TYPE
from embedded_apiserver.typed.patch import patches_of

REF = "#/components/schemas/"
"""The prefix of a reference, before the name of the definition."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CUSTOM_ANSWERS = ("application/json", "application/yaml")
_ANSWERS = (*_CUSTOM_ANSWERS, PROTOBUF)
_LISTS = (*_ANSWERS, "application/json;stream=watch", STREAM_TYPE)
_BODIES = ("*/*",)
_OF_COLLECTIONS = ("list", "create", "deletecollection")
_LIST_QUERY = {
    **dict.fromkeys(("continue", "fieldSelector", "labelSelector", "resourceVersion"), "string"),
    "resourceVersionMatch": "string",
    "limit": "integer",
    "timeoutSeconds": "integer",
    **dict.fromkeys(("allowWatchBookmarks", "sendInitialEvents", "watch"), "boolean"),
    SHARDS: "string",  # whether or not its feature gate is on, as in a real server
}
_WRITE_QUERY = dict.fromkeys(("dryRun", "fieldManager", "fieldValidation"), "string")
_DELETE_QUERY = {
    "dryRun": "string",
    "gracePeriodSeconds": "integer",
    "orphanDependents": "boolean",
    "propagationPolicy": "string",
}

Texts = Mapping[str, str]
"""Descriptions of parameters by name. If a parameter has another description in patches, that is under `patch.` and the
name.
"""


class _Verb(NamedTuple):
    """The texts in the documents for one verb.

    Attributes:
        method: The HTTP method.
        action: The value of `x-kubernetes-action`.
        operation: The first word of the operation's name.
        query: The types of the query parameters, by name.
        statuses: The status codes besides 200, with their texts.
    """

    method: str
    action: str
    operation: str
    query: Mapping[str, str] = {}
    statuses: Mapping[str, str] = {}


_CREATED, _ACCEPTED = {"201": "Created"}, {"202": "Accepted"}
_VERBS = {
    "get": _Verb("get", "get", "read"),
    "list": _Verb("get", "list", "list", _LIST_QUERY),
    "create": _Verb("post", "post", "create", _WRITE_QUERY, {**_CREATED, **_ACCEPTED}),
    "update": _Verb("put", "put", "replace", _WRITE_QUERY, _CREATED),
    "patch": _Verb("patch", "patch", "patch", {**_WRITE_QUERY, "force": "boolean"}, _CREATED),
    "delete": _Verb("delete", "delete", "delete", _DELETE_QUERY, _ACCEPTED),
    "deletecollection": _Verb("delete", "deletecollection", "delete", {**_LIST_QUERY, **_DELETE_QUERY}),
}
# The parameters of a list that a deletion of a collection does not have.
_FOR_WATCHES = ("allowWatchBookmarks", "watch")


def root_of(kind: Kind) -> str:
    """Return the path of a kind's group and version, such as `/apis/apps/v1`."""
    return f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"


def list_name(kind: Kind) -> str:
    """Return the name of the schema definition of a kind's lists."""
    return f"{kind.schema.name.removesuffix(kind.kind)}{kind.list_kind}"


def paths_of(kind: Kind, texts: Texts) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each OpenAPI path of a kind and of its subresources, with the operations there.

    Args:
        kind: The kind.
        texts: The descriptions of the parameters that the release has, by name.
    """
    below = f"{root_of(kind)}/namespaces/{{namespace}}" if kind.namespaced else root_of(kind)
    collection = _OperationPlace(kind, f"{below}/{kind.plural}", texts)
    yield collection.path, collection.item([verb for verb in kind.verbs if verb in _OF_COLLECTIONS])
    if kind.namespaced and "list" in kind.verbs:
        everywhere = _OperationPlace(kind, f"{root_of(kind)}/{kind.plural}", texts)
        yield everywhere.path, everywhere.item(["list"])
    if "get" in kind.verbs:
        single = _OperationPlace(kind, f"{collection.path}/{{name}}", texts)
        yield single.path, single.item([v for v in kind.verbs if v in _VERBS and v not in _OF_COLLECTIONS])
        for part in kind.subresources:
            whole = _OperationPlace(kind, f"{single.path}/{part}", texts, part)
            if PARTS[part].options:
                yield from connected_paths(kind, whole.path, part, texts)
            else:
                item = whole.item(PARTS[part].verbs)
                yield whole.path, with_log(item, texts) if part == "log" else item


class _OperationPlace(NamedTuple):
    """One path of a kind, with methods that make its operations.

    Attributes:
        kind: The kind of the objects there.
        path: The path, with its variables in braces.
        texts: The descriptions of parameters.
        part: The name of the subresource; empty for whole objects.
    """

    kind: Kind
    path: str
    texts: Texts
    part: str = ""

    def item(self, verbs: list[str] | tuple[str, ...]) -> dict[str, Any]:
        """Return the path item: an operation for each verb, and the variables of the path."""
        operations = {_VERBS[verb].method: self._operation(verb, _VERBS[verb]) for verb in verbs}
        variables = [self._variable(name) for name in ("name", "namespace") if f"{{{name}}}" in self.path]
        return {**operations, "parameters": variables} if variables else operations

    def _operation(self, verb: str, how: _Verb) -> dict[str, Any]:
        about = self._about()
        operation: dict[str, Any] = {
            "tags": [f"{_camel(self._group())}_{self.kind.version}"],
            "description": self._description(verb, how),
            "operationId": self._name(verb, how),
            "parameters": [self._parameter(verb, name, type_) for name, type_ in self._query(verb, how).items()],
            "responses": self._responses(verb, how),
            "x-kubernetes-action": how.action,
            "x-kubernetes-group-version-kind": {
                "group": about.group,
                "version": about.version,
                "kind": about.kind,
            },
        }
        if verb == "patch":
            operation["requestBody"] = {"content": _content(patches_of(self.kind), f"{_META}Patch"), "required": True}
        elif verb in ("create", "update"):
            operation["requestBody"] = {"content": _content(self._bodies(), self._sent().schema.name), "required": True}
        elif verb == "delete" or (verb == "deletecollection" and self.kind.definition is None):
            operation["requestBody"] = {"content": _content(self._bodies(), f"{_META}DeleteOptions")}
        return operation

    def _sent(self) -> Kind:
        """Return the kind that is read and written here."""
        return (PARTS[self.part].kind if self.part else None) or self.kind

    def _about(self) -> Kind:
        """Return the kind that the operations name: a custom kind itself, otherwise the kind that is sent there."""
        return self.kind if self.kind.definition is not None else self._sent()

    def _bodies(self) -> tuple[str, ...]:
        return _BODIES if self.kind.definition is None else _CUSTOM_ANSWERS

    def _query(self, verb: str, how: _Verb) -> Mapping[str, str]:
        left_out = _FOR_WATCHES if verb == "deletecollection" else ()
        return {name: type_ for name, type_ in how.query.items() if name not in left_out and self._is_served(name)}

    def _is_served(self, name: str) -> bool:
        return name in self.texts

    def _responses(self, verb: str, how: _Verb) -> dict[str, Any]:
        statuses = {"200": "OK", **how.statuses}
        if verb == "patch" and self.kind.definition is not None:
            statuses = {"200": "OK"}
        content = _content(self._answers(verb), self._answered(verb))
        responses = {status: {"description": text, "content": content} for status, text in statuses.items()}
        return {**responses, "401": {"description": "Unauthorized"}}

    def _answers(self, verb: str) -> tuple[str, ...]:
        if self.kind.definition is not None:
            return _CUSTOM_ANSWERS
        return _LISTS if verb == "list" else _ANSWERS

    def _answered(self, verb: str) -> str:
        if verb == "list":
            return list_name(self.kind)
        if verb == "deletecollection" or (verb == "delete" and not self.kind.deletes_with_object):
            return f"{_META}Status"
        return self._sent().schema.name

    def _parameter(self, verb: str, name: str, type_: str) -> dict[str, Any]:
        text = self.texts.get(f"{verb}.{name}") or self.texts[name]
        return {"name": name, "in": "query", "description": text, "schema": {"type": type_, "uniqueItems": True}}

    def _variable(self, name: str) -> dict[str, Any]:
        text = f"name of the {self._about().kind}" if name == "name" else self.texts[name]
        schema = {"type": "string", "uniqueItems": True}
        return {"name": name, "in": "path", "description": text, "required": True, "schema": schema}

    def _group(self) -> str:
        return (self.kind.group or "core").removesuffix(".k8s.io")

    def _name(self, verb: str, how: _Verb) -> str:
        """Return the unique name of an operation; generated clients name their functions after it."""
        group = _camel(f".{self._group()}.{self.kind.version}")
        scope = "Namespaced" if "{namespace}" in self.path else ""
        everywhere = "ForAllNamespaces" if self.kind.namespaced and not scope else ""
        collection = "Collection" if verb == "deletecollection" else ""
        return f"{how.operation}{group}{collection}{scope}{self.kind.kind}{self.part.capitalize()}{everywhere}"

    def _description(self, verb: str, how: _Verb) -> str:
        name, part = self.kind.kind, f" {self.part} of" if self.part else ""
        match verb:
            case "list":
                watched = " or watch" if self.kind.definition is None and "watch" in self.kind.verbs else ""
                return f"list{watched} objects of kind {name}"
            case "deletecollection":
                return f"delete collection of {name}"
            case "create" | "delete":
                return f"{verb}{part}{_article(name)}{name}"
            case "patch":
                return f"partially update{part} the specified {name}"
        return f"{how.operation}{part} the specified {name}"


def _article(name: str) -> str:
    """Return the article before the name of a kind, between spaces; a plural has none."""
    if name.endswith("s") and not name.endswith("ss"):
        return " "
    return " an " if name[0] in "AEIOU" else " a "


def _camel(text: str) -> str:
    """Return the text without the characters that a name must not have; the letter after each is capitalized."""
    return re.sub(r"[^A-Za-z0-9_]+(.?)", lambda found: found[1].upper(), text)


def _content(media_types: tuple[str, ...], name: str) -> dict[str, Any]:
    return {media_type: {"schema": {"$ref": REF + name}} for media_type in media_types}
