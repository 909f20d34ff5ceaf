# SPDX-License-Identifier: Apache-2.0
"""The stored form of a definition: without the zero values that a real server leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_runtime.apiserver.kinds.definition import Raw
from controller_runtime.apiserver.rules.rules import Object

_TEXTS = ("id", "$schema", "description", "type", "format", "title", "pattern")
_SWITCHES = (
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "nullable",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)
_OF_COLUMNS = ("description", "format", "priority")
_COMBINATIONS = ("allOf", "anyOf", "oneOf")


def without_zeros(spec: Object) -> Object:
    """Return a definition's `spec` without fields whose value is the one that they have when they are absent."""
    made = _without(spec, ("preserveUnknownFields",))
    if "versions" in made:
        made = {**made, "versions": [_version(version) for version in made["versions"]]}
    return made


def _version(version: Object) -> Object:
    made = dict(_without(version, ("deprecated",)))
    if columns := made.get("additionalPrinterColumns"):
        made["additionalPrinterColumns"] = [_without(column, _OF_COLUMNS) for column in columns]
    schema = (made.get("schema") or {}).get("openAPIV3Schema")
    if isinstance(schema, Mapping):
        made["schema"] = {**made["schema"], "openAPIV3Schema": _schema(schema)}
    return made


def _schema(schema: Raw) -> Raw:
    """Return a schema without zero values, itself if it has none. Defaults and examples in it stay as they are."""
    made: dict[str, Any] = dict(_without(schema, (*_TEXTS, *_SWITCHES)))
    for name in ("properties", "patternProperties", "definitions"):
        if name in made:
            made[name] = {key: _schema(child) for key, child in made[name].items()}
    for name in ("items", "additionalProperties", "not"):
        if isinstance(made.get(name), Mapping):
            made[name] = _schema(made[name])
    for name in _COMBINATIONS:
        if name in made:
            made[name] = [_schema(child) for child in made[name]]
    return made


def _without(obj: Object, names: tuple[str, ...]) -> Object:
    return {name: value for name, value in obj.items() if value or name not in names}
