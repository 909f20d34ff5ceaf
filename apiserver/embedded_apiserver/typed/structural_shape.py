# SPDX-License-Identifier: Apache-2.0
"""Shapes of custom objects: by a structural schema, they prune unknown fields, fill in defaults, and leave out nulls.

Types are not checked here: a value of a wrong type is left as it is, and `schema_causes` reports it.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from apimachinery.schema import schema_for
from embedded_apiserver.kinds.definition import Definition, Raw
from embedded_apiserver.status import too_large
from embedded_apiserver.typed.paths import ROOT, Path
from embedded_apiserver.typed.shape import Compiler, Misshapen, Place, Shape, path_of

_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_DEFINITIONS = 512  # the most to cache, so that definitions that come and go do not fill the memory
_MOST_FILLED = 1 << 20  # bytes of defaults in one object: a short list of empty objects can ask for any amount
_ANYTHING: Raw = {_PRESERVES: True}
_NOTHING: Raw = {"nullable": True}
_Defaults = list[tuple[str, Raw, int]]
"""Name, schema, and bytes as JSON of each field that has a default."""

_OBJECT = ("apiVersion", "kind", "metadata")  # fields that each object has, an embedded one, too


@functools.lru_cache(_DEFINITIONS)
def structural_shape(definition: Definition, *, keep_nulls: bool = False) -> Shape:
    """Return the `Shape`, a function that checks and converts, for whole custom objects without kind and apiVersion.

    Args:
        definition: The definition of the kind.
        keep_nulls: True to keep each null that no default replaces, as after a server-side apply. If False, nulls that
            the schema does not allow are left out.
    """
    rest_of = _of_objects(definition)
    metadata_shape = _metadata_shape()
    defaults: dict[int, _Defaults] = {}

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        before = old or {}
        rest = {name: item for name, item in value.items() if name != "metadata"}
        made = _Walk(defaults, keep_nulls=keep_nulls).fields(rest_of, rest, before, place, unknown)
        sent, known = value.get("metadata") or {}, before.get("metadata")
        return {"metadata": metadata_shape(sent, known, (place, ".metadata"), unknown), **made}

    return shape


def reshaped(definition: Definition, obj: Mapping[str, Any], *, fill: bool = False) -> dict[str, Any]:
    """Return a custom object without the fields and nulls that the schema does not allow; its metadata is unchanged.

    The result is a new dict, which shares the parts that do not change with `obj`.

    Args:
        definition: The schema, of any API version of the object's kind.
        obj: The object, valid under a schema of its kind.
        fill: True to add the schema's defaults.
    """
    rest = {name: item for name, item in obj.items() if name != "metadata"}
    made = _Walk({}, fill=fill).fields(_of_objects(definition), rest, {}, None, [])
    return {"metadata": obj["metadata"], **made}


@functools.lru_cache(_DEFINITIONS)
def _of_objects(definition: Definition) -> Raw:
    """Return the schema without the fields that each object has."""
    fields = definition.structure.get("properties", {})
    return {**definition.structure, "properties": {name: fields[name] for name in fields if name not in _OBJECT}}


def unknown_fields(schema: Raw, value: Any) -> list[Place]:
    """Return the places of the fields in a value that its schema does not have."""
    unknown: list[Place] = []
    _Walk({}, fill=False).value(schema, value, None, None, unknown)
    return unknown


def embedded_objects(schema: Raw, value: Any, path: Path = ROOT) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the embedded objects in a value (`x-kubernetes-embedded-resource`), each with its path."""
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
    """One walk through an object along its schema. A part that needs no change is returned itself, not copied.

    Args:
        defaults: A cache of the fields with defaults, by the id of the schema that holds them. All walks along one
            schema share it, and keep the schema alive, so that its id is not used for another.
        fill: Whether to fill in defaults.
        keep_nulls: Whether nulls stay that no default replaces; see `structural_shape`.
    """

    def __init__(self, defaults: dict[int, _Defaults], *, fill: bool = True, keep_nulls: bool = False) -> None:
        self._fill = fill
        self._keep_nulls = keep_nulls
        self._defaults = defaults
        self._left = _MOST_FILLED

    def value(self, schema: Raw, value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old and value is not None:
            return value
        if type(value) is dict:
            return self.fields(schema, value, old if type(old) is dict else {}, place, unknown)
        if type(value) is list and (items := _items_of(schema)) is not None:
            made = [self._element(items, item, (place, f"[{index}]"), unknown) for index, item in enumerate(value)]
            return value if all(new is item for new, item in zip(made, value, strict=True)) else made
        return value

    def fields(
        self, schema: Raw, value: dict[str, Any], old: Mapping[str, Any], place: Place, unknown: list[Place]
    ) -> dict[str, Any]:
        """Return the fields that the schema has or preserves, and those that it fills in."""
        made: dict[str, Any] = {}
        is_embedded = schema.get(_EMBEDDED)
        for name, item in value.items():
            child, here = _child(schema, name), (place, f".{name}")
            if is_embedded and name in _OBJECT:
                made[name] = self._of_object(name, item, here, unknown)
            elif child is None:
                unknown.append(here)
            elif item is not None or child is _ANYTHING or child.get("nullable") or self._keeps_null(child):
                made[name] = self.value(child, item, old.get(name), here, unknown)
        if self._fill:
            for name, child, size in self._defaults_in(schema):
                if name not in made:
                    default = self._default_of(child, size)
                    made[name] = self.value(child, default, None, (place, f".{name}"), [])
        same = len(made) == len(value) and all(name in made and made[name] is item for name, item in value.items())
        return value if same else made

    def _keeps_null(self, child: Raw) -> bool:
        return self._keep_nulls and "default" not in child

    def _of_object(self, name: str, item: Any, place: Place, unknown: list[Place]) -> Any:
        """Return a field that each embedded object has: its metadata have the shape of all metadata."""
        if self._keep_nulls:  # the object was made by the server, from parts that have been checked
            return item
        if name != "metadata":
            if type(item) is not str:
                raise Misshapen(f"{path_of(place)}: Invalid value: {_json(item)}: must be a string")
            return item
        if item is None:
            return item
        made = _metadata_shape()(item, None, place, unknown)
        # As in a real server's, whose metadata are a struct, an empty time is left out here alone.
        return {key: value for key, value in made.items() if key != "creationTimestamp" or value is not None}

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
        """Return a copy of a default, or refuse an object to which too many bytes of defaults would be added."""
        self._left -= size
        if self._left < 0:
            raise too_large(f"limit is {_MOST_FILLED} bytes of defaults")
        return copy.deepcopy(schema["default"])


@functools.cache
def _metadata_shape() -> Shape:
    recorded = schema_for("coordination.k8s.io", "v1", "Lease")
    assert recorded is not None, "the schema of a lease is recorded"
    return Compiler().shape(recorded.properties["metadata"])


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _items_of(schema: Raw) -> Raw | None:
    """Return the schema of the elements of a list; None if all that is in them is preserved."""
    items = schema.get("items")
    if isinstance(items, Mapping):
        return items
    return None if schema.get(_PRESERVES) or schema is _ANYTHING else _NOTHING


def _child(schema: Raw, name: str) -> Raw | None:
    """Return the schema of a field; `_ANYTHING` if unknown fields are preserved here, None if they are pruned."""
    child: Raw | None = schema.get("properties", {}).get(name)
    if child is not None:
        return child
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return values
    if values is True:
        return _NOTHING  # a real server keeps the values of such a map, but prunes all that is inside them
    open_ended = schema.get(_PRESERVES) or (schema.get(_EMBEDDED) and name in _OBJECT)
    return _ANYTHING if open_ended else None
