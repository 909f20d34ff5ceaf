# SPDX-License-Identifier: Apache-2.0
"""Shapes: functions, compiled from a built-in kind's schema, that check an object and bring it into stored form.

In the stored form, nulls and the zero values that a real API server does not store are left out, unknown fields are
left out and reported, times and quantities are normalized, and defaults are filled in. The schema is walked once, when
the shape is compiled, because the shape runs for each write: it only looks up fields in dicts.

A shape returns a part that needs no change as the same object, not as a copy. A part that *is* a part of the old
object (by identity) was checked when it was stored, so it is returned without a look: an update that changes one field
of a large object costs little. The rules of pods rely on both, to see whether an update sent another spec.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from apimachinery.schema import Schema
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.typed.shape_parts import (
    Misshapen,
    Place,
    Shape,
    checked_by,
    empty_after,
    list_of_parts,
    list_of_values,
    map_of_parts,
    map_of_values,
    part_or,
    path_of,
)
from embedded_apiserver.typed.stored_forms import off_in, stored_form_of
from embedded_apiserver.typed.type_defaults import TYPE_DEFAULTS, TypeDefault
from embedded_apiserver.typed.values import (
    Reader,
    amount,
    base64_text,
    canonical,
    int32,
    json_name,
    octets,
    quantity,
    reader_for,
    wrapped,
)

__all__ = ["Compiler", "Misshapen", "Place", "Shape", "path_of"]

# Types in the schema of custom resource definitions for which the published schema gives no fields. A value of them is
# either of the Python type named here, or a schema like the one that holds it.
_OR_SCHEMA: Mapping[str, type] = {
    "JSONSchemaPropsOrArray": list,
    "JSONSchemaPropsOrBool": bool,
    "JSONSchemaPropsOrStringArray": list,
}
# Kept although empty: an empty `managedFields` is a request to reset the ownership of all fields, which `writes` reads.
_MEANINGFUL_WHEN_EMPTY = ("managedFields",)


class Compiler:
    """Compiles schemas to shapes: functions that check a value and return it in stored form.

    Each named schema is compiled once, because some schemas refer to themselves.

    Args:
        release: The Kubernetes release whose stored form values get.
        fill: True to convert values to their stored form: with defaults, without zero values, with canonical
            quantities. False for an applied configuration, because its manager owns exactly the fields that it sent,
            nulls included.
    """

    def __init__(self, release: Release = NEWEST, *, fill: bool = True) -> None:
        self._release, self._fill = release, fill
        self._made: dict[str, Shape] = {}

    def shape(self, schema: Schema) -> Shape:
        """Return the `Shape` for a list, a map or an object with fields. Scalars have a reader; see `reader_for`."""
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
        if reader is base64_text and self._fill:
            return octets
        return wrapped if reader is int32 and not self._fill else reader

    def _list(self, items: Schema) -> Shape:
        reader = self._reader(items)
        return list_of_values(reader) if reader else list_of_parts(self.shape(items))

    def _map(self, additional: Schema) -> Shape:
        reader = self._reader(additional, of_map=True)
        return map_of_values(reader) if reader else map_of_parts(self.shape(additional))

    def _object(self, schema: Schema) -> Shape:
        fields = _Fields()
        complete = TYPE_DEFAULTS.get(schema.name) if self._fill else None
        shape = _object_with(fields, complete, keeps_nulls=not self._fill)
        if schema.name:
            self._made[schema.name] = shape  # before its fields are compiled: they may refer to this schema
        off = off_in(self._release).get(schema.name, ())
        form = stored_form_of(schema.name, self._release) if self._fill else None
        for name, child in schema.properties.items():
            reader = self._reader(child)
            if (other := _OR_SCHEMA.get(child.name.rpartition(".")[2])) is not None:
                fields.parts[name] = part_or(shape, other, drops=other is list)
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
            if name in off:
                fields.leave_out(name)
            elif default is not None:
                fields.defaults[name] = default if reader else fields.parts[name](default, None, None, [])
        return shape


class _Fields:
    """The fields of one object schema.

    The compiler first makes the shape that uses these fields, then fills them in. After that they do not change.

    Attributes:
        readers: The readers of scalar fields.
        parts: The shapes of lists, maps and objects.
        defaults: Values of fields that are missing or null, in stored form; None: the field is stored as null.
        zeros: The value to store in place of an empty or zero one, by field; None if the field is left out, or stored
            as null if that is its default. Such a value of other fields is kept.
    """

    def __init__(self) -> None:
        self.readers: dict[str, Reader] = {}
        self.parts: dict[str, Shape] = {}
        self.defaults: dict[str, Any] = {}
        self.zeros: dict[str, Any] = {}

    def leave_out(self, name: str) -> None:
        """Have a field checked and not stored, whatever its value."""
        self.zeros[name] = None
        if (reader := self.readers.pop(name, None)) is not None:
            self.parts[name] = checked_by(reader)
        else:
            self.parts[name] = empty_after(self.parts[name])


def _object_with(fields: _Fields, complete: TypeDefault | None, *, keeps_nulls: bool) -> Shape:
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
                    if name not in defaults and not keeps_nulls:
                        changes[name] = None
                    if name not in readers and name not in parts:
                        unknown.append((place, f".{name}"))
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
            nulls = [name for name, item in value.items() if item is None] if keeps_nulls else defaults
            value = _changed(value, changes, nulls)
        return complete(value, before) if complete else value

    return shape


def _fresh(default: Any) -> Any:
    """Return a copy of a default, so that a caller that modifies its object does not modify the default, too."""
    return {name: _fresh(item) for name, item in default.items()} if type(default) is dict else default


def _changed(value: dict[str, Any], changes: dict[str, Any], nulls: Collection[str]) -> dict[str, Any]:
    return {name: item for name, item in {**value, **changes}.items() if item is not None or name in nulls}
