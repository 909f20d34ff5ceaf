# SPDX-License-Identifier: Apache-2.0
"""The shape of a custom kind's objects, by its structural schema: unknown fields go, defaults come, nulls are left out.

Types are not looked at: a value of a wrong one is kept as it is, and `schema_faults` tells of it.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from controller_runtime.apiserver.kinds.definition import Definition, Raw
from controller_runtime.apiserver.rules.definitions.work import ROOT, Path
from controller_runtime.apiserver.rules.shape import Compiler, Place, Shape
from controller_runtime.apiserver.status import too_large

_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_DEFINITIONS = 512  # remembered, not all that ever come and go
_MOST_FILLED = 1 << 20  # bytes of defaults in one object
_ANYTHING: Raw = {_PRESERVES: True}
_Defaults = list[tuple[str, Raw, int]]
"""Name, schema and bytes of JSON of each field that has a default."""

_OBJECT = ("apiVersion", "kind", "metadata")  # what every object has, an embedded one too


@functools.lru_cache(_DEFINITIONS)
def structural_shape(definition: Definition, *, fill: bool = True) -> Shape:
    """The shape of whole objects, without kind and apiVersion.

    Args:
        definition: Of their kind.
        fill: Whether defaults are filled in and nulls left out, as an object is stored.
    """
    fields = definition.structure.get("properties", {})
    rest_of = {**definition.structure, "properties": {name: fields[name] for name in fields if name not in _OBJECT}}
    metadata_shape = Compiler(fill=fill).shape(definition.schema.properties["metadata"])
    defaults: dict[int, _Defaults] = {}

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        before = old or {}
        rest = {name: item for name, item in value.items() if name != "metadata"}
        made = _Walk(fill, defaults).fields(rest_of, rest, before, place, unknown)
        if "metadata" in value or fill:
            sent, known = value.get("metadata") or {}, before.get("metadata")
            made = {"metadata": metadata_shape(sent, known, (place, ".metadata"), unknown), **made}
        return made

    return shape


def unknown_fields(schema: Raw, value: Any) -> list[Place]:
    """The fields of a value that its schema does not know."""
    unknown: list[Place] = []
    _Walk(fill=False, defaults={}).value(schema, value, None, None, unknown)
    return unknown


def embedded_objects(schema: Raw, value: Any, path: Path = ROOT) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The objects within a value that are whole objects of their own, each with its path."""
    if type(value) is dict:
        if schema.get(_EMBEDDED):
            yield path, value
        for name, item in value.items():
            if (child := _child(schema, name)) is not None:
                yield from embedded_objects(child, item, path.below(f".{name}"))
    elif type(value) is list and isinstance(items := schema.get("items"), Mapping):
        for index, item in enumerate(value):
            yield from embedded_objects(items, item, path.below(f"[{index}]"))


class _Walk:
    """One way through one object and its schema; what needs no change is answered itself.

    Args:
        fill: Whether defaults are filled in.
        defaults: The defaults of the fields of schemas, by identity: a memory shared by all walks along one schema.
    """

    def __init__(self, fill: bool, defaults: dict[int, _Defaults]) -> None:
        self._fill = fill
        self._defaults = defaults
        self._room = _MOST_FILLED

    def value(self, schema: Raw, value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old and value is not None:
            return value
        if type(value) is dict:
            return self.fields(schema, value, old if type(old) is dict else {}, place, unknown)
        items = schema.get("items")
        if type(value) is list and items is not None:
            made = [self._element(items, item, (place, f"[{index}]"), unknown) for index, item in enumerate(value)]
            return value if all(new is item for new, item in zip(made, value, strict=True)) else made
        return value

    def fields(
        self, schema: Raw, value: dict[str, Any], old: Mapping[str, Any], place: Place, unknown: list[Place]
    ) -> dict[str, Any]:
        """The fields that the schema knows or lets be, and those that it fills in."""
        made: dict[str, Any] = {}
        for name, item in value.items():
            child, here = _child(schema, name), (place, f".{name}")
            if child is None:
                unknown.append(here)
            elif item is not None or child is _ANYTHING or child.get("nullable"):
                made[name] = self.value(child, item, old.get(name), here, unknown)
        if self._fill:
            for name, child, size in self._defaults_in(schema):
                if name not in made:
                    default = self._default_of(child, size)
                    made[name] = self.value(child, default, None, (place, f".{name}"), [])
        same = len(made) == len(value) and all(name in made and made[name] is item for name, item in value.items())
        return value if same else made

    def _element(self, items: Raw, item: Any, place: Place, unknown: list[Place]) -> Any:
        if item is None and self._fill and "default" in items and not items.get("nullable"):
            item = self._default_of(items, len(msgspec.json.encode(items["default"])))
        return self.value(items, item, None, place, unknown)

    def _defaults_in(self, schema: Raw) -> _Defaults:
        """Return the fields of a schema that have defaults; most schemas have none."""
        found = self._defaults.get(id(schema))
        if found is None:
            fields = schema.get("properties", {}).items()
            found = [
                (name, child, len(name) + len(msgspec.json.encode(child["default"])))
                for name, child in fields
                if "default" in child
            ]
            self._defaults[id(schema)] = found
        return found

    def _default_of(self, schema: Raw, size: int) -> Any:
        """Return a copy of a default, or refuse an object that becomes too large by its defaults."""
        self._room -= size
        if self._room < 0:
            raise too_large(f"limit is {_MOST_FILLED} bytes of defaults")
        return copy.deepcopy(schema["default"])


def _child(schema: Raw, name: str) -> Raw | None:
    """The schema of a field; None if there is no such field."""
    child: Raw | None = schema.get("properties", {}).get(name)
    if child is not None:
        return child
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return values
    open_ended = values is True or schema.get(_PRESERVES) or (schema.get(_EMBEDDED) and name in _OBJECT)
    return _ANYTHING if open_ended else None
