# SPDX-License-Identifier: Apache-2.0
"""Values in the syntax of Go, in which some messages of a real API server show them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

_TYPES: Mapping[type, str] = {
    type(None): "<nil>",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}
_SMALL, _LARGE = 4, 6  # digits after and before the point that are shown without an exponent


def type_of(value: object) -> str:
    """Return the Go type of a decoded value, as formatted by `%T`."""
    return _TYPES[type(value)]


def plain(value: Any) -> str:
    """Return a decoded value as text, as formatted by Go's `%v`."""
    match value:
        case dict():
            return f"map[{' '.join(f'{name}:{plain(value[name])}' for name in sorted(value))}]"
        case list():
            return f"[{' '.join(map(plain, value))}]"
        case None:
            return "<nil>"
        case str():
            return value
    return _number(value)


def literal(value: Any) -> str:
    """Return a decoded value as text, as formatted by Go's `%#v`."""
    match value:
        case dict():
            inner = ", ".join(f"{_quoted(name)}:{literal(value[name])}" for name in sorted(value))
            return f"map[string]interface {{}}{{{inner}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(literal, value))}}}"
        case None:
            return "interface {}(nil)"
        case str():
            return _quoted(value)
    return _number(value)


def _number(value: object) -> str:
    """Return a number or a bool; a float has an exponent as soon as it has more than six digits before its point."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, float) or value == 0:
        return str(int(value)) if isinstance(value, float) else str(value)
    sign, digits, shift = Decimal(repr(value)).normalize().as_tuple()
    exponent = len(digits) + int(shift) - 1
    if -_SMALL <= exponent < _LARGE:
        return format(Decimal(repr(value)).normalize(), "f")
    first, rest = digits[0], "".join(map(str, digits[1:]))
    return f"{'-' if sign else ''}{first}{f'.{rest}' if rest else ''}e{exponent:+03d}"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
