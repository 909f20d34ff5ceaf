# SPDX-License-Identifier: Apache-2.0
"""The shape of a kind's objects, compiled from its schema into nested functions.

A shape answers the object in stored form: nulls and empty lists and maps left out,
unknown fields left out and told, times normalised, defaults filled in. What needs no
change is answered itself, and what *is* a part of the old object is not looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from controller_runtime.api.schema import Schema
from controller_runtime.apiserver.rules.values import Reader, json_name, reader_for, zero_of

Place: TypeAlias = tuple["Place", str] | None
"""Where in the object a value stands: its parent's place and the last step, `.name` or `[0]`; None at the root."""

Shape = Callable[[Any, Any, Place, list[Place]], Any]
"""Takes a value, the old object's value at the same place, its place, and the list that gathers unknown fields."""

_EVENT = "io.k8s.api.core.v1.Event"
# What may stand in a schema in place of another one; the definitions of these say nothing.
_OR_SCHEMA: Mapping[str, type] = {
    "JSONSchemaPropsOrArray": list,
    "JSONSchemaPropsOrBool": bool,
    "JSONSchemaPropsOrStringArray": list,
}
_TELLING = ("managedFields",)  # an empty list of them is a wish: to forget who owns what


class Misshapen(Exception):
    """A value of the wrong type; the text names its place."""


def path_of(place: Place) -> str:
    """A place as messages name it: `spec.taints[0].key`."""
    steps = []
    while place is not None:
        place, step = place
        steps.append(step)
    return "".join(reversed(steps)).removeprefix(".")


class Compiler:
    """Makes shapes. One shape for each definition, so that recursive ones end.

    Args:
        fill: Whether defaults are filled in and empty lists and maps left out, as an object is stored.
    """

    def __init__(self, *, fill: bool = True) -> None:
        self._fill = fill
        self._made: dict[str, Shape] = {}

    def shape(self, schema: Schema) -> Shape:
        """The shape of a list, a map or an object with fields."""
        if schema.items is not None:
            return self._list(schema.items)
        if schema.additional is not None:
            return self._map(schema.additional)
        made = self._made.get(schema.name) if schema.name else None
        return made or self._object(schema)

    def _list(self, items: Schema) -> Shape:
        reader = reader_for(items)
        return _list_of_values(reader) if reader else _list_of_parts(self.shape(items))

    def _map(self, additional: Schema) -> Shape:
        reader = reader_for(additional)
        return _map_of_values(reader) if reader else _map_of_parts(self.shape(additional))

    def _object(self, schema: Schema) -> Shape:
        fields = _Fields()
        shape = _object_with(fields)
        if schema.name:
            self._made[schema.name] = shape  # before its fields, which may refer back to it
        for name, child in schema.properties.items():
            reader = reader_for(child)
            if (other := _OR_SCHEMA.get(child.name.rpartition(".")[2])) is not None:
                fields.parts[name] = _part_or(shape, other)
            elif reader is not None:
                fields.readers[name] = reader
            else:
                fields.parts[name] = self.shape(child)
                if self._fill and not child.properties and name not in schema.required and name not in _TELLING:
                    fields.left_out_when_empty.add(name)
            if not self._fill:
                continue
            if child.default is not None:
                default = child.default
                fields.defaults[name] = default if reader else fields.parts[name](default, None, None, [])
            elif _prints_null(schema, child):
                fields.defaults[name] = None
        return shape


def _prints_null(schema: Schema, child: Schema) -> bool:
    """Whether a time that was never set is printed: a quirk of a real server that its clients know."""
    is_time = child.format == "date-time"
    return is_time and (schema.name.endswith("Condition") or schema.name == _EVENT)


class _Fields:
    """The fields of one kind of object. Filled by the compiler, read-only from then on."""

    def __init__(self) -> None:
        self.readers: dict[str, Reader] = {}
        self.parts: dict[str, Shape] = {}
        self.defaults: dict[str, Any] = {}
        self.left_out_when_empty: set[str] = set()  # only ever asked `in`


def _object_with(fields: _Fields) -> Shape:
    readers, parts, defaults, droppable = fields.readers, fields.parts, fields.defaults, fields.left_out_when_empty

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not dict:
            raise Misshapen(f"{path_of(place)}: expected an object, got {json_name(value)}")
        before = old if type(old) is dict else {}
        changes: dict[str, Any] = {}  # None: the field is left out
        name = ""
        try:
            for name, item in value.items():
                if item is None:
                    if name not in defaults:
                        changes[name] = None
                elif (reader := readers.get(name)) is not None:
                    if (new := reader(item)) is not item:
                        changes[name] = new
                elif (part := parts.get(name)) is not None:
                    new = part(item, before.get(name), (place, f".{name}"), unknown)
                    if not new and name in droppable:
                        changes[name] = None
                    elif new is not item:
                        changes[name] = new
                else:
                    changes[name] = None
                    unknown.append((place, f".{name}"))
        except ValueError as error:
            raise Misshapen(f"{path_of((place, f'.{name}'))}: {error}") from error
        for name, default in defaults.items():
            if value.get(name) is None and (default is not None or name not in value):
                changes[name] = _fresh(default)
        return _changed(value, changes, defaults) if changes else value

    return shape


def _fresh(default: Any) -> Any:
    """A default of the object's own: objects are plain dicts, and whoever holds one may write to it."""
    return {name: _fresh(item) for name, item in default.items()} if type(default) is dict else default


def _changed(value: dict[str, Any], changes: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in {**value, **changes}.items() if item is not None or name in defaults}


def _part_or(part: Shape, other: type) -> Shape:
    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        return value if type(value) is other else part(value, old, place, unknown)

    return shape


def _list_of_values(reader: Reader) -> Shape:
    zero = zero_of(reader)

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not list:
            raise Misshapen(f"{path_of(place)}: expected a list, got {json_name(value)}")
        read: list[Any] = []
        try:
            for item in value:
                read.append(zero if item is None else reader(item))
        except ValueError as error:
            raise Misshapen(f"{path_of(place)}[{len(read)}]: {error}") from error
        return value if read == value else read

    return shape


def _list_of_parts(part: Shape) -> Shape:
    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not list:
            raise Misshapen(f"{path_of(place)}: expected a list, got {json_name(value)}")
        known = {id(item) for item in old} if type(old) is list else ()
        changed = False
        read = []
        for index, item in enumerate(value):
            if id(item) not in known:
                new = part({} if item is None else item, None, (place, f"[{index}]"), unknown)
                changed |= new is not item
                item = new
            read.append(item)
        return read if changed else value

    return shape


def _map_of_values(reader: Reader) -> Shape:
    zero = zero_of(reader)

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not dict:
            raise Misshapen(f"{path_of(place)}: expected an object, got {json_name(value)}")
        changes: dict[str, Any] = {}
        name = ""
        try:
            for name, item in value.items():
                new = zero if item is None else reader(item)
                if new is not item:
                    changes[name] = new
        except ValueError as error:
            raise Misshapen(f"{path_of((place, f'.{name}'))}: {error}") from error
        return {**value, **changes} if changes else value

    return shape


def _map_of_parts(part: Shape) -> Shape:
    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not dict:
            raise Misshapen(f"{path_of(place)}: expected an object, got {json_name(value)}")
        before = old if type(old) is dict else {}
        changes: dict[str, Any] = {}
        for name, item in value.items():
            new = part({} if item is None else item, before.get(name), (place, f".{name}"), unknown)
            if new is not item:
                changes[name] = new
        return {**value, **changes} if changes else value

    return shape
