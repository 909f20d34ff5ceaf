# SPDX-License-Identifier: Apache-2.0
"""The validation errors of the keywords of an OpenAPI schema in a definition, in the order of a real API server.

`schema_structure` checks separately whether the schema is structural.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.custom.list_causes import LIST_TYPE
from embedded_apiserver.custom.validations.field_paths import field_path
from embedded_apiserver.kinds.definition import Raw
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.paths import Path

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES, _MAP_TYPES = ("atomic", "set", "map"), ("atomic", "granular")
_REASONS = tuple(f"FieldValue{word}" for word in ("Duplicate", "Forbidden", "Invalid", "Required"))
_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_MAP_TYPE, _LIST_KEYS, _RULES = "x-kubernetes-map-type", "x-kubernetes-list-map-keys", "x-kubernetes-validations"
_MOST_KEYS = 16  # of a list: each element is compared by all of them
_OF_OBJECTS = ("apiVersion", "kind", "metadata")
# Keywords that are refused if they are there at all, and those that are refused unless they are empty.
_NEVER, _NOT_FILLED = ("additionalItems", "dependencies", "$ref"), ("id", "patternProperties", "definitions")


class _OpenAPIPlace(NamedTuple):
    """The place of a schema inside another one.

    Attributes:
        is_root: Whether it is the schema of whole objects.
        no_default: Why it must have no default; empty if it may.
        in_metadata: Whether it is inside the schema of an object's metadata.
    """

    is_root: bool = False
    no_default: str = ""
    in_metadata: bool = False


ROOT = _OpenAPIPlace(is_root=True)


def keyword_causes(schema: Raw, path: Path, place: _OpenAPIPlace = ROOT) -> Iterator[Cause]:
    """Return the validation errors of the keywords in a schema of a definition, and in the schemas nested in it."""
    yield from _standard_causes(schema, path, place)
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", text)
    yield from _causes_below(schema, path, place)
    if schema.get(_PRESERVES) is False:
        yield invalid(f"{path}.{_PRESERVES}", False, "must be true or undefined")
    yield from _map_type_causes(schema, path)
    yield from _list_type_causes(schema, path)
    if schema.get(LIST_TYPE) == "map":
        yield from _keyed_list_causes(schema, path)
    yield from _key_causes(schema, path)
    for index, rule in enumerate(schema.get(_RULES, ())):
        yield from _rule_causes(schema, rule, path.below(f".{_RULES}[{index}]"))


def _standard_causes(schema: Raw, path: Path, place: _OpenAPIPlace) -> Iterator[Cause]:
    type_ = schema.get("type", "")
    if type_ and type_ not in _TYPES:
        yield not_supported(f"{path}.type", type_, _TYPES)
    if place.no_default and schema.get("default") is not None:
        yield forbidden(f"{path}.default", f"must not be set {place.no_default}")
    for name in ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"):
        if schema.get(name) if name in _NOT_FILLED else name in schema:
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if type_ == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.in_metadata and schema.get(_EMBEDDED):
        yield forbidden(f"{path}.{_EMBEDDED}", "must not be used inside of resource meta")


def _causes_below(schema: Raw, path: Path, place: _OpenAPIPlace) -> Iterator[Cause]:
    inner = place._replace(is_root=False)
    values = schema.get("additionalProperties")
    if schema.get("properties") and values is not None and values is not True:
        text = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", text)
    if isinstance(values, Mapping):
        text = "inside additionalProperties applying to object metadata" if place.in_metadata else place.no_default
        yield from keyword_causes(values, path.below(".additionalProperties"), inner._replace(no_default=text))
    for name, child in schema.get("properties", {}).items():
        below = inner
        if (place.is_root or schema.get(_EMBEDDED)) and name in _OF_OBJECTS:
            below = below._replace(in_metadata=True)
            if place.is_root:
                below = below._replace(no_default=f"in top-level {name}")
        yield from keyword_causes(child, path.below(f".properties[{name}]"), below)
    if isinstance(schema.get("not"), Mapping):
        yield from keyword_causes(schema["not"], path.below(".not"), inner)
    for name in ("allOf", "oneOf", "anyOf"):
        for index, other in enumerate(schema.get(name, ())):
            yield from keyword_causes(other, path.below(f".{name}[{index}]"), inner)
    if isinstance(schema.get("items"), Mapping):
        yield from keyword_causes(schema["items"], path.below(".items"), inner)


def _wrong_type(schema: Raw, path: Path, text: str) -> Cause:
    type_ = schema.get("type", "")
    return invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)


def _map_type_causes(schema: Raw, path: Path) -> Iterator[Cause]:
    if (map_type := schema.get(_MAP_TYPE)) is None:
        return
    if schema.get("type") != "object":
        yield _wrong_type(schema, path, "must be object if x-kubernetes-map-type is specified")
    if map_type not in _MAP_TYPES:
        yield not_supported(f"{path}.{_MAP_TYPE}", map_type, _MAP_TYPES)


def _list_type_causes(schema: Raw, path: Path) -> Iterator[Cause]:
    list_type, items = schema.get(LIST_TYPE), schema.get("items")
    if list_type is not None and schema.get("type") != "array":
        yield _wrong_type(schema, path, "must be array if x-kubernetes-list-type is specified")
    elif list_type == "set" and isinstance(items, Mapping):
        text = "must be atomic as item of a list with x-kubernetes-list-type=set"
        if items.get("type") == "array" and items.get(LIST_TYPE, "atomic") != "atomic":
            yield invalid(f"{path}.items.{LIST_TYPE}", items[LIST_TYPE], text)
        elif items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
            yield invalid(f"{path}.items.{_MAP_TYPE}", items.get(LIST_TYPE), text)
    if list_type is not None and list_type not in _LIST_TYPES:
        yield not_supported(f"{path}.{LIST_TYPE}", list_type, _LIST_TYPES)
    if schema.get(_LIST_KEYS) and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield invalid(f"{path}.{LIST_TYPE}", list_type, text) if list_type else required(f"{path}.{LIST_TYPE}", text)


def _keyed_list_causes(schema: Raw, path: Path) -> Iterator[Cause]:
    keys, items, place = schema.get(_LIST_KEYS, ()), schema.get("items"), f"{path}.{_LIST_KEYS}"
    if len(keys) > _MOST_KEYS:
        yield Cause("FieldValueTooMany", f"Too many: {len(keys)}: must have at most {_MOST_KEYS} items", place)
        return
    if not keys:
        yield required(place, "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    if not isinstance(items, Mapping):
        return
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), text)
        return
    for index, key in enumerate(keys):
        child = items.get("properties", {}).get(key)
        if child is None:
            yield invalid(place, keys, "entries must all be names of item properties")
        elif child.get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{path}.items.properties[{key}].type", items["type"], text)
        if key in keys[:index]:
            yield invalid(place, keys, "must not contain duplicate entries")


def _key_causes(schema: Raw, path: Path) -> Iterator[Cause]:
    list_type, items = schema.get(LIST_TYPE), schema.get("items")
    if list_type not in ("set", "map") or not isinstance(items, Mapping):
        return
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
    if list_type == "set":
        return
    needed, properties = set(items.get("required", ())), items.get("properties", {})
    for key in schema.get(_LIST_KEYS, ())[:_MOST_KEYS]:
        if (child := properties.get(key)) is None:
            continue
        place = f"{path}.items.properties[{key}]"
        if key not in needed and child.get("default") is None:
            text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            yield required(f"{place}.default", text)
        if child.get("nullable"):
            text = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield forbidden(f"{place}.nullable", text)


def _rule_causes(schema: Raw, rule: Mapping[str, Any], path: Path) -> Iterator[Cause]:
    """Return the validation errors of a rule in CEL, except those of the expression, which `validations` finds."""
    text, message, named = (rule.get(name, "") for name in ("rule", "message", "fieldPath"))
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _has_lines(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    elif _has_lines(text.strip()) and not message.strip():
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression", "")
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if "reason" in rule and rule["reason"] not in _REASONS:
        yield not_supported(f"{path}.reason", rule["reason"], _REASONS)
    if named and not named.strip():
        yield invalid(f"{path}.fieldPath", named, "must be non-empty if specified")
    if _has_lines(named):
        yield invalid(f"{path}.fieldPath", named, "must not contain line breaks")
    if named and field_path(schema, named) is None:
        yield invalid(f"{path}.fieldPath", named, "must be a valid path")


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text
