# SPDX-License-Identifier: Apache-2.0
"""Rules of custom objects: one class for all custom kinds, which follows the definition of the kind."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from controller_runtime.api.equality import same_json
from controller_runtime.api.names import qualified_name_problems
from controller_runtime.apiserver.kinds.definition import Definition
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.definitions.schema_causes import NEW, schema_causes
from controller_runtime.apiserver.rules.definitions.schema_structure import schemas_in
from controller_runtime.apiserver.rules.definitions.structural_shape import embedded_objects, structural_shape
from controller_runtime.apiserver.rules.definitions.work import Path
from controller_runtime.apiserver.rules.rules import Object, Rules, with_status_of
from controller_runtime.apiserver.rules.validation import invalid, required
from controller_runtime.apiserver.status import Cause

_EMBEDDED = "x-kubernetes-embedded-resource"
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")
_DEFINITIONS = 512  # the most to cache, so that definitions that come and go do not fill the memory
_INT32_MAX = (1 << 31) - 1


class CustomRules(Rules):
    """The rules of one custom kind.

    Args:
        kind: The kind of the objects.
        definition: The definition of that kind, in the version that is served.
    """

    def __init__(self, kind: Kind, definition: Definition) -> None:
        self._kind = kind
        self._definition = definition

    def shown_form(self, obj: Object) -> Object:
        """Return a stored object without the fields that the schema of this version does not have.

        All versions of a kind share one stored object, and no webhook converts between them.
        """
        if self._kind.stored_as is None:
            return obj
        shape = structural_shape(self._definition)
        shown: Object = shape(obj, None, None, [])
        return shown

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
        if same_json(_content(made), _content(self.shown_form(old))):
            return made
        metadata = made["metadata"]
        return {**made, "metadata": {**metadata, "generation": metadata.get("generation", 0) + 1}}

    def causes_of_new(self, obj: Object) -> Iterator[Cause]:
        yield from schema_causes(self._definition.structure, self._whole(obj))
        yield from self._embedded_causes(obj)
        yield from self._scale_causes(obj)

    def causes_of_change(self, old: Object, new: Object, subresource: str) -> Iterator[Cause]:
        structure = self._definition.structure
        if subresource != "status":
            yield from schema_causes(structure, self._whole(new), self._whole(self.shown_form(old)))
            yield from self._embedded_causes(new)
            yield from self._scale_causes(new)
            return
        schema = structure.get("properties", {}).get("status")
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
        if not _embeds(self._definition):
            return
        for path, value in embedded_objects({**structure, _EMBEDDED: False}, {**obj}):
            yield from _about_object(value, path)

    def _scale_causes(self, obj: Object) -> list[Cause]:
        if "scale" not in self._kind.subresources:
            return []
        causes = []
        for path in (self._kind.scale.wanted, self._kind.scale.present):
            value: Any = obj
            for step in path:
                value = value.get(step) if isinstance(value, dict) else None
            if type(value) is int and value < 0:
                causes.append(invalid(f".{'.'.join(path)}", value, "should be a non-negative integer"))
            elif type(value) is int and value > _INT32_MAX:
                text = f"should be less than or equal to {_INT32_MAX}"
                causes.append(invalid(f".{'.'.join(path)}", value, text))
        return causes


@functools.lru_cache(_DEFINITIONS)
def _embeds(definition: Definition) -> bool:
    """Return whether objects of a kind may embed whole objects. The walk through each object is skipped if not."""
    return any(schema.get(_EMBEDDED) for schema in schemas_in(definition.structure))


def _about_object(obj: Object, path: Path) -> Iterator[Cause]:
    """Return the faults of the kind and the apiVersion of an embedded object."""
    for word in ("apiVersion", "kind"):
        value = obj.get(word)
        if word not in obj:
            yield required(f"{path}.{word}")
        elif value == "":
            yield invalid(f"{path}.{word}", value, "must not be empty")
        elif word == "apiVersion" and isinstance(value, str) and value.count("/") > 1:
            yield invalid(f"{path}.{word}", value, f"unexpected GroupVersion string: {value}")


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
