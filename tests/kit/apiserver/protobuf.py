# SPDX-License-Identifier: Apache-2.0
"""Protobuf messages, made and read by hand, to compare with what the server makes and reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from apimachinery.schema import Schema

MAGIC = b"k8s\0"


class Envelope(NamedTuple):
    """An object in its envelope."""

    api_version: str
    kind: str
    message: bytes


def varint(number: int) -> bytes:
    """Return the encoding of a number in groups of seven bits."""
    number &= (1 << 64) - 1
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def field(number: int, value: int | str | bytes) -> bytes:
    """Return the encoding of one field."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def message(api_version: str, kind: str, *fields: bytes) -> bytes:
    """Return the encoding of an object in its envelope."""
    about = field(1, api_version) + field(2, kind)
    return MAGIC + field(1, about) + field(2, b"".join(fields))


def texts(data: bytes) -> dict[int, bytes]:
    """Return the fields of a message that holds texts and messages alone, by number."""
    found, at = {}, 0
    while at < len(data):
        tag, at = _varint(data, at)
        length, at = _varint(data, at)
        assert tag & 7 == 2, tag
        found[tag >> 3], at = data[at : at + length], at + length
    assert at == len(data)
    return found


def opened(body: bytes) -> Envelope:
    """Return the object in an envelope, which must have all fields of one, and no others."""
    assert body.startswith(MAGIC), body[:20]
    envelope = texts(body.removeprefix(MAGIC))
    assert list(envelope) == [1, 2, 3, 4]
    assert envelope[3] == envelope[4] == b""
    about = texts(envelope[1])
    return Envelope(about[1].decode(), about[2].decode(), envelope[2])


def frames(stream: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the type and the envelope of each event of a watch."""
    while stream:
        length = int.from_bytes(stream[:4], "big")
        event = texts(stream[4 : 4 + length])
        yield event[1].decode(), texts(event[2])[1]
        stream = stream[4 + length :]


def messages_below(schema: Schema) -> list[Schema]:
    """Return each message that an object of a schema can contain, once."""
    found: dict[str, Schema] = {}
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if one.properties and one.name not in found:
            found[one.name] = one
            waiting += one.properties.values()
        waiting += [inner for inner in (one.items, one.additional) if inner is not None]
    return list(found.values())


def without_zeros(value: Any) -> Any:
    """Return a value without the fields whose zero says no more than their absence on the wire."""
    if isinstance(value, dict):
        inner = {name: without_zeros(part) for name, part in value.items()}
        # These quantities are structs in Go and not pointers, so their zero is written.
        zeros = [name for name, part in inner.items() if name in ("divisor", "value") and part == "0"]
        empty = ({}, [], None, "", 0, False)
        return {name: part for name, part in inner.items() if name not in zeros and part not in empty}
    return [without_zeros(part) for part in value] if isinstance(value, list) else value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at
