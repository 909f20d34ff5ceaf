# SPDX-License-Identifier: Apache-2.0
"""The lines of watches, which are JSON, or frames of protobuf for clients written in Go."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from embedded_apiserver.protobuf.envelope import MAGIC, enveloped_document, frame
from embedded_apiserver.protobuf.wire import BYTES, VARINT

_EXPIRED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "too old resource version",
    "reason": "Expired",
    "code": 410,
}
EXPIRED_LINE = msgspec.json.encode({"type": "ERROR", "object": _EXPIRED}) + b"\n"
"""The last line of a watch whose version the server has forgotten."""
_OBJECT, _RAW, _MESSAGE, _METADATA, _VERSION = 2, 1, 2, 1, 6
"""The field numbers on the path from a frame to a version: event, envelope, object, metadata."""
_LENGTH = 4  # bytes before each frame


class _LineMetadata(msgspec.Struct, gc=False):
    resource_version: str = msgspec.field(default="0", name="resourceVersion")


class _LineObject(msgspec.Struct, gc=False):
    metadata: _LineMetadata


class _Event(msgspec.Struct, gc=False):
    object: _LineObject


_events = msgspec.json.Decoder(_Event)


def is_json(line: bytes) -> bool:
    """Return whether a line of a watch is JSON, and not a protobuf frame, which begins with its length."""
    return line.startswith(b"{")


def expired_like(line: bytes) -> bytes:
    """Return the last line of a watch that has expired (410), in the format of `line`: JSON or protobuf."""
    return EXPIRED_LINE if is_json(line) else frame("ERROR", enveloped_document(_EXPIRED))


def version_of(line: bytes) -> int:
    """Return the resourceVersion of the object in a line of a watch; 0 if it has none."""
    text = _events.decode(line).object.metadata.resource_version if is_json(line) else _version_in(line)
    return int(text) if text.isdigit() else 0


def _version_in(line: bytes) -> str:
    content = _field(_field(line[_LENGTH:], _OBJECT), _RAW).removeprefix(MAGIC)
    return _field(_field(_field(content, _MESSAGE), _METADATA), _VERSION).decode()


def _field(message: bytes, number: int) -> bytes:
    """Return the content of a field of bytes; empty if the message has none."""
    return next((content for found, content in _fields(message) if found == number), b"")


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(message):
        head, at = _varint(message, at)
        if head & 7 == BYTES:
            size, at = _varint(message, at)
            yield head >> 3, message[at : at + size]
            at += size
        elif head & 7 == VARINT:
            _, at = _varint(message, at)
        else:
            at += 8


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        group = message[at]
        number |= (group & 127) << shift
        at, shift = at + 1, shift + 7
        if group < 128:
            return number, at
