# SPDX-License-Identifier: Apache-2.0
"""Errors of values that do not fit into their fields, in the words of a real API server's two decoders.

The shapes of `shape` decide what is accepted, and run for each write. When a write is refused, these functions walk the
object again to make the message: one decoder reads JSON into structs, the other one, for strategic merge patches and
applied configurations, copies decoded values into structs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any

from apimachinery.schema import Schema
from embedded_apiserver.typed.go_types import element_of, plain_type, type_of
from embedded_apiserver.typed.scalar_errors import MICRO_TIME_LAYOUT, base64_error, quantity_error, time_error
from embedded_apiserver.typed.values import micro_time, reader_for, time

_WORDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
_MACHINERY = "io.k8s.apimachinery.pkg."
_RAW = (f"{_MACHINERY}runtime.RawExtension", f"{_MACHINERY}apis.meta.v1.FieldsV1")
_EITHER = "JSONSchemaPropsOr"
_BITS = {"int32": 32, "int64": 64}


class _Refused(Exception):
    """Raised where a Go type with a decoder of its own rejects a value; decoding stops there.

    Attributes:
        value: The word for the type of the value; the whole message if `kind` is empty.
        kind: The Go type of the field.
    """

    def __init__(self, text: str, kind: str = "") -> None:
        super().__init__(text)
        self.value, self.kind = text, kind


def json_error(schema: Schema, raw: Any) -> str:
    """Return the error of a real API server's JSON decoder for a value of a wrong type; empty if there is none.

    It is the error of the first value that a type with a decoder of its own rejects, such as a time, because decoding
    stops there; if there is none, it is the error of the first other value.

    Args:
        schema: The schema of the kind.
        raw: The decoded object, with its fields in the order of the request.
    """
    walk = _JSON()
    try:
        walk.value(schema, plain_type(schema), raw, "", ())
    except _Refused as refused:
        return refused.value
    return walk.first


class _JSON:
    """One walk over a decoded object.

    Attributes:
        first: The first error; empty if absent.
    """

    def __init__(self) -> None:
        self.first = ""

    def value(self, schema: Schema, kind: str, value: Any, struct: str, path: tuple[str, ...]) -> None:
        """Look at a value of a Go type, which is at a path of fields, the last of which `struct` has."""
        if value is None or _is_raw(schema):
            return
        if (own := _OWN.get(schema.name)) is not None:
            try:
                own(value)
            except _Refused as refused:
                raise _Refused(_told(refused.value, refused.kind, struct, path)) from refused
            return
        if schema.items is not None:
            self._each(schema.items, kind, value, list, struct, path)
        elif schema.additional is not None:
            self._each(schema.additional, kind, value, dict, struct, path)
        elif reader_for(schema) is None or schema.name:
            self._fields(schema, kind, value, struct, path)
        else:
            self._scalar(kind, value, struct, path)

    def _each(self, schema: Schema, kind: str, value: Any, of: type, struct: str, path: tuple[str, ...]) -> None:
        if type(value) is not of:
            self._note(_WORDS[type(value)], kind, struct, path)
            return
        for item in _items(value):
            self.value(schema, element_of(kind, schema), item, struct, path)

    def _fields(self, schema: Schema, kind: str, value: Any, struct: str, path: tuple[str, ...]) -> None:
        if type(value) is not dict:
            self._note(_WORDS[type(value)], kind, struct, path)
            return
        for name, item in value.items():
            if (child := schema.properties.get(name)) is not None:
                embedded, of = type_of(schema.name, name, child)
                inner = (*path, *filter(None, embedded.split("/")), name)
                if (either := child.name.rpartition(".")[2]).startswith(_EITHER):
                    self._schema_or(either, schema, item, inner)
                else:
                    self.value(child, of, item, kind.rpartition(".")[2], inner)

    def _schema_or(self, either: str, schema: Schema, value: Any, path: tuple[str, ...]) -> None:
        """Look at a field of a schema in a definition that takes a schema, or something else."""
        struct = schema.name.rpartition(".")[2]
        if type(value) is dict:
            self.value(schema, plain_type(schema), value, struct, path)
        elif type(value) is list and not either.endswith("Bool"):
            for item in value:
                if either.endswith("StringArray"):
                    self._scalar("string", item, struct, path)
                else:
                    self.value(schema, plain_type(schema), item, struct, path)
        elif type(value) not in (bool, NoneType) and either.endswith("Bool"):
            raise _Refused("boolean or JSON schema expected")

    def _scalar(self, kind: str, value: Any, struct: str, path: tuple[str, ...]) -> None:
        base = _base_of(kind)
        if base == "[]uint8" and type(value) is str:
            self.first = self.first or base64_error(value)
        elif base == "[]uint8" and type(value) is list:
            for item in value:
                self._scalar("uint8", item, struct, path)
        elif not _fits(base, value):
            word = _WORDS[type(value)]
            is_number = word == "number" and (base in _BITS or base == "uint8")
            self._note(f"number {value}" if is_number else word, kind, struct, path)

    def _note(self, value: str, kind: str, struct: str, path: tuple[str, ...]) -> None:
        self.first = self.first or _told(value, kind, struct, path)


def _is_raw(schema: Schema) -> bool:
    """Return whether a field takes any value, or one of several types, as schemas in definitions do."""
    return schema.name in _RAW or not (schema.type or schema.name in _OWN)


def _items(value: Any) -> Iterable[Any]:
    """Return the elements of a list or the values of a map."""
    return value.values() if type(value) is dict else value


def _base_of(kind: str) -> str:
    return "string" if "." in kind else kind


def _fits(base: str, value: Any) -> bool:
    if base in _BITS:
        half = 1 << _BITS[base] - 1
        return type(value) is int and -half <= value < half
    if base == "uint8":
        return value is None or (type(value) is int and 0 <= value < 256)
    return base == "interface {}" or _WORDS[type(value)] == {"float64": "number"}.get(base, base)


def _told(value: str, kind: str, struct: str, path: tuple[str, ...]) -> str:
    if not kind:
        return value
    place = f"struct field {struct}.{'.'.join(path)} of" if struct else "value of"
    return f"json: cannot unmarshal {value} into Go {place} type {kind}"


def _text(value: Any, kind: str = "string") -> str:
    if type(value) is not str:
        raise _Refused(_WORDS[type(value)], kind)
    return value


def _time(value: Any, layout: str = "") -> None:
    text = _text(value)
    try:
        (micro_time if layout else time)(text)
    except ValueError:
        raise _Refused(time_error(text, *filter(None, (layout,)))) from None


def _micro_time(value: Any) -> None:
    _time(value, MICRO_TIME_LAYOUT)


def _quantity(value: Any) -> None:
    text = value.strip() if type(value) is str else str(value) if type(value) in (int, float) else "{"
    if error := quantity_error(text):
        raise _Refused(error)


def _int_or_string(value: Any) -> None:
    if type(value) is not str and not _fits("int32", value):
        word = _WORDS[type(value)]
        raise _Refused(f"number {value}" if word == "number" else word, "int32")


_OWN: Mapping[str, Callable[[Any], None]] = {
    f"{_MACHINERY}apis.meta.v1.Time": _time,
    f"{_MACHINERY}apis.meta.v1.MicroTime": _micro_time,
    f"{_MACHINERY}api.resource.Quantity": _quantity,
    f"{_MACHINERY}util.intstr.IntOrString": _int_or_string,
}

_KINDS = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}


def conversion_error(schema: Schema, value: Any) -> str:
    """Return a real API server's error for the first value that cannot be copied into its struct; empty if there is
    none.
    """
    try:
        _copied(schema, plain_type(schema), value)
    except _Refused as refused:
        return _told(refused.value, refused.kind, "", ())
    return ""


def _copied(schema: Schema, kind: str, value: Any) -> None:
    if value is None or _is_raw(schema):
        return
    if (own := _OWN.get(schema.name)) is not None:
        own(value)
    elif schema.items is not None or schema.additional is not None:
        of, word = (dict, "map") if schema.items is None else (list, "slice")
        if type(value) is not of:
            raise _Refused(f"cannot restore {word} from {_KINDS[type(value)]}")
        inner = schema.additional if schema.items is None else schema.items
        assert inner is not None, "a list or a map"
        for item in _items(value):
            _copied(inner, element_of(kind, inner), item)
    elif reader_for(schema) is None or schema.name:
        if type(value) is not dict:
            raise _Refused(f"cannot restore struct from: {_KINDS[type(value)]}")
        for name, child in schema.properties.items():
            _copied(child, type_of(schema.name, name, child)[1], value.get(name))
    else:
        _copied_scalar(kind, value)


def _copied_scalar(kind: str, value: Any) -> None:
    base, given = _base_of(kind), _KINDS[type(value)]
    if base == "[]uint8":
        if type(value) is not str:
            raise _Refused(f"cannot restore slice from {given}")
        if value and (error := base64_error(value)):
            raise _Refused(f"error decoding from json: {error}")
    elif given == "float64" and base in _BITS:
        if not value.is_integer():
            raise _Refused(f"cannot convert {given} to {kind}")
    elif given == "int64" and base == "string":
        raise _Refused(f"cannot convert {given} to {kind}")
    elif given != base and base != "interface {}" and not (given == "int64" and base in ("int32", "float64")):
        raise _Refused(f"unrecognized type: {base}")
