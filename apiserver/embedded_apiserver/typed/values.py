# SPDX-License-Identifier: Apache-2.0
"""Readers of scalar values: each returns the stored form of a value, or raises ValueError.

They are as strict as a real API server: a number is not taken for a string, a number with a fraction not for an
integer, and a MicroTime needs six digits. Nothing is converted by guessing.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from apimachinery.objects import microtime, timestamp
from apimachinery.quantities import QUANTITY, canonical_quantity
from apimachinery.schema import Schema
from embedded_apiserver.typed.scalar_errors import readable_quantity

Reader = Callable[[Any], Any]
"""Returns the stored form of a value that is not null. Raises ValueError, with the reason, for an invalid value."""

_SECONDS = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_ZONE = r"(?:Z|[+-]\d\d:\d\d)"
_TIME = re.compile(rf"{_SECONDS}(?:[.,]\d+)?{_ZONE}", re.ASCII)
_MICRO_TIME = re.compile(rf"{_SECONDS}\.\d{{6}}{_ZONE}", re.ASCII)
_MILLI = -3
_LONGEST_QUANTITY = 1_000  # characters; converting a number takes time that grows faster than its digits
_LINE_BREAKS = str.maketrans("", "", "\r\n")
_JSON_NAMES = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def json_name(value: Any) -> str:
    """Return the name of a decoded value's JSON type, for messages."""
    return _JSON_NAMES.get(type(value), "something else")


def _wrong(expected: str, value: Any) -> ValueError:
    return ValueError(f"expected {expected}, got {json_name(value)}")


def string(value: Any) -> str:
    """Return a string unchanged.

    Raises:
        ValueError: The value is not a string.
    """
    if type(value) is not str:
        raise _wrong("a string", value)
    return value


def boolean(value: Any) -> bool:
    """Return a boolean unchanged.

    Raises:
        ValueError: The value is not a boolean; 0 and 1 are not.
    """
    if type(value) is not bool:
        raise _wrong("a boolean", value)
    return value


def _integer(name: str, bits: int) -> Reader:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def integer(value: Any) -> int:
        if type(value) is not int:
            raise _wrong(f"an integer ({name})", value)
        if not low <= value <= high:
            raise ValueError(f"{value} does not fit into {name}")
        return value

    return integer


def wrapped(value: Any) -> Any:
    """Return an integer reduced to its lowest 32 bits, read as a signed number; refuse other values as `int32` does.

    A real API server reads numbers of an applied configuration so. Numbers that are a little too large become
    negative, so that later checks refuse them.
    """
    return (value + (1 << 31)) % (1 << 32) - (1 << 31) if type(value) is int else int32(value)


def _byte(value: Any) -> int:
    """Return a byte."""
    if type(value) is not int or not 0 <= value <= 255:
        raise _wrong("a byte", value)
    return value


int32 = _integer("int32", 32)
int64 = _integer("int64", 64)


def number(value: Any) -> int | float:
    """Return an integer or floating-point number unchanged.

    Raises:
        ValueError: The value is not a number; booleans are not.
    """
    if type(value) is not float and type(value) is not int:
        raise _wrong("a number", value)
    return value


def base64_text(value: Any) -> str:
    """Return base64 data as one line, without line breaks.

    Raises:
        ValueError: The value is not base64 data.
    """
    try:
        content = binascii.a2b_base64(string(value).translate(_LINE_BREAKS), strict_mode=True)
    except ValueError as error:  # also raised for text that is not ASCII
        raise ValueError(f"not base64: {error}") from error
    return binascii.b2a_base64(content, newline=False).decode()


def octets(value: Any) -> str:
    """Return base64 data as `base64_text` does; a list of numbers is accepted as well, and encoded.

    Raises:
        ValueError: The value is neither of them.
    """
    if type(value) is not list:
        return base64_text(value)
    return binascii.b2a_base64(bytes(0 if one is None else _byte(one) for one in value), newline=False).decode()


def _instant(pattern: re.Pattern[str], value: Any, expected: str) -> datetime:
    if pattern.fullmatch(string(value)) is None:
        raise ValueError(f"{value!r} is not {expected}")
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is no instant: {error}") from error


def _in_utc(instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{instant} is no instant in UTC: {error}") from error


def time(value: Any) -> str:
    """Return a time in the format RFC 3339, converted to UTC and truncated to whole seconds.

    Raises:
        ValueError: The value is not such a time.
    """
    instant = _instant(_TIME, value, "a time of RFC 3339")
    return value if len(value) == len("2026-01-01T00:00:00Z") else timestamp(_in_utc(instant))


def micro_time(value: Any) -> str:
    """Return a time in the format RFC 3339 with exactly six digits of fraction, converted to UTC.

    Raises:
        ValueError: The value is not such a time.
    """
    instant = _instant(_MICRO_TIME, value, "a time of RFC 3339 with six digits of fraction")
    return value if value.endswith("Z") else microtime(_in_utc(instant))


def quantity(value: Any) -> str:
    """Return a quantity such as `500m` or `8Gi`; a number is converted to a string.

    Raises:
        ValueError: The value is not a quantity.
    """
    text = str(value) if type(value) is int or type(value) is float else readable_quantity(string(value))
    if len(text) > _LONGEST_QUANTITY or QUANTITY.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a quantity such as 2, 500m or 8Gi")
    return text


def canonical(value: Any) -> str:
    """Return a quantity in its canonical form, in which it is stored: `500m` for `0.5`.

    Raises:
        ValueError: The value is not a quantity.
    """
    return canonical_quantity(quantity(value))


def amount(value: Any) -> str:
    """Return a quantity in its canonical form, rounded to thousandths away from zero, for amounts.

    Raises:
        ValueError: The value is not a quantity.
    """
    return canonical_quantity(quantity(value), _MILLI)


def int_or_string(value: Any) -> int | str:
    """Return a string, such as a port's name, unchanged; read any other value, such as a port's number, by `int32`.

    Raises:
        ValueError: The value is neither a string nor an integer of 32 bits.
    """
    return value if type(value) is str else int32(value)


def anything(value: Any) -> Any:
    """Return any JSON value unchanged, without a check."""
    return value


def mapping(value: Any) -> Any:
    """Return an object unchanged, without a check of its fields: its schema declares none.

    Raises:
        ValueError: The value is not an object.
    """
    if type(value) is not dict:
        raise _wrong("an object", value)
    return value


_BY_NAME: Mapping[str, Reader] = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": time,
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": micro_time,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": quantity,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": int_or_string,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": anything,
}
_BY_TYPE: Mapping[tuple[str, str], Reader] = {
    ("string", "byte"): base64_text,
    ("integer", "int32"): int32,
}
_BY_PLAIN_TYPE: Mapping[str, Reader] = {
    "string": string,
    "boolean": boolean,
    "integer": int64,
    "number": number,
    "object": mapping,
    "": anything,
}
_ZEROS: Mapping[Reader, Any] = {
    string: "",
    boolean: False,
    int32: 0,
    wrapped: 0,
    int64: 0,
    number: 0,
    quantity: "0",
    canonical: "0",
    amount: "0",
    base64_text: "",
    octets: "",
}


def reader_for(schema: Schema) -> Reader | None:
    """Return the reader for a scalar schema; None for lists, maps and objects with fields, which have a `Shape`."""
    if schema.name in _BY_NAME:
        return _BY_NAME[schema.name]
    if schema.properties or schema.items is not None or schema.additional is not None:
        return None
    return _BY_TYPE.get((schema.type, schema.format)) or _BY_PLAIN_TYPE[schema.type]


def zero_of(reader: Reader) -> Any:
    """Return the value that replaces a null in a list or map for this reader; None if the null stays.

    Go's JSON decoder leaves an element at its zero value when it reads null.
    """
    return _ZEROS.get(reader)
