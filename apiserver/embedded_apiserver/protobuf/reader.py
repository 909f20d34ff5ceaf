# SPDX-License-Identifier: Apache-2.0
"""Decoding of protobuf messages to the form of their JSON. A field whose number is not known is skipped, as protobuf
requires.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from apimachinery.objects import microtime, timestamp
from apimachinery.schema import Schema, schema_for
from embedded_apiserver.bounds import MOST_VALUES, has_too_many_values
from embedded_apiserver.protobuf.envelope import MAGIC
from embedded_apiserver.protobuf.messages import (
    EITHER,
    FIELDS,
    INT_OR_STRING,
    JSON,
    MICRO_TIME,
    OR_BOOL,
    OR_STRINGS,
    QUANTITY,
    RAW,
    SCALARS,
    TIME,
    WRAPPED_LISTS,
    schema_of,
    targets,
)
from embedded_apiserver.status import bad_request, too_many_values

# Kinds that exist in each group and version: clients send them in the group of the objects that they delete.
_OF_EVERY_GROUP = ("DeleteOptions",)
_NO_ENVELOPE = f"provided data does not appear to be a protobuf message, expected prefix [{' '.join(map(str, MAGIC))}]"
_EXACT = 2**53  # a double represents each whole number below it exactly
_MOST_FIELDS = 2 * MOST_VALUES  # twice the limit for values, because Go also sends empty fields
_64_BITS, _INT32 = (1 << 64) - 1, "int32"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Data = bytes | memoryview
"""A part of a message; a view, so that parts within parts are not copied."""

Wire = int | Data
"""A value on the wire: a number, or a message or text, which have a length."""


def decode_object(body: bytes) -> dict[str, Any]:
    """Return the object in a protobuf envelope, as decoded JSON.

    Raises:
        ValueError: The body is malformed.
        IndexError: The body ends within a number.
        OverflowError: A time is outside of the years that Python supports.
        RecursionError: The values are nested too deeply.
        StatusError: 400, the kind is unknown; 413, the object has too many values.
    """
    return _Reader().document(body)


def decode(message: str, data: bytes) -> dict[str, Any]:
    """Return a protobuf message without an envelope, as decoded JSON.

    Args:
        message: The full name of the message.
        data: The encoded message.

    Raises:
        KeyError: There is no message with this name.
        ValueError: The data are malformed; further errors are those of `decode_object`.
    """
    return _Reader().message(schema_of(message), message, memoryview(data))


class _Reader:
    """Reads one message, up to the limit for the number of fields. Threads: one."""

    def __init__(self) -> None:
        self._left = _MOST_FIELDS

    def document(self, body: bytes) -> dict[str, Any]:
        """Return the object in a request's body.

        Raises:
            ValueError: The body is malformed.
            StatusError: 400, its kind is not known; 413, it holds too many values.
        """
        if not body.startswith(MAGIC):
            raise ValueError(_NO_ENVELOPE)
        if body == MAGIC:
            raise ValueError("empty body")
        envelope = self._last(memoryview(body)[len(MAGIC) :])
        about = self._last(_bytes(envelope.get(1, b"")))
        api_version, kind = (_text(about.get(number, b"")) for number in (1, 2))
        group, _, version = ("", "", "v1") if kind in _OF_EVERY_GROUP else api_version.rpartition("/")
        schema = schema_for(group, version, kind)
        if schema is None or not targets(schema.name):
            raise bad_request(f'no kind "{kind}" is registered for version "{api_version}"')
        content = self.message(schema, schema.name, _bytes(envelope.get(2, b"")))
        return {"apiVersion": api_version, "kind": kind, **content}

    def message(self, schema: Schema, name: str, data: Data) -> dict[str, Any]:
        """Return a message whose types are those of `schema`, and whose field numbers are those of `name`."""
        known = targets(name)
        found: dict[str, Any] = {}
        for number, wire in self._fields(data):
            target = known.get(number)
            if target is None:
                continue
            if target.message:
                found |= self.message(schema, target.message, _bytes(wire))
                continue
            field = target.name
            child = schema.properties.get(field)
            if child is None:
                continue
            if (name, field) in WRAPPED_LISTS and child.items is not None:
                found[field] = [self._value(child.items, one) for _, one in self._fields(_bytes(wire))]
            elif child.items is not None:
                found.setdefault(field, []).extend(self._elements(child.items, wire))
            elif child.additional is not None:
                found.setdefault(field, {}).update([self._entry(schema, child.additional, _bytes(wire))])
            else:
                value = self._either(schema, child.name, wire) if child.name in EITHER else self._value(child, wire)
                # Go sends every field that is no pointer: its zero says no more than its absence.
                if value or (target.is_pointer and value is not None):
                    found[field] = value
        return found

    def _value(self, schema: Schema, wire: Wire) -> Any:
        if (special := _SPECIAL.get(schema.name)) is not None:
            return special(self, _bytes(wire))
        match schema.type, schema.format:
            case "string", "byte":
                return base64.b64encode(_bytes(wire)).decode()
            case "string", _:
                return _text(wire)
            case "boolean", _:
                return bool(_number(wire))
            case "integer", form:
                return _integer(_number(wire), form)
            case "number", _:
                return _double(_number(wire))
        return self.message(schema, schema.name, _bytes(wire))

    def _either(self, schema: Schema, name: str, wire: Wire) -> Any:
        """Return a nested schema or its alternative, depending on `name`: a list of schemas, of strings, a boolean."""
        own, other = EITHER[name]
        inner, others = None, []
        for number, value in self._fields(_bytes(wire)):
            if number == own:
                inner = self.message(schema, schema.name, _bytes(value))
            elif number == other:
                others.append(value)
        if name == OR_BOOL:
            return inner if inner is not None else bool(others and _number(others[-1]))
        if not others:
            return inner or {}
        if name == OR_STRINGS:
            return [_text(value) for value in others]
        return [self.message(schema, schema.name, _bytes(value)) for value in others]

    def _elements(self, schema: Schema, wire: Wire) -> list[Any]:
        if schema.type == "integer" and not isinstance(wire, int):  # packed
            return [_integer(_signed(number), schema.format) for number in self._varints(wire)]
        return [self._value(schema, wire)]

    def _entry(self, parent: Schema, schema: Schema, data: Data) -> tuple[str, Any]:
        """Return key and value of a map's entry, which is a message with two fields."""
        entry = self._last(data)
        key, wire = _text(entry.get(1, b"")), entry.get(2, b"" if schema.type not in SCALARS else 0)
        if schema.name in EITHER:
            return key, self._either(parent, schema.name, wire)
        if schema.items is None:
            return key, self._value(schema, wire)
        values = self._fields(_bytes(wire))  # a list, in a message of its own
        return key, [self._value(schema.items, one) for _, one in values]

    def _time(self, data: Data) -> str | None:
        return timestamp(self._instant(data)) if data else None

    def _micro_time(self, data: Data) -> str | None:
        return microtime(self._instant(data)) if data else None

    def _instant(self, data: Data) -> datetime:
        fields = self._last(data)
        seconds, nanos = (_number(fields.get(number, 0)) for number in (1, 2))
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)

    def _quantity(self, data: Data) -> str:
        return _text(self._last(data).get(1, b""))

    def _int_or_string(self, data: Data) -> int | str:
        fields = self._last(data)
        return _text(fields.get(3, b"")) if fields.get(1) else _integer(_number(fields.get(2, 0)), _INT32)

    def _raw_json(self, data: Data) -> Any:
        text = bytes(_bytes(self._last(data).get(1, b"")))
        if len(text) > MOST_VALUES and has_too_many_values(text):
            raise too_many_values()
        return msgspec.json.decode(text or b"null")

    def _last(self, data: Data) -> dict[int, Wire]:
        """Return the fields of a message by number. Of a repeated field the last value counts, as in protobuf."""
        return dict(self._fields(data))

    def _fields(self, data: Data) -> Iterator[tuple[int, Wire]]:
        """Yield the number and the value of each field."""
        at = 0
        while at < len(data):
            self._spend()
            tag, at = _varint(data, at)
            wire: Wire
            match tag & 7:
                case 0:
                    wire, at = _varint(data, at)
                case 2:
                    size, at = _varint(data, at)
                    wire, at = data[at : at + size], at + size
                case 1 | 5 as width:
                    size = 8 if width == 1 else 4
                    wire, at = int.from_bytes(data[at : at + size], "little"), at + size
                case _:
                    raise ValueError(f"proto: illegal wireType {tag & 7}")
            if at > len(data):
                raise ValueError("the message is truncated")
            yield tag >> 3, wire

    def _varints(self, data: Data) -> Iterator[int]:
        at = 0
        while at < len(data):
            self._spend()
            number, at = _varint(data, at)
            yield number

    def _spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise too_many_values()


_SPECIAL: Mapping[str, Callable[[_Reader, Data], Any]] = {
    TIME: _Reader._time,
    MICRO_TIME: _Reader._micro_time,
    FIELDS: _Reader._raw_json,
    QUANTITY: _Reader._quantity,
    RAW: _Reader._raw_json,
    JSON: _Reader._raw_json,
    INT_OR_STRING: _Reader._int_or_string,
}


def _double(bits: int) -> int | float:
    """Return the number with these 64 bits; a whole one as an int, because Go writes it without a fraction."""
    (number,) = struct.unpack("<d", struct.pack("<q", bits))
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def _varint(data: Data, at: int) -> tuple[int, int]:
    """Return the lowest 64 bits of the number at `at`, in groups of seven bits, and the offset of its end."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & _64_BITS, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _integer(number: int, form: str) -> int:
    """Return a number as its field holds it: one of 32 bits the lowest 32, as in Go."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31) if form == _INT32 else number


def _number(wire: Wire) -> int:
    if not isinstance(wire, int):
        raise ValueError("a number was expected")
    return _signed(wire)


def _bytes(wire: Wire) -> Data:
    if isinstance(wire, int):
        raise ValueError("a message or a text was expected")
    return wire


def _text(wire: Wire) -> str:
    return str(_bytes(wire), "utf-8")
