# SPDX-License-Identifier: Apache-2.0
"""Shapes: functions, compiled from a built-in kind's schema, that check an object and bring it into stored form.

In the stored form, nulls and the zero values that a real server does not store are left out, unknown fields are left
out and reported, times and quantities are normalized, and defaults are filled in. The schema is walked once, when the
shape is compiled, because the shape runs for each write: it only looks up fields in dicts.

A shape returns a part that needs no change as the same object, not as a copy. A part that *is* a part of the old
object (by identity) was checked when it was stored, so it is returned without a look: an update that changes one field
of a large object costs little. The rules of pods rely on both, to see whether an update sent another spec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from controller_runtime.api.schema import Schema
from controller_runtime.apiserver.rules.stored_forms import stored_form_of
from controller_runtime.apiserver.rules.type_defaults import TYPE_DEFAULTS, TypeDefault
from controller_runtime.apiserver.rules.values import (
    Reader,
    amount,
    canonical,
    json_name,
    quantity,
    reader_for,
    zero_of,
)

Place: TypeAlias = tuple["Place", str] | None
"""The path of a value in the object: the place of its parent and the last step, `.name` or `[0]`; None at the root.

Its text is made by `path_of` only when a message needs it: a pair per level costs less than a string per value."""

Shape = Callable[[Any, Any, Place, list[Place]], Any]
"""A function of a value, the old object's value at the same place, the place, and the list that collects the places of
unknown fields. It returns the value in stored form, and raises `Misshapen`."""

# Types in the schema of custom resource definitions for which the published schema gives no fields. A value of them is
# either of the Python type named here, or a schema like the one that holds it.
_OR_SCHEMA: Mapping[str, type] = {
    "JSONSchemaPropsOrArray": list,
    "JSONSchemaPropsOrBool": bool,
    "JSONSchemaPropsOrStringArray": list,
}
# Kept although empty: an empty `managedFields` is a request to reset the ownership of all fields, which `writes` reads.
_MEANINGFUL_WHEN_EMPTY = ("managedFields",)


class Misshapen(Exception):
    """A value has the wrong type; the message begins with its path."""


def path_of(place: Place) -> str:
    """Return a place in the form of messages: `spec.taints[0].key`."""
    steps = []
    while place is not None:
        place, step = place
        steps.append(step)
    return "".join(reversed(steps)).removeprefix(".")


class Compiler:
    """A compiler of shapes. It compiles each named schema once: some schemas refer to themselves.

    Args:
        fill: Whether to bring values into the form in which they are stored: with defaults, without zero values,
            quantities in their canonical spelling. False for an applied configuration: a field that is missing there
            is left to others, whatever its default, and its manager owns each field that it sends.
    """

    def __init__(self, *, fill: bool = True) -> None:
        self._fill = fill
        self._made: dict[str, Shape] = {}

    def shape(self, schema: Schema) -> Shape:
        """Return the shape of a list, a map or an object with fields; a scalar has a reader, see `reader_for`."""
        if schema.items is not None:
            return self._list(schema.items)
        if schema.additional is not None:
            return self._map(schema.additional)
        made = self._made.get(schema.name) if schema.name else None
        return made or self._object(schema)

    def _reader(self, schema: Schema, *, of_map: bool = False) -> Reader | None:
        reader = reader_for(schema)
        if reader is quantity and self._fill:
            return amount if of_map else canonical
        return reader

    def _list(self, items: Schema) -> Shape:
        reader = self._reader(items)
        return _list_of_values(reader) if reader else _list_of_parts(self.shape(items))

    def _map(self, additional: Schema) -> Shape:
        reader = self._reader(additional, of_map=True)
        return _map_of_values(reader) if reader else _map_of_parts(self.shape(additional))

    def _object(self, schema: Schema) -> Shape:
        fields = _Fields()
        shape = _object_with(fields, TYPE_DEFAULTS.get(schema.name) if self._fill else None)
        if schema.name:
            self._made[schema.name] = shape  # before its fields are compiled: they may refer to this schema
        form = stored_form_of(schema.name) if self._fill else None
        for name, child in schema.properties.items():
            reader = self._reader(child)
            if (other := _OR_SCHEMA.get(child.name.rpartition(".")[2])) is not None:
                fields.parts[name] = _part_or(shape, other)
            elif reader is not None:
                fields.readers[name] = reader
            else:
                fields.parts[name] = self.shape(child)
            if not self._fill or name in _MEANINGFUL_WHEN_EMPTY:
                continue
            default = child.default
            if form is None:  # a type that is not stored, such as a review
                if reader is None and not child.properties and name not in schema.required:
                    fields.zeros[name] = None
            else:
                if name in form.zeros:
                    fields.zeros[name] = form.zeros[name]
                if name in form.defaults and form.defaults[name] is None:
                    fields.defaults[name] = None
                if name != "metadata":
                    default = form.defaults.get(name)
            if default is not None:
                fields.defaults[name] = default if reader else fields.parts[name](default, None, None, [])
        return shape


class _Fields:
    """The fields of one object schema.

    The compiler first makes the shape that uses these fields, then fills them in. After that they do not change.

    Attributes:
        readers: The readers of scalar fields.
        parts: The shapes of lists, maps and objects.
        defaults: Values of fields that are missing or null, in stored form; None: the field is stored as null.
        zeros: What is stored in place of an empty or zero value, by field; None if the field is left out, or stored as
            null if that is its default. Such a value of other fields is kept.
    """

    def __init__(self) -> None:
        self.readers: dict[str, Reader] = {}
        self.parts: dict[str, Shape] = {}
        self.defaults: dict[str, Any] = {}
        self.zeros: dict[str, Any] = {}


def _object_with(fields: _Fields, complete: TypeDefault | None) -> Shape:
    readers, parts, defaults, zeros = fields.readers, fields.parts, fields.defaults, fields.zeros

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not dict:
            raise Misshapen(f"{path_of(place)}: expected an object, got {json_name(value)}")
        before = old if type(old) is dict else {}
        # Nothing is copied until something has to change: most parts of most writes are in stored form already.
        changes: dict[str, Any] = {}  # None: the field is left out, or stored as null if that is its default
        name = ""  # outside the loop: the handler below names the field at which a reader failed
        try:
            for name, item in value.items():
                if item is None:
                    if name not in defaults:
                        changes[name] = None
                elif (reader := readers.get(name)) is not None:
                    new = reader(item)
                    if not new and name in zeros:
                        changes[name] = zeros[name]
                    elif new is not item:
                        changes[name] = new
                elif (part := parts.get(name)) is not None:
                    new = part(item, before.get(name), (place, f".{name}"), unknown)
                    if not new and name in zeros:
                        changes[name] = zeros[name]
                    elif new is not item:
                        changes[name] = new
                else:
                    changes[name] = None
                    unknown.append((place, f".{name}"))
        except ValueError as error:
            raise Misshapen(f"{path_of((place, f'.{name}'))}: {error}") from error
        for name, default in defaults.items():
            # A field that was sent as null and has the default null stays as it is.
            if value.get(name) is None and (default is not None or name not in value):
                changes[name] = _fresh(default)
        if changes:
            value = _changed(value, changes, defaults)
        return complete(value, before) if complete else value

    return shape


def _fresh(default: Any) -> Any:
    """Return a copy of a default, so that a caller that modifies its object does not modify the default, too."""
    return {name: _fresh(item) for name, item in default.items()} if type(default) is dict else default


def _changed(value: dict[str, Any], changes: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in {**value, **changes}.items() if item is not None or name in defaults}


def _part_or(part: Shape, other: type) -> Shape:
    """Return the shape of a value that is either a part or a value of type `other`, which is stored unchecked."""

    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        return value if type(value) is other else part(value, old, place, unknown)

    return shape


def _list_of_values(reader: Reader) -> Shape:
    zero = zero_of(reader)  # a null becomes this: inside a list it cannot be left out

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
        # Equality suffices although True == 1: no reader returns another value that equals the one it was given.
        return value if read == value else read

    return shape


def _list_of_parts(part: Shape) -> Shape:
    def shape(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
        if value is old:
            return value
        if type(value) is not list:
            raise Misshapen(f"{path_of(place)}: expected a list, got {json_name(value)}")
        # By identity, not by position: an item may have moved. The old list keeps its items alive, so that no other
        # object has the same id.
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
