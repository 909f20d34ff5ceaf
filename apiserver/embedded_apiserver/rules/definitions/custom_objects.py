# SPDX-License-Identifier: Apache-2.0
"""Rules of custom objects: one class for all custom kinds, which follows the definition of the kind."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from apimachinery.equality import same_json
from apimachinery.names import label_problems, qualified_name_problems, service_name_problems
from embedded_apiserver.causes import invalid, required
from embedded_apiserver.kinds.definition import Definition
from embedded_apiserver.kinds.kind import Conversion, Kind
from embedded_apiserver.objects import Object, with_status_of
from embedded_apiserver.rules.definitions.list_causes import LIST_TYPE, list_causes
from embedded_apiserver.rules.definitions.schema_causes import NEW, schema_causes
from embedded_apiserver.rules.definitions.schema_structure import schemas_in
from embedded_apiserver.rules.definitions.structural_shape import embedded_objects, reshaped
from embedded_apiserver.rules.definitions.validations.compiled import RuleNode, rules_of_definition
from embedded_apiserver.rules.definitions.validations.judged import Judge
from embedded_apiserver.rules.definitions.work import Path
from embedded_apiserver.rules.go_values import plain, type_of
from embedded_apiserver.rules.rules import Rules
from embedded_apiserver.rules.validation import metadata_causes
from embedded_apiserver.status import Cause, untyped

_MARK = "apiVersion"  # names the version of a stored object
_EMBEDDED = "x-kubernetes-embedded-resource"
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")
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


class CustomRules(Rules):
    """The rules of one custom kind.

    Args:
        kind: The kind of the objects.
        definition: The definition of that kind, in the version that is served.
    """

    def __init__(self, kind: Kind, definition: Definition) -> None:
        self._kind = kind
        self._definition = definition
        self.tolerated: list[str] = []

    def opened(self, obj: Object) -> Object:
        """Return a stored object in this version, without the fields that its schema does not have.

        All versions of a kind share one stored object, which says its version if that is not the first that was ever
        stored. An object that was stored under an older schema gets the defaults of the present one.

        Raises:
            StatusError: 500, a webhook that converts the object fails.
        """
        kind = self._kind
        if kind.conversion is not None:
            return self._converted([obj])[0]
        if _MARK in obj:
            obj = {name: value for name, value in obj.items() if name != _MARK}
        if kind.has_changed:
            obj = reshaped(kind.storage or self._definition, obj, fill=True)
        return obj if kind.storage is None else reshaped(self._definition, obj)

    def prepare(self, objects: Iterable[Object]) -> None:
        """Convert stored objects together, so that `opened` finds them converted.

        Raises:
            StatusError: 500, a webhook that converts them fails.
        """
        if self._kind.conversion is not None:
            self._converted(list(objects))

    def _converted(self, objects: Sequence[Object]) -> list[Object]:
        kind, conversion, found = self._kind, self._kind.conversion, list(objects)
        assert conversion is not None, "only then objects are converted"
        by_version: dict[str, list[int]] = {}
        for place, obj in enumerate(objects):
            version = obj.get(_MARK) or kind.unmarked
            by_version.setdefault(version, []).append(place)
            plain = {name: value for name, value in obj.items() if name != _MARK}
            definition = kind.versions.get(version) if kind.has_changed else None
            found[place] = plain if definition is None else reshaped(definition, plain, fill=True)
        for version, places in by_version.items():
            if version == kind.api_version:
                continue
            if version not in kind.versions:
                raise untyped(f"request to convert CR from an invalid group/version: {version}")
            made = conversion.converted([found[place] for place in places], version, kind.api_version)
            for place, obj in zip(places, made, strict=True):
                found[place] = reshaped(self._definition, obj, fill=True)
        return found

    def closed(self, obj: Object, *, prune: bool = False) -> Object:
        """Return an object in the version in which it is stored, with the fields and the defaults of that version.

        Raises:
            StatusError: 500, a webhook that converts the object fails.
        """
        kind = self._kind
        if kind.storage is not None:
            if kind.conversion is not None:
                plain = reshaped(self._definition, obj) if prune else obj
                obj = conversion_result(kind.conversion, plain, kind)
            obj = reshaped(kind.storage, obj, fill=True)
        elif prune:
            obj = reshaped(self._definition, obj)
        return obj if kind.stored_version == kind.unmarked else {**obj, _MARK: kind.stored_version}

    def on_create(self, obj: Object) -> Object:
        """Return the object with generation 1, and without its status if the status is a subresource."""
        made = with_status_of({}, obj) if self._kind.has_status else obj
        return {**made, "metadata": {**made["metadata"], "generation": 1}}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        """Return the updated object; its generation grows if anything but the metadata has changed.

        A write to the status subresource changes the status alone. Labels do not change either, unlike those of
        built-in kinds; a real server treats custom objects so, too.
        """
        if subresource == "status":
            return with_status_of(new, old)
        made = with_status_of(old, new) if kind.has_status else new
        if same_json(_content(made), _content(old)):
            return made
        metadata = made["metadata"]
        return {**made, "metadata": {**metadata, "generation": metadata.get("generation", 0) + 1}}

    def causes_of_new(self, obj: Object) -> Iterator[Cause]:
        whole = self._whole(obj)
        found = itertools.chain(
            schema_causes(self._definition.structure, whole),
            self._scale_causes(obj),
            self._embedded_causes(obj),
            self._list_causes(whole),
        )
        return self._with_rules(found, lambda node: Judge().new(node, whole))

    def causes_of_change(self, old: Object, new: Object, subresource: str) -> Iterator[Cause]:
        whole, before = self._whole(new), self._whole(old)
        structure = self._definition.structure
        if subresource == "status":
            found = itertools.chain(self._status_causes(old, new), self._scale_causes(new, "status"))
        else:
            found = itertools.chain(
                schema_causes(structure, whole, before), self._scale_causes(new), self._embedded_causes(new)
            )
        # Faults that the lists of the stored object have, too, must not stop an update of another field.
        found = itertools.chain(found, () if any(self._list_causes(before)) else self._list_causes(whole))
        return self._with_rules(found, lambda node: Judge(self.tolerated.append).update(node, whole, before))

    def _status_causes(self, old: Object, new: Object) -> Iterator[Cause]:
        schema = self._definition.structure.get("properties", {}).get("status")
        if schema is None or "status" not in new:
            return
        # As on a real server, paths in the messages begin below the status, and paths in `field` begin above it.
        for cause in schema_causes(schema, new["status"], old.get("status", NEW)):
            yield cause._replace(field=f"status.{cause.field}".rstrip("."))

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        known = (old or {}).get("metadata", {}).get("finalizers", ())
        added = sorted({*obj.get("metadata", {}).get("finalizers", ())} - {*known, *_STANDARD_FINALIZERS})
        return [text for name in added for text in _about_finalizer(name)]

    def _whole(self, obj: Object) -> dict[str, Any]:
        """Return an object with its kind and apiVersion, which are not stored but may be in the schema."""
        return {"apiVersion": self._kind.api_version, "kind": self._kind.kind, **obj}

    def _embedded_causes(self, obj: Object) -> Iterator[Cause]:
        structure = self._definition.structure
        if not _uses(self._definition, _EMBEDDED):
            return
        for path, value in embedded_objects({**structure, _EMBEDDED: False}, {**obj}):
            yield from _about_object(_ANY, value, path)

    def _list_causes(self, whole: Object) -> Iterator[Cause]:
        has_lists = _uses(self._definition, LIST_TYPE)
        return list_causes(self._definition.structure, whole) if has_lists else iter(())

    def _scale_causes(self, obj: Object, subresource: str = "") -> Iterator[Cause]:
        if "scale" not in self._kind.subresources:
            return
        paths = self._kind.scale
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

    def _with_rules(self, causes: Iterable[Cause], judge: Callable[[RuleNode], Iterator[Cause]]) -> Iterator[Cause]:
        """Add the faults by the rules in CEL or, as a real server does, that a cause prevented their evaluation."""
        is_blocked = False
        for cause in causes:
            is_blocked = is_blocked or cause.reason in _BLOCKING
            yield cause
        node = rules_of_definition(self._definition)
        if node is None:
            return
        if is_blocked:
            yield Cause("FieldValueInvalid", f"Invalid value: null: {_UNCHECKED}", "<nil>")
        else:
            yield from judge(node)


def conversion_result(conversion: Conversion, obj: Object, kind: Kind) -> Object:
    """Return an object of a kind in the version in which it is stored."""
    return conversion.converted([obj], kind.api_version, kind.stored_version)[0]


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
    """Return the faults of the kind and the apiVersion of an embedded object."""
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
        elif word == "kind" and (problems := service_name_problems(value.lower())):
            text = "may have mixed case, but should otherwise match: "
            yield invalid(f"{path}.{word}", value, text + ",".join(problems))
    metadata = obj.get("metadata")
    if type(metadata) is dict:
        if place := metadata.get("namespace"):
            for problem in label_problems(place):
                yield invalid(f"{path}.metadata.namespace", place, problem)
        for cause in metadata_causes(kind, {"name": "fakename", **metadata}):
            yield cause._replace(field=f"{path}.{cause.field}")


def _content(obj: Object) -> dict[str, Any]:
    return {name: value for name, value in obj.items() if name != "metadata"}


def _about_finalizer(name: str) -> list[str]:
    field = f'metadata.finalizers: "{name}"'
    texts = [f"{field}: {text}" for text in qualified_name_problems(name)]
    if "/" not in name:
        path = " including a path (/)" if "." in name else ""
        accident = "to avoid accidental conflicts with other finalizer writers"
        texts.append(f"{field}: prefer a domain-qualified finalizer name{path} {accident}")
    return texts
