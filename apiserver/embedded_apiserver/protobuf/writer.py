# SPDX-License-Identifier: Apache-2.0
"""Encoding of objects as the messages that a real API server sends, byte for byte.

The real API server's encoder writes the fields by number, entries of maps by key, and each field but a pointer, list or
map even if the object lacks it. Fields of an object that its message does not have are left out.
"""

from __future__ import annotations

import base64
import functools
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from apimachinery.schema import Schema
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
    TIME,
    WRAPPED_LISTS,
    MessageField,
    schema_of,
    targets,
)
from embedded_apiserver.protobuf.wire import BYTES, DOUBLE, SMALL, VARINT, delimited, tag, varint

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)  # Go's zero, which says that there is no time

Write = Callable[[list[bytes], Any], None]
"""Appends a field with its tag to the parts of a message."""

_encode_json = msgspec.json.Encoder().encode


def encode(message: str, obj: Mapping[str, Any]) -> bytes:
    """Return an object, or a part of one, encoded as a protobuf message.

    Args:
        message: The full name of the message, such as `io.k8s.api.core.v1.Node`.
        obj: The object as decoded JSON.

    Raises:
        KeyError: There is no message with this name.
    """
    return _encoder(message, message)(obj)


class _Field(NamedTuple):
    """The way in which one field is written.

    Attributes:
        name: Its name in JSON; empty for a message whose fields belong to the parent.
        write: Appends it, given its value, or the parent if it has no name.
        absent: The bytes if the object lacks it.
    """

    name: str
    write: Write
    absent: bytes


@functools.cache
def _encoder(schema_name: str, message: str) -> Callable[[Mapping[str, Any]], bytes]:
    """Return the encoder of a message, which is compiled at its first call, because messages can contain themselves.

    Args:
        schema_name: The name of the schema with the types of the fields.
        message: The name of the message with their numbers; another one for fields that belong to a parent in JSON.
    """
    fields: list[_Field] = []
    schema, numbered = schema_of(schema_name), targets(message)

    def encoded(obj: Mapping[str, Any]) -> bytes:
        if not fields:  # two threads may compile at once; the results are equal
            fields[:] = [one for target in numbered.values() if (one := _field(schema, message, target)) is not None]
        parts: list[bytes] = []
        get, append = obj.get, parts.append
        for name, write, absent in fields:
            value = get(name) if name else obj
            if value is not None:
                write(parts, value)
            elif absent:
                append(absent)
        return b"".join(parts)

    return encoded


def _field(schema: Schema, message: str, target: MessageField) -> _Field | None:
    """Return how a field is written; None if the schema does not know it."""
    number = target.number
    if target.message:
        return _Field("", _message_writer(number, _encoder(schema.name, target.message)), b"")
    child = schema.properties.get(target.name)
    if child is None:
        return None
    if child.items is not None:
        one = _writer(number if (message, target.name) not in WRAPPED_LISTS else 1, child.items)
        many = _list_writer(one)
        if (message, target.name) in WRAPPED_LISTS:
            many = _message_writer(number, functools.partial(_joined, many))
        return _Field(target.name, many, b"")
    if child.additional is not None:
        return _Field(target.name, _map_writer(number, child.additional), b"")
    write = _writer(number, child)
    is_written = not target.is_pointer and child.format != "byte"
    return _Field(target.name, write, _joined(write, _zero(child)) if is_written else b"")


def _writer(number: int, schema: Schema) -> Write:
    """Return the writer of a single value."""
    if (special := _SPECIAL.get(schema.name)) is not None:
        return _message_writer(number, special)
    if schema.name in EITHER:
        return _message_writer(number, functools.partial(_either, schema.name))
    match schema.type, schema.format:
        case "string", "byte":
            return _message_writer(number, base64.b64decode)
        case "string", _:
            return _message_writer(number, str.encode)
        case (("boolean" | "integer"), _):
            return _number_writer(number)
        case "number", _:
            return _double_writer(number)
    return _message_writer(number, _encoder(schema.name, schema.name))


def _zero(schema: Schema) -> Any:
    """Return the value that Go has for an absent field that is not a pointer."""
    if schema.name in _ZEROS:
        return _ZEROS[schema.name]
    match schema.type:
        case "string":
            return ""
        case "boolean" | "integer" | "number":
            return 0
    return {}


def _message_writer(number: int, content: Callable[[Any], bytes]) -> Write:
    head = tag(number, BYTES)

    def write(parts: list[bytes], value: Any) -> None:
        inner = content(value)
        length = len(inner)
        parts.append(head)
        parts.append(SMALL[length] if length < 128 else varint(length))
        parts.append(inner)

    return write


def _number_writer(number: int) -> Write:
    head = tag(number, VARINT)

    def write(parts: list[bytes], value: Any) -> None:
        parts.append(head + varint(int(value)))

    return write


def _double_writer(number: int) -> Write:
    head = tag(number, DOUBLE)

    def write(parts: list[bytes], value: Any) -> None:
        parts.append(head + struct.pack("<d", value))

    return write


def _list_writer(one: Write) -> Write:
    def write(parts: list[bytes], values: Any) -> None:
        for value in values:
            one(parts, value)

    return write


def _map_writer(number: int, schema: Schema) -> Write:
    """Return the writer of a map: an entry is a message of key and value; a list as value is a separate message."""
    if schema.items is not None:
        value_of = _message_writer(2, functools.partial(_joined, _list_writer(_writer(1, schema.items))))
    else:
        value_of = _writer(2, schema)
    key_of = _message_writer(1, str.encode)
    # The value in place of null; bytes are left out as in Go, which tells null from empty ones.
    zero = [] if schema.items is not None else None if schema.format == "byte" else _zero(schema)

    def entry(item: tuple[str, Any]) -> bytes:
        key, value = item
        parts: list[bytes] = []
        key_of(parts, key)
        if value is not None or zero is not None:
            value_of(parts, zero if value is None else value)
        return b"".join(parts)

    entry_of = _message_writer(number, entry)

    def write(parts: list[bytes], values: Any) -> None:
        for item in sorted(values.items()) if len(values) > 1 else values.items():
            entry_of(parts, item)

    return write


def _joined(write: Write, value: Any) -> bytes:
    parts: list[bytes] = []
    write(parts, value)
    return b"".join(parts)


def _either(name: str, value: Any) -> bytes:
    """Return a nested schema or what stands in its place: a list of schemas, of strings, a boolean."""
    own, other = EITHER[name]
    inside = _encoder(_SCHEMA, _SCHEMA)
    if isinstance(value, bool):
        return _joined(_number_writer(other), value)
    if isinstance(value, list):
        one = str.encode if name == OR_STRINGS else inside
        return _joined(_list_writer(_message_writer(other, one)), value)
    allowed = _joined(_number_writer(other), True) if name == OR_BOOL else b""
    return allowed + delimited(own, inside(value))


def _time(text: str) -> bytes:
    return _timestamp(text, has_fraction=False)


def _micro_time(text: str) -> bytes:
    return _timestamp(text, has_fraction=True)


def _timestamp(text: str, *, has_fraction: bool) -> bytes:
    instant = datetime.fromisoformat(text) if text else _ZERO_TIME
    if instant == _ZERO_TIME:
        return b""
    seconds, rest = divmod(instant - _EPOCH, _SECOND)
    return b"\x08%b\x10%b" % (varint(seconds), varint(rest.microseconds * 1000 if has_fraction else 0))


def _quantity(value: str | int | float) -> bytes:
    return delimited(1, str(value).encode())


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + delimited(3, value.encode())
    return b"\x08\x00\x10%b\x1a\x00" % varint(value)


def _raw_json(value: Any) -> bytes:
    """Return any value as the text of its JSON."""
    return b"" if value is None else delimited(1, _encode_json(value))


_SCHEMA = f"{JSON}SchemaProps"
_SPECIAL: Mapping[str, Callable[[Any], bytes]] = {
    TIME: _time,
    MICRO_TIME: _micro_time,
    FIELDS: _raw_json,
    QUANTITY: _quantity,
    RAW: _raw_json,
    JSON: _raw_json,
    INT_OR_STRING: _int_or_string,
}


_ZEROS: Mapping[str, Any] = {FIELDS: None, RAW: None, JSON: None, QUANTITY: "0", INT_OR_STRING: 0}
