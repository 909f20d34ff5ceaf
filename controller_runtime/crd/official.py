# SPDX-License-Identifier: Apache-2.0
"""Structural schemas of the official client's models, from the recorded OpenAPI data of the API.

They are made as controller-gen makes them from the Go types: without the values of enums, which grow with each release
of Kubernetes, and without the rules of strategic merge patches. One thing differs on purpose: `metadata` inside a
template has its labels and annotations, which a server would otherwise drop.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from apimachinery.models import official_base
from apimachinery.schema import definitions
from controller_runtime.crd.types import QUANTITY_PATTERN

_MODEL = re.compile(r"([A-Za-z]*?)(V\d+(?:(?:alpha|beta)\d+)?)([A-Z]\w*)")
_REF = "#/components/schemas/"
_INT_OR_STRING: Mapping[str, Any] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_TEXTS: Mapping[str, Any] = {"type": "object", "additionalProperties": {"type": "string"}}
EMBEDDED_METADATA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "annotations": _TEXTS,
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "labels": _TEXTS,
        "name": {"type": "string"},
        "namespace": {"type": "string"},
    },
}
"""The schema of metadata inside another object: the fields that a template can have."""

_APIMACHINERY = "io.k8s.apimachinery.pkg."
# Definitions whose values have a form of their own.
_SPECIAL: Mapping[str, Mapping[str, Any]] = {
    f"{_APIMACHINERY}apis.meta.v1.ObjectMeta": EMBEDDED_METADATA,
    f"{_APIMACHINERY}apis.meta.v1.FieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    f"{_APIMACHINERY}runtime.RawExtension": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    f"{_APIMACHINERY}util.intstr.IntOrString": _INT_OR_STRING,
    f"{_APIMACHINERY}api.resource.Quantity": {**_INT_OR_STRING, "pattern": QUANTITY_PATTERN},
}
_KEPT = (
    "type",
    "format",
    "required",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)


def is_official(cls: type) -> bool:
    """Return whether a class is a model of the official client, or derived from one."""
    return official_base(cls) is not None


def official_schema(cls: type, path: str) -> dict[str, Any]:
    """Return a new structural schema of a model of the official client.

    Args:
        cls: The model, such as `V1PodTemplateSpec`.
        path: The path of the field, for error messages.

    Raises:
        ValueError: The recorded OpenAPI data has no such definition, or the definition is recursive.
    """
    base = official_base(cls)
    found = _MODEL.fullmatch("" if base is None else base.__name__)
    names = [] if found is None else _names().get((found[2].lower(), found[3]), [])
    if found is not None and len(names) > 1:
        names = [name for name in names if f".{found[1].lower()}." in name]
    if len(names) != 1:
        raise ValueError(f"{path}: there is no recorded schema of {cls.__name__}; declare the fields that you need")
    return _structural({"$ref": _REF + names[0]}, path, ())


@functools.cache
def _names() -> Mapping[tuple[str, str], list[str]]:
    """Return the names of the recorded definitions by version and kind."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in definitions():
        _, version, kind = name.rsplit(".", 2)
        found.setdefault((version, kind), []).append(name)
    return found


def _structural(raw: Mapping[str, Any], path: str, inside: tuple[str, ...]) -> dict[str, Any]:
    """Return the structural schema of an OpenAPI schema, with its references replaced by what they refer to."""
    reference = raw.get("$ref") or next((part["$ref"] for part in raw.get("allOf", ()) if "$ref" in part), "")
    if name := reference.removeprefix(_REF):
        if name in _SPECIAL:
            return {**_SPECIAL[name]}
        if name in inside:
            kind = name.rpartition(".")[2]
            raise ValueError(f"{path}: {kind} contains itself, and a structural schema cannot; make it a JSONObject")
        raw, inside = definitions()[name], (*inside, name)
    schema = {keyword: raw[keyword] for keyword in _KEPT if keyword in raw}
    if "properties" in raw:
        fields = raw["properties"].items()
        schema["properties"] = {name: _structural(field, f"{path}.{name}", inside) for name, field in fields}
        for name, field in fields:
            # Required fields and objects have Go's zero value as their default in the data, which is none.
            if name not in raw.get("required", ()) and not isinstance(field.get("default", {}), dict | list):
                schema["properties"][name]["default"] = field["default"]
    if "items" in raw:
        schema["items"] = _structural(raw["items"], f"{path}[]", inside)
    if isinstance(raw.get("additionalProperties"), dict):
        schema["additionalProperties"] = _structural(raw["additionalProperties"], f"{path}[…]", inside)
    return schema if schema else {"x-kubernetes-preserve-unknown-fields": True}
