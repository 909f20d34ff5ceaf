# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for custom resources: objects that a server would accept, by the schema of their class.

Importing this module needs hypothesis.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st

from controller_runtime.api.codec import decoder_for
from controller_runtime.crd.declaration import declaration_of
from controller_runtime.crd.types import CustomResource

C = TypeVar("C", bound=CustomResource)

_Schema = Mapping[str, Any]
_Values = st.SearchStrategy[Any]
_FEW = 4  # elements of a list or a map whose schema sets no bound
_MOST_FIELDS = 4  # optional fields of one object
_IMPLICIT = ("apiVersion", "kind", "metadata")
_WHOLE = {"int32": 31, "int64": 63}
_TEXTS: Mapping[str, _Values] = {
    "date-time": st.datetimes(timezones=st.just(UTC)).map(lambda time: time.isoformat()),
    "date": st.dates().map(lambda day: day.isoformat()),
    "uuid": st.uuids().map(str),
    "byte": st.binary(max_size=8).map(lambda data: base64.b64encode(data).decode()),
}
_PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


def strategy_of(cls: type[C], *, name: str = "example", namespace: str = "default") -> st.SearchStrategy[C]:
    """Return a strategy for objects of a declared class, within the constraints of its schema.

    CEL rules are not evaluated, so some objects may violate them.

    Args:
        cls: The class.
        name: The name of the objects.
        namespace: The namespace of the objects; ignored if the kind is cluster-scoped.

    Raises:
        TypeError: The class is not declared with `custom_resource`.
    """
    declared = declaration_of(cls)
    decode = decoder_for(cls, declared.resource)
    metadata = {"name": name, **({"namespace": namespace} if declared.resource.namespaced else {})}
    fields = {name: field for name, field in declared.schema["properties"].items() if name not in _IMPLICIT}
    contents = _objects({**declared.schema, "properties": fields})
    return contents.map(lambda content: decode(msgspec.json.encode({**content, "metadata": metadata})))


def values_of(schema: _Schema) -> _Values:
    """Return a strategy for JSON values that a structural schema allows."""
    if schema.get("nullable"):
        return st.none() | values_of({**schema, "nullable": False})
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        texts = {name: schema[name] for name in ("pattern",) if name in schema}
        return values_of({"type": "integer", "format": "int32"}) | values_of({"type": "string", **texts})
    if schema.get("x-kubernetes-embedded-resource"):
        return st.fixed_dictionaries({"apiVersion": st.just("v1"), "kind": st.sampled_from(["ConfigMap", "Secret"])})
    match schema.get("type"):
        case "object":
            return _objects(schema)
        case "array":
            return _lists(schema)
        case "string":
            return _texts(schema)
        case "integer":
            return _whole_numbers(schema)
        case "number":
            return _numbers(schema)
        case "boolean":
            return st.booleans()
        case _:
            return st.none() | st.booleans() | _PLAIN


def _objects(schema: _Schema) -> _Values:
    if fields := schema.get("properties", {}):
        return _some_fields(fields, tuple(schema.get("required", ())))
    least = schema.get("minProperties", 0)
    most = schema.get("maxProperties", least + _FEW)
    return st.dictionaries(_PLAIN, values_of(schema.get("additionalProperties") or {}), min_size=least, max_size=most)


@st.composite
def _some_fields(draw: st.DrawFn, fields: _Schema, needed: Sequence[str]) -> dict[str, Any]:
    """Draw the required fields and a few others, so that a large type such as a pod's does not make large objects."""
    optional = [name for name in fields if name not in needed]
    chosen = draw(st.lists(st.sampled_from(optional), unique=True, max_size=_MOST_FIELDS)) if optional else []
    return {name: draw(values_of(fields[name])) for name in [*needed, *chosen]}


def _lists(schema: _Schema) -> _Values:
    least = schema.get("minItems", 0)
    bounds = {"min_size": least, "max_size": schema.get("maxItems", least + _FEW)}
    items = values_of(schema["items"])
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return st.lists(items, unique_by=msgspec.json.encode, **bounds)
        case "map":
            keys = schema["x-kubernetes-list-map-keys"]
            return st.lists(
                items, unique_by=lambda item: msgspec.json.encode([item.get(key) for key in keys]), **bounds
            )
        case _:
            return st.lists(items, **bounds)


def _texts(schema: _Schema) -> _Values:
    if schema.get("format") in _TEXTS:
        return _TEXTS[schema["format"]]
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if "pattern" not in schema:
        characters = st.characters(codec="utf-8", exclude_characters="\0")
        return st.text(characters, min_size=least, max_size=least + 8 if most is None else min(most, least + 8))
    fitting = st.from_regex(re.compile(schema["pattern"], re.ASCII))
    if schema["pattern"].endswith("$"):  # in Python alone it fits before a line feed at the end, too
        fitting = fitting.filter(lambda text: not text.endswith("\n"))
    return fitting.filter(lambda text: least <= len(text) and (most is None or len(text) <= most) and "\0" not in text)


def _whole_numbers(schema: _Schema) -> _Values:
    # Numbers beyond 53 bits are rounded by most readers of JSON, so that they are left out here.
    bits = min(_WHOLE.get(schema.get("format", ""), 53), 53)
    least = schema.get("minimum", -(1 << bits)) + bool(schema.get("exclusiveMinimum"))
    most = schema.get("maximum", (1 << bits) - 1) - bool(schema.get("exclusiveMaximum"))
    step = schema.get("multipleOf", 1)
    return st.integers(-(-least // step), most // step).map(lambda number: number * step)


def _numbers(schema: _Schema) -> _Values:
    return st.floats(
        schema.get("minimum"),
        schema.get("maximum"),
        allow_nan=False,
        allow_infinity=False,
        exclude_min=bool(schema.get("exclusiveMinimum")),
        exclude_max=bool(schema.get("exclusiveMaximum")),
    )
