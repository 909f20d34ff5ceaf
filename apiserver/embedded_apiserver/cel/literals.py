# SPDX-License-Identifier: Apache-2.0
"""The values of literals."""

from __future__ import annotations

import re
from collections.abc import Callable

from embedded_apiserver.cel.values import Uint

_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NUMBERS = (1, 2, 3, 4)


class BadLiteral(ValueError):
    """A literal is invalid; the message is cel-go's."""


def integer(text: str) -> int:
    """Return the value of an integer literal, which may have a sign.

    Raises:
        BadLiteral: The number does not fit into 64 bits.
    """
    value = _whole(text)
    if not -(2**63) <= value < 2**63:
        raise BadLiteral("invalid int literal")
    return value


def unsigned(text: str) -> Uint:
    """Return the value of an unsigned integer literal with its suffix `u`.

    Raises:
        BadLiteral: The number does not fit into 64 bits.
    """
    value = _whole(text[:-1])
    if value >= 2**64:
        raise BadLiteral("invalid uint literal")
    return Uint(value)


def double(text: str) -> float:
    """Return the value of a floating-point literal.

    Raises:
        BadLiteral: The number is too large.
    """
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise BadLiteral("invalid double literal")
    return value


def string(text: str) -> str:
    """Return the value of a string literal, with its escapes replaced.

    Raises:
        BadLiteral: An escape is not a character of Unicode.
    """
    body, raw = _unquoted(text)
    return body if raw else _ESCAPE.sub(_character, body)


def byte_string(text: str) -> bytes:
    """Return the value of a bytes literal with its prefix `b`. Octal and hexadecimal escapes are single bytes.

    Raises:
        BadLiteral: There is a Unicode escape.
    """
    body, raw = _unquoted(text[1:])
    if raw:
        return body.encode()
    made, place = bytearray(), 0
    for match in _ESCAPE.finditer(body):
        made += body[place : match.start()].encode()
        if match.group(2) or match.group(3):
            raise BadLiteral("unable to unescape string")
        if match.group(1):
            made.append(int(match.group(1), 16))
        elif match.group(4):
            made.append(int(match.group(4), 8))
        else:
            made += _character(match).encode()
        place = match.end()
    return bytes(made + body[place:].encode())


def _whole(text: str) -> int:
    negative, digits = text.startswith("-"), text.removeprefix("-")
    value = int(digits, 16) if digits.startswith("0x") else _decimal(digits)
    return -value if negative else value


def _decimal(digits: str) -> int:
    """Return a number; one of more digits than any literal has is not computed."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) < 25 else 2**65


def _unquoted(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    quotes = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    return text[quotes:-quotes].replace("\r\n", "\n"), raw


def _character(match: re.Match[str]) -> str:
    two, four, eight, octal, simple = match.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    code = int(octal, 8) if octal else int(two or four or eight, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise BadLiteral("unable to unescape string")
    return chr(code)


VALUES: dict[str, Callable[[str], object]] = {
    "NUM_INT": integer,
    "NUM_UINT": unsigned,
    "NUM_FLOAT": double,
    "STRING": string,
    "BYTES": byte_string,
    "true": lambda text: True,
    "false": lambda text: False,
    "null": lambda text: None,
}
"""The functions that make the value of a literal from its text, by token."""
