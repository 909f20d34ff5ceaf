# SPDX-License-Identifier: Apache-2.0
"""The encoding of numbers and of single fields."""

from __future__ import annotations

VARINT, DOUBLE, BYTES = 0, 1, 2
"""The wire types: a number in groups of seven bits, eight bytes, and bytes with their length."""

SMALL = tuple(bytes((number,)) for number in range(128))
"""The encodings of the numbers that need one byte."""

_WORD = (1 << 64) - 1


def delimited(number: int, content: bytes) -> bytes:
    """Return an encoded field whose content is a message, a text or bytes; `number` is the field number."""
    return b"%b%b%b" % (tag(number, BYTES), varint(len(content)), content)


def field_head(number: int, length: int) -> bytes:
    """Return the bytes that precede the content of a field with a message, a text or bytes; `length` is in bytes."""
    return tag(number, BYTES) + varint(length)


def varint(number: int) -> bytes:
    """Return a number as a protobuf varint, in groups of seven bits. A negative number is encoded as 64 bits."""
    if 0 <= number < 128:
        return SMALL[number]
    number &= _WORD
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def tag(number: int, wire_type: int) -> bytes:
    """Return the tag of a field, which precedes its value: the field number and the wire type."""
    return varint(number << 3 | wire_type)
