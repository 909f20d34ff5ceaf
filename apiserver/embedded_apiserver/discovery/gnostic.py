# SPDX-License-Identifier: Apache-2.0
"""OpenAPI v2 documents in protobuf, the only form in which kubectl asks for them.

The messages are those of gnostic (`openapi.v2.Document`). They have the structure of the JSON document, with three
differences: a map is a list of named values; a value of any type is a text in YAML; and a choice between types is a
message around the chosen one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Encode = Callable[[int, Any], bytes]
"""Encodes a field as protobuf, given its number and its JSON value. A zero value becomes no bytes, as protobuf
requires.
"""

_VARINT, _DOUBLE, _BYTES = 0, 1, 2  # the wire types of protobuf
_BITS = (1 << 64) - 1
# The prefix of the names of all extensions, and the entry for them in the table below.
_VENDOR = "x-"


def encoded(document: Mapping[str, Any]) -> bytes:
    """Return an OpenAPI v2 document as protobuf, without the parts for which the format (gnostic) has no field."""
    return _fields("Document", document)


def _fields(message: str, value: Mapping[str, Any]) -> bytes:
    """Return the fields of one message, in the order of their numbers."""
    known = _MESSAGES[message]
    made: list[tuple[int, bytes]] = []
    for name, child in value.items():
        if (field := known.get(name)) is not None:
            number, encode = field
            made.append((number, encode(number, child)))
        elif name.startswith(_VENDOR) and _VENDOR in known:
            number, encode = known[_VENDOR]
            made.append((number, _field(number, _BYTES, _named(name, child, encode))))
    return b"".join(content for _, content in sorted(made))


def _varint(number: int) -> bytes:
    number &= _BITS  # a negative number is encoded as its two's complement
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)


def _field(number: int, wire: int, content: bytes) -> bytes:
    head = _varint(number << 3 | wire)
    return head + _varint(len(content)) + content if wire == _BYTES else head + content


def _named(name: str, value: Any, encode: Encode) -> bytes:
    """Return an entry of a map: the fields name and value."""
    return _text(1, name) + encode(2, value)


def _text(number: int, value: str) -> bytes:
    return _field(number, _BYTES, value.encode()) if value else b""


def _flag(number: int, value: bool) -> bytes:
    return _field(number, _VARINT, b"\x01") if value else b""


def _whole(number: int, value: float) -> bytes:
    return _field(number, _VARINT, _varint(int(value))) if value else b""


def _real(number: int, value: float) -> bytes:
    return _field(number, _DOUBLE, struct.pack("<d", value)) if value else b""


def _any(number: int, value: Any) -> bytes:
    return _field(number, _BYTES, _field(2, _BYTES, msgspec.json.encode(value)))  # all JSON is YAML


def _message(name: str) -> Encode:
    return lambda number, value: _field(number, _BYTES, _fields(name, value))


def _within(inner: int, encode: Encode) -> Encode:
    """Return the encoder of a message that has only the field `inner`."""
    return lambda number, value: _field(number, _BYTES, encode(inner, value))


def _each(encode: Encode) -> Encode:
    return lambda number, values: b"".join(encode(number, value) for value in values)


def _map(encode: Encode, inner: int = 1) -> Encode:
    """Return the encoder of a map: a message that is a list of named values."""

    def entries(number: int, value: Mapping[str, Any]) -> bytes:
        made = [_field(inner, _BYTES, _named(name, child, encode)) for name, child in value.items()]
        return _field(number, _BYTES, b"".join(made))

    return entries


def _types(number: int, value: str | list[str]) -> bytes:
    return _field(number, _BYTES, _each(_text)(1, [value] if isinstance(value, str) else value))


def _additional(number: int, value: Any) -> bytes:
    if isinstance(value, bool):  # in a choice, False has to be sent as well: it is a field in a message of its own
        return _field(number, _BYTES, _field(2, _VARINT, _varint(value)))
    return _field(number, _BYTES, _SCHEMA(1, value))


def _parameter(number: int, value: Mapping[str, Any]) -> bytes:
    choice = {
        "body": _within(1, _message("BodyParameter")),
        "query": _within(2, _within(3, _message("QueryParameter"))),
        "path": _within(2, _within(4, _message("PathParameter"))),
    }
    return choice[value["in"]](number, value)


def _parameter_or_reference(number: int, value: Mapping[str, Any]) -> bytes:
    return (_within(2, _message("Reference")) if "$ref" in value else _within(1, _parameter))(number, value)


_PARAMETERS = _each(_parameter_or_reference)
_OPERATION, _SCHEMA = _message("Operation"), _message("Schema")
# The fields of each message, by their names in JSON: the number and the encoder.
_MESSAGES: Mapping[str, Mapping[str, tuple[int, Encode]]] = {
    "Document": {
        "swagger": (1, _text),
        "info": (2, _message("Info")),
        "paths": (8, _map(_message("PathItem"), 2)),
        "definitions": (9, _map(_SCHEMA)),
        "parameters": (10, _map(_parameter)),
    },
    "Info": {"title": (1, _text), "version": (2, _text)},
    "PathItem": {
        "get": (2, _OPERATION),
        "put": (3, _OPERATION),
        "post": (4, _OPERATION),
        "delete": (5, _OPERATION),
        "options": (6, _OPERATION),
        "head": (7, _OPERATION),
        "patch": (8, _OPERATION),
        "parameters": (9, _PARAMETERS),
    },
    "Operation": {
        "tags": (1, _each(_text)),
        "description": (3, _text),
        "operationId": (5, _text),
        "produces": (6, _each(_text)),
        "consumes": (7, _each(_text)),
        "parameters": (8, _PARAMETERS),
        "responses": (9, _map(_within(1, _message("Response")))),
        "schemes": (10, _each(_text)),
        _VENDOR: (13, _any),
    },
    "Reference": {"$ref": (1, _text)},
    "BodyParameter": {
        "description": (1, _text),
        "name": (2, _text),
        "in": (3, _text),
        "required": (4, _flag),
        "schema": (5, _SCHEMA),
    },
    "QueryParameter": {
        "required": (1, _flag),
        "in": (2, _text),
        "description": (3, _text),
        "name": (4, _text),
        "type": (6, _text),
        "uniqueItems": (20, _flag),
    },
    "PathParameter": {
        "required": (1, _flag),
        "in": (2, _text),
        "description": (3, _text),
        "name": (4, _text),
        "type": (5, _text),
        "uniqueItems": (19, _flag),
    },
    "Response": {"description": (1, _text), "schema": (2, _within(1, _SCHEMA))},
    "ExternalDocs": {"description": (1, _text), "url": (2, _text)},
    "Schema": {
        "$ref": (1, _text),
        "format": (2, _text),
        "title": (3, _text),
        "description": (4, _text),
        "multipleOf": (6, _real),
        "maximum": (7, _real),
        "exclusiveMaximum": (8, _flag),
        "minimum": (9, _real),
        "exclusiveMinimum": (10, _flag),
        "maxLength": (11, _whole),
        "minLength": (12, _whole),
        "pattern": (13, _text),
        "maxItems": (14, _whole),
        "minItems": (15, _whole),
        "uniqueItems": (16, _flag),
        "maxProperties": (17, _whole),
        "minProperties": (18, _whole),
        "required": (19, _each(_text)),
        "enum": (20, _each(_any)),
        "additionalProperties": (21, _additional),
        "type": (22, _types),
        "items": (23, _within(1, _SCHEMA)),
        "properties": (25, _map(_SCHEMA)),
        "externalDocs": (29, _message("ExternalDocs")),
        "example": (30, _any),
        _VENDOR: (31, _any),
    },
}
