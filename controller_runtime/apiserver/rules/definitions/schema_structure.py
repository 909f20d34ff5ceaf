# SPDX-License-Identifier: Apache-2.0
"""The faults of an OpenAPI schema in a definition: it has to be structural, as on a real server.

In a structural schema each value has a type outside `allOf`, `anyOf`, `oneOf` and `not`, which may only restrict
values. So one walk is enough to prune unknown fields and to fill in defaults.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller_runtime.apiserver.kinds.definition import Raw
from controller_runtime.apiserver.rules.definitions.list_causes import list_causes
from controller_runtime.apiserver.rules.definitions.patterns import NoPattern
from controller_runtime.apiserver.rules.definitions.schema_causes import schema_causes
from controller_runtime.apiserver.rules.definitions.structural_shape import unknown_fields
from controller_runtime.apiserver.rules.definitions.work import Path, Work
from controller_runtime.apiserver.rules.validation import forbidden, invalid, not_supported, required
from controller_runtime.apiserver.status import Cause

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES, _MAP_TYPES = ("atomic", "set", "map"), ("atomic", "granular")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_LIST_TYPE = "x-kubernetes-list-type"
_LIST_KEYS = "x-kubernetes-list-map-keys"
_MAP_TYPE = "x-kubernetes-map-type"
_RULES = "x-kubernetes-validations"
_OF_METADATA, _NAMES = ("type", "properties", "description"), ("name", "generateName")
_COMBINATIONS = ("allOf", "anyOf", "oneOf")
# Keywords that a schema inside `allOf`, `anyOf`, `oneOf` or `not` must not have, each with the refusal.
_ELSEWHERE = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    _PRESERVES: "must be false to be structural",
    _EMBEDDED: "must be false to be structural",
    _INT_OR_STRING: "must be false to be structural",
    _LIST_KEYS: "must be empty to be structural",
    _LIST_TYPE: "must be undefined to be structural",
    _MAP_TYPE: "must be undefined to be structural",
    _RULES: "must be empty to be structural",
}
_INT_OR_STRING_TYPES = [{"type": "integer"}, {"type": "string"}]


_OF_FIELDS = "must not be empty for specified object fields"
_MOST_KEYS = 16  # of a list: each element is compared by all of them
_DEEPEST = 200  # levels of JSON: functions that walk a schema recurse, and Python limits the depth of recursion


def root_causes(schema: Raw, place: str, work: Work) -> Iterator[Cause]:
    """Return the faults of the schema of whole objects.

    Args:
        schema: The schema, as in a definition.
        place: The path of the schema in the definition.
        work: The computation so far, which is limited.

    Raises:
        StatusError: 413, the checks take too much computation.
    """
    path = Path(None, place)
    if _is_too_deep(schema):
        yield forbidden(place, f"must not be nested in more than {_DEEPEST} levels")
        return
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    if schema.get("type", "object") != "object":
        yield invalid(f"{path}.type", schema["type"], "must be object at the root")
    if "additionalProperties" in schema:
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    properties = schema.get("properties", {})
    for name in ("apiVersion", "kind"):
        if name in properties and properties[name].get("type") != "string":
            yield invalid(f"{path}.properties[{name}].type", properties[name].get("type", ""), "must be string")
    metadata = properties.get("metadata", {})
    more = [name for name in metadata if name not in _OF_METADATA]
    if more or any(name not in _NAMES for name in metadata.get("properties", {})):
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(f"{path}.properties[metadata]", text)
    yield from _causes(schema, path, "must not be empty at the root", work)


def _is_too_deep(schema: Raw) -> bool:
    """Return whether a schema has too many levels. The walk is not recursive, so that it can answer."""
    level: list[Any] = [schema]
    for _ in range(_DEEPEST):
        inner = (one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else () for one in level)
        level = [child for children in inner for child in children]
    return bool(level)


def _causes(schema: Raw, path: Path, untyped: str, work: Work) -> Iterator[Cause]:
    """Return the faults of a schema and of those below it. `untyped` is the refusal of a schema without a type."""
    yield from _type_causes(schema, path, untyped)
    yield from _unsupported_causes(schema, path)
    yield from _list_causes(schema, path)
    yield from _rule_causes(schema, path, work)
    yield from _default_causes(schema, path, work)
    for name, child in schema.get("properties", {}).items():
        yield from _causes(child, path.below(f".properties[{name}]"), _OF_FIELDS, work)
    if isinstance(schema.get("items"), Mapping):
        yield from _causes(schema["items"], path.below(".items"), "must not be empty for specified array items", work)
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        yield from _causes(values, path.below(".additionalProperties"), _OF_FIELDS, work)
    yield from _combined_causes(schema, path, work)


def _type_causes(schema: Raw, path: Path, untyped: str) -> Iterator[Cause]:
    type_ = schema.get("type", "")
    if type_ == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    elif type_ and type_ not in _TYPES:
        yield not_supported(f"{path}.type", type_, _TYPES)
    if schema.get(_EMBEDDED) and type_ != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)
    elif not type_ and not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVES):
        yield required(f"{path}.type", untyped)
    if schema.get(_INT_OR_STRING):
        for name in (_PRESERVES, _EMBEDDED):
            if schema.get(name):
                yield invalid(f"{path}.{name}", True, "must be false if x-kubernetes-int-or-string is true")
    if type_ == "array" and "items" not in schema:
        yield required(f"{path}.items", "must be specified")
    if _MAP_TYPE in schema:
        if schema[_MAP_TYPE] not in _MAP_TYPES:
            yield not_supported(f"{path}.{_MAP_TYPE}", schema[_MAP_TYPE], _MAP_TYPES)
        if type_ != "object":
            text = "must be object if x-kubernetes-map-type is specified"
            yield invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVES) and not schema.get("properties"):
        text = f"must not be empty if {_EMBEDDED} is true without {_PRESERVES}"
        yield required(f"{path}.properties", text)


def _unsupported_causes(schema: Raw, path: Path) -> Iterator[Cause]:
    for name in _UNSUPPORTED:
        if schema.get(name):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", text)
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    values = schema.get("additionalProperties")
    if schema.get("properties") and values is not None and values is not True:
        text = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", text)
    if schema.get(_PRESERVES) is False:
        yield invalid(f"{path}.{_PRESERVES}", False, "must be true or undefined")


def _list_causes(schema: Raw, path: Path) -> Iterator[Cause]:
    type_, keys, items = schema.get(_LIST_TYPE), schema.get(_LIST_KEYS, ()), schema.get("items")
    if type_ is not None and type_ not in _LIST_TYPES:
        yield not_supported(f"{path}.{_LIST_TYPE}", type_, _LIST_TYPES)
    if type_ is not None and schema.get("type") != "array":
        text = "must be array if x-kubernetes-list-type is specified"
        yield invalid(f"{path}.type", schema["type"], text) if schema.get("type") else required(f"{path}.type", text)
    if keys and type_ != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield invalid(f"{path}.{_LIST_TYPE}", type_, text) if type_ else required(f"{path}.{_LIST_TYPE}", text)
    if type_ in ("set", "map") and isinstance(items, Mapping) and items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {type_}")
    if type_ != "map" or not isinstance(items, Mapping):
        return
    if len(keys) > _MOST_KEYS:
        text = f"Too many: {len(keys)}: must have at most {_MOST_KEYS} items"
        yield Cause("FieldValueTooMany", text, f"{path}.{_LIST_KEYS}")
    if not keys:
        yield required(f"{path}.{_LIST_KEYS}", "must not be empty if x-kubernetes-list-type is map")
    properties = items.get("properties", {})
    needed = set(items.get("required", ()))
    if any(key not in properties for key in keys):
        yield invalid(f"{path}.{_LIST_KEYS}", keys, "entries must all be names of item properties")
    for key in keys:
        if key in properties and key not in needed and "default" not in properties[key]:
            text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            yield required(f"{path}.items.properties[{key}].default", text)


def _rule_causes(schema: Raw, path: Path, work: Work) -> Iterator[Cause]:
    pattern = schema.get("pattern")
    if pattern:
        try:
            work.compiled(pattern)
        except NoPattern as error:
            text = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(f"{path}.pattern", pattern, text)
    if schema.get("multipleOf", 1) <= 0:
        yield invalid(f"{path}.multipleOf", schema["multipleOf"], "must be greater than 0")
    for index, rule in enumerate(schema.get(_RULES, ())):
        if not rule.get("rule", "").strip():
            yield required(f"{path}.{_RULES}[{index}].rule", "rule is not specified")


def _default_causes(schema: Raw, path: Path, work: Work) -> Iterator[Cause]:
    if "default" not in schema:
        return
    default = schema["default"]
    for cause in itertools.chain(schema_causes(schema, default, work=work), list_causes(schema, default)):
        step = f".{cause.field}" if cause.field and cause.field != "<nil>" else ""
        yield Cause(cause.reason, cause.message, f"{path}.default{step}")
    if unknown_fields(schema, schema["default"]):
        yield invalid(f"{path}.default", schema["default"], "must not have unknown fields")


def _combined_causes(schema: Raw, path: Path, work: Work) -> Iterator[Cause]:
    for name in _COMBINATIONS:
        for index, other in enumerate(schema.get(name, ())):
            if name == "anyOf" and schema.get(_INT_OR_STRING) and _is_int_or_string(schema["anyOf"]):
                continue
            skips = bool(schema.get(_INT_OR_STRING))
            yield from _nested_causes(other, path.below(f".{name}[{index}]"), work, skips_types=skips)
    if "not" in schema:
        yield from _nested_causes(schema["not"], path.below(".not"), work)


def _is_int_or_string(schemas: Sequence[Raw]) -> bool:
    """Return whether schemas only repeat that a value is an integer or a string; empty keywords are ignored."""
    return [{name: value for name, value in one.items() if value} for one in schemas] == _INT_OR_STRING_TYPES


def _nested_causes(schema: Raw, path: Path, work: Work, *, skips_types: bool = False) -> Iterator[Cause]:
    """Return the faults of a schema inside `allOf`, `anyOf`, `oneOf` or `not`, which may only restrict values."""
    for name, text in _ELSEWHERE.items():
        if schema.get(name):
            yield forbidden(f"{path}.{name}", text)
    yield from _unsupported_causes(schema, path)
    yield from _list_causes(schema, path)
    yield from _rule_causes(schema, path, work)
    for name, child in schema.get("properties", {}).items():
        yield from _nested_causes(child, path.below(f".properties[{name}]"), work)
    if isinstance(schema.get("items"), Mapping):
        yield from _nested_causes(schema["items"], path.below(".items"), work)
    for name in _COMBINATIONS:
        others: Sequence[Raw] = schema.get(name, ())
        if skips_types and name == "anyOf" and _is_int_or_string(others):
            continue
        for index, other in enumerate(others):
            yield from _nested_causes(other, path.below(f".{name}[{index}]"), work)
    if "not" in schema:
        yield from _nested_causes(schema["not"], path.below(".not"), work)


def schemas_in(schema: Raw) -> Iterator[Raw]:
    """Return a schema and all schemas below it."""
    yield schema
    children: list[Any] = [
        *schema.get("properties", {}).values(),
        schema.get("items"),
        schema.get("additionalProperties"),
    ]
    children += [other for name in _COMBINATIONS for other in schema.get(name, ())] + [schema.get("not")]
    for child in children:
        if isinstance(child, Mapping):
            yield from schemas_in(child)
