# SPDX-License-Identifier: Apache-2.0
"""The checks of custom objects, which follow the definition of their kind."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from apimachinery.names import label_errors, service_name_errors
from embedded_apiserver.causes import invalid, required
from embedded_apiserver.checks.metadata import metadata_causes
from embedded_apiserver.custom.list_causes import LIST_TYPE, list_causes
from embedded_apiserver.custom.schema_causes import NEW, schema_causes
from embedded_apiserver.custom.schema_structure import schemas_in
from embedded_apiserver.custom.validations.compiled import RuleNode, rules_of_definition
from embedded_apiserver.custom.validations.judged import Judge
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.definition import Definition
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_values import plain, type_of
from embedded_apiserver.typed.paths import Path
from embedded_apiserver.typed.structural_shape import embedded_objects

_EMBEDDED = "x-kubernetes-embedded-resource"
_DEFINITIONS = 512  # the most to cache, so that definitions that come and go do not fill the memory
_INT32_MAX = (1 << 31) - 1
_MISSING: Any = object()
_BLOCKING = tuple(f"FieldValue{word}" for word in ("NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid"))
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
# Stands for the kind of any embedded object: its name is a segment of a path.
_ANY = Kind(group="", version="", kind="", plural="", name_rule="path")


def custom_checks(kind: Kind, definition: Definition, tolerate: Callable[[str], None]) -> Checks:
    """Return the validation functions for objects of one custom kind.

    Args:
        kind: The kind of the objects.
        definition: The definition of the kind, in the served version.
        tolerate: A function that is called with each validation error of an unchanged part, which becomes a warning.
    """

    def new(obj: Object) -> Iterator[Cause]:
        whole = _whole(kind, obj)
        found = itertools.chain(
            schema_causes(definition.structure, whole),
            _scale_causes(kind, obj),
            _embedded_causes(definition, obj),
            _list_causes(definition, whole),
        )
        return _with_rules(definition, found, lambda node: Judge().new(node, whole))

    def updated(found: Iterable[Cause], old: Object, obj: Object) -> Iterator[Cause]:
        whole, before = _whole(kind, obj), _whole(kind, old)
        # Causes that the lists of the stored object have, too, must not stop an update of another field.
        found = itertools.chain(found, () if any(_list_causes(definition, before)) else _list_causes(definition, whole))
        return _with_rules(definition, found, lambda node: Judge(tolerate).update(node, whole, before))

    def change(old: Object, obj: Object) -> Iterator[Cause]:
        found = schema_causes(definition.structure, _whole(kind, obj), _whole(kind, old))
        return updated(itertools.chain(found, _scale_causes(kind, obj), _embedded_causes(definition, obj)), old, obj)

    def status(old: Object, obj: Object) -> Iterator[Cause]:
        found = _status_causes(definition, old, obj)
        return updated(itertools.chain(found, _scale_causes(kind, obj, "status")), old, obj)

    return Checks(new, change, status)


def _status_causes(definition: Definition, old: Object, new: Object) -> Iterator[Cause]:
    schema = definition.structure.get("properties", {}).get("status")
    if schema is None or "status" not in new:
        return
    # As on a real server, paths in the messages begin below the status, and paths in `field` begin above it.
    for cause in schema_causes(schema, new["status"], old.get("status", NEW)):
        yield cause._replace(field=f"status.{cause.field}".rstrip("."))


def _whole(kind: Kind, obj: Object) -> dict[str, Any]:
    """Return an object with its kind and apiVersion, which are not stored but may be in the schema."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **obj}


def _embedded_causes(definition: Definition, obj: Object) -> Iterator[Cause]:
    structure = definition.structure
    if not _uses(definition, _EMBEDDED):
        return
    for path, value in embedded_objects({**structure, _EMBEDDED: False}, {**obj}):
        yield from _about_object(_ANY, value, path)


def _list_causes(definition: Definition, whole: Object) -> Iterator[Cause]:
    has_lists = _uses(definition, LIST_TYPE)
    return list_causes(definition.structure, whole) if has_lists else iter(())


def _scale_causes(kind: Kind, obj: Object, subresource: str = "") -> Iterator[Cause]:
    if "scale" not in kind.subresources:
        return
    paths = kind.scale
    for path in (paths.present,) if subresource else (paths.wanted, paths.present):
        value, fault = _number_at(obj, path)
        field = f".{'.'.join(path)}"
        if fault:
            yield invalid(field, 0, fault)
        elif value < 0:
            yield invalid(field, value, "should be a non-negative integer")
        elif value > _INT32_MAX:
            yield invalid(field, value, f"should be less than or equal to {_INT32_MAX}")
    selector, fault = _reached(obj, paths.selector)
    if not fault and type(selector) is not str and selector is not _MISSING:
        fault = f".{'.'.join(paths.selector)} accessor error: {_is_of_type(selector)}, expected string"
    if paths.selector and fault:
        yield invalid(f".{'.'.join(paths.selector)}", "", fault)


def _with_rules(
    definition: Definition, causes: Iterable[Cause], judge: Callable[[RuleNode], Iterator[Cause]]
) -> Iterator[Cause]:
    """Add the causes by the rules in CEL or, as a real API server does, that a cause prevented their evaluation."""
    is_blocked = False
    for cause in causes:
        is_blocked = is_blocked or cause.reason in _BLOCKING
        yield cause
    node = rules_of_definition(definition)
    if node is None:
        return
    if is_blocked:
        yield Cause("FieldValueInvalid", f"Invalid value: null: {_UNCHECKED}", "<nil>")
    else:
        yield from judge(node)


def _reached(obj: Object, path: tuple[str, ...]) -> tuple[Any, str]:
    """Return the value at a path, `_MISSING` if there is none, and why the path cannot be followed."""
    value: Any = obj if path else _MISSING
    for depth, step in enumerate(path, start=1):
        if value is None or value is _MISSING:
            return _MISSING, ""
        if not isinstance(value, Mapping):
            place = ".".join(path[:depth])
            return _MISSING, f".{place} accessor error: {_is_of_type(value)}, expected map[string]interface{{}}"
        value = value.get(step, _MISSING)
    return value, ""


def _number_at(obj: Object, path: tuple[str, ...]) -> tuple[int, str]:
    value, fault = _reached(obj, path)
    if fault or value is _MISSING:
        return 0, fault
    if type(value) is int:
        return value, ""
    return 0, f".{'.'.join(path)} accessor error: {_is_of_type(value)}, expected int64"


def _is_of_type(value: object) -> str:
    return f"{plain(value)} is of the type {type_of(value)}"


@functools.lru_cache(4 * _DEFINITIONS)
def _uses(definition: Definition, word: str) -> bool:
    """Return whether a schema uses an extension anywhere. A walk through each object is skipped if not."""
    return any(schema.get(word) for schema in schemas_in(definition.structure))


def _about_object(kind: Kind, obj: Object, path: Path) -> Iterator[Cause]:
    """Return the validation errors of the kind and the apiVersion of an embedded object."""
    for word in ("apiVersion", "kind"):
        if word not in obj:
            yield required(f"{path}.{word}")
    for word in ("apiVersion", "kind"):
        value = obj.get(word, _MISSING)
        if value is _MISSING:
            continue
        if type(value) is not str:
            yield invalid(f"{path}.{word}", value, "must be a string")
        elif value == "":
            yield invalid(f"{path}.{word}", value, "must not be empty")
        elif word == "apiVersion" and value.count("/") > 1:
            yield invalid(f"{path}.{word}", value, f"unexpected GroupVersion string: {value}")
        elif word == "kind" and (problems := service_name_errors(value.lower())):
            text = "may have mixed case, but should otherwise match: "
            yield invalid(f"{path}.{word}", value, text + ",".join(problems))
    metadata = obj.get("metadata")
    if type(metadata) is dict:
        if place := metadata.get("namespace"):
            for problem in label_errors(place):
                yield invalid(f"{path}.metadata.namespace", place, problem)
        for cause in metadata_causes(kind, {"name": "fakename", **metadata}):
            yield cause._replace(field=f"{path}.{cause.field}")
