# SPDX-License-Identifier: Apache-2.0
"""The validation errors of an OpenAPI schema in a definition: it has to be structural, as on a real API server.

In a structural schema each value has a type outside `allOf`, `anyOf`, `oneOf` and `not`, which may only restrict
values. So one walk is enough to prune unknown fields and to fill in defaults.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embedded_apiserver.causes import forbidden, invalid, required
from embedded_apiserver.custom.openapi_causes import keyword_causes
from embedded_apiserver.custom.schema_causes import schema_causes
from embedded_apiserver.custom.validations.compiled import has_rules
from embedded_apiserver.custom.validations.judged import Judge
from embedded_apiserver.custom.validations.written import default_causes, rule_causes
from embedded_apiserver.custom.work import Work
from embedded_apiserver.kinds.definition import Raw
from embedded_apiserver.patterns import NoPattern
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.paths import Path
from embedded_apiserver.typed.structural_shape import unknown_fields

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
_MOST_SORTED = 10_000  # causes
_DEEPEST = 200  # levels of JSON: functions that walk a schema recurse, and Python limits the depth of recursion


def root_causes(schema: Raw, place: str, work: Work) -> Iterator[Cause]:
    """Return the validation errors of a definition's schema for whole objects, which must be structural.

    Args:
        schema: The schema, as in a definition.
        place: The path of the schema in the definition.
        work: The limit on the checks for one definition.

    Raises:
        StatusError: 413, the limit is exceeded.
    """
    path = Path(None, place)
    if _is_too_deep(schema):
        yield forbidden(place, f"must not be nested in more than {_DEEPEST} levels")
        return
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    found = takes_rules = False
    if not any(_unsupported(one) for one in schemas_in(schema)):
        # Sorted, as by a real server, whose schemas are maps without an order.
        structural = sorted(itertools.islice(_root_causes(schema, path, work), _MOST_SORTED), key=str)
        found = bool(structural)
        yield from structural
        if not structural:
            for cause in _defaults(schema, path, work, Judge()):
                found = True
                yield cause
        takes_rules = not found
    refused = []
    for cause in keyword_causes(schema, path):
        found = True
        refused.append(cause.field)
        yield cause
    if takes_rules and has_rules(schema):
        yield from rule_causes(schema, path, refused[:_MOST_SORTED])
    if not found and any("$schema" in one for one in schemas_in(schema)):
        yield invalid(place, "", "OpenAPIV3Schema 'schema' is not supported")


def _unsupported(schema: Raw) -> bool:
    """Return whether a schema has a keyword for which it is not even examined whether it is structural."""
    return any(schema.get(name) for name in _UNSUPPORTED) or isinstance(schema.get("items"), list)


def _root_causes(schema: Raw, path: Path, work: Work) -> Iterator[Cause]:
    if schema.get("type", "object") not in ("object", ""):
        yield invalid(f"{path}.type", schema["type"], "must be object at the root")
    if "additionalProperties" in schema:
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    yield from _own_field_causes(schema, path)
    metadata = schema.get("properties", {}).get("metadata", {})
    more = [name for name in metadata if name not in _OF_METADATA]
    if more or any(name not in _NAMES for name in metadata.get("properties", {})):
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(f"{path}.properties[metadata]", text)
    yield from _causes(schema, path, "must not be empty at the root", work)


def _own_field_causes(schema: Raw, path: Path) -> Iterator[Cause]:
    """Return the validation errors of the fields that each object has, in a schema of whole objects."""
    for name, type_ in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        child = schema.get("properties", {}).get(name)
        if child is not None and child.get("type") != type_:
            yield invalid(f"{path}.properties[{name}].type", child.get("type", ""), f"must be {type_}")


def _is_too_deep(schema: Raw) -> bool:
    """Return whether a schema has too many levels. The walk is not recursive, so that it can answer."""
    level: list[Any] = [schema]
    for _ in range(_DEEPEST):
        inner = (one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else () for one in level)
        level = [child for children in inner for child in children]
    return bool(level)


def _causes(schema: Raw, path: Path, untyped: str, work: Work) -> Iterator[Cause]:
    """Return the validation errors of a schema and those below it; `untyped` refuses one without a type."""
    work.spend(1)
    yield from _type_causes(schema, path, untyped)
    yield from _pattern_causes(schema, path, work)
    for name, child in schema.get("properties", {}).items():
        yield from _causes(child, path.below(f".properties[{name}]"), _OF_FIELDS, work)
    if isinstance(schema.get("items"), Mapping):
        yield from _causes(schema["items"], path.below(".items"), "must not be empty for specified array items", work)
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        yield from _causes(values, path.below(".additionalProperties"), _OF_FIELDS, work)
    yield from _combined_causes(schema, path, work)


def _type_causes(schema: Raw, path: Path, untyped: str) -> Iterator[Cause]:
    type_ = schema.get("type", "")
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
    if not schema.get(_EMBEDDED):
        return
    yield from _own_field_causes(schema, path)
    if "additionalProperties" in schema:
        yield forbidden(f"{path}.additionalProperties", f"must not be used if {_EMBEDDED} is set")
    if not schema.get(_PRESERVES) and not schema.get("properties"):
        text = f"must not be empty if {_EMBEDDED} is true without {_PRESERVES}"
        yield required(f"{path}.properties", text)


def _pattern_causes(schema: Raw, path: Path, work: Work) -> Iterator[Cause]:
    if pattern := schema.get("pattern"):
        try:
            work.compiled(pattern)
        except NoPattern as error:
            text = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(f"{path}.pattern", pattern, text)


def _defaults(schema: Raw, path: Path, work: Work, judge: Judge) -> Iterator[Cause]:
    """Return the validation errors of the defaults of a schema and those below it."""
    yield from _default_causes(schema, path, work, judge)
    for name, child in schema.get("properties", {}).items():
        yield from _defaults(child, path.below(f".properties[{name}]"), work, judge)
    for name in ("items", "additionalProperties"):
        if isinstance(child := schema.get(name), Mapping):
            yield from _defaults(child, path.below(f".{name}"), work, judge)


def _default_causes(schema: Raw, path: Path, work: Work, judge: Judge) -> Iterator[Cause]:
    if schema.get("default") is None:
        return
    default, is_root = schema["default"], path.parent is None
    if unknown_fields(schema, default):
        yield invalid(f"{path}.default", default, "must not have unknown fields")
        return
    if is_root or schema.get(_EMBEDDED):
        missing = [name for name in ("apiVersion", "kind") if name not in default]
        yield from (required(f"{path}.default.{name}") for name in missing)
        if missing:
            return
    found = False
    for cause in schema_causes(schema, default, work=work):
        found = True
        step = f".{cause.field}" if cause.field and cause.field != "<nil>" else ""
        yield Cause(cause.reason, cause.message, f"{path}.default{step}")
    if not found:
        is_whole = is_root or bool(schema.get(_EMBEDDED))
        yield from default_causes(schema, path.below(".default"), judge, is_root=is_whole)


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
    """Return the validation errors of a schema in `allOf`, `anyOf`, `oneOf` or `not`, which only restricts values."""
    for name, text in _ELSEWHERE.items():
        if schema.get(name):
            yield forbidden(f"{path}.{name}", text)
    yield from _pattern_causes(schema, path, work)
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
    """Yield a schema and all schemas nested in it."""
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
