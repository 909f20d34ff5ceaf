# SPDX-License-Identifier: Apache-2.0
"""Conversions between the types of the language."""

from __future__ import annotations

import re

from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.numbers import as_int, as_timestamp, as_uint, text_of_double
from embedded_apiserver.cel.values import Duration, Timestamp, Uint

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_UNSIGNED = re.compile(r"\d{1,40}", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE)
_BILLION = 10**9


def _failed(one: str, other: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{one}' to '{other}'")


def bool_of(text: str) -> bool:
    """Return the boolean that a text represents in Go's syntax.

    Raises:
        EvaluationError: The text is not a boolean.
    """
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _failed("string", "bool")


def int_of(text: str) -> int:
    """Return the integer that a text represents.

    Raises:
        EvaluationError: The text is not an integer of 64 bits.
    """
    if not _INTEGER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise _failed("string", "int")
    return int(text)


def uint_of(text: str) -> Uint:
    """Return the unsigned integer that a text represents.

    Raises:
        EvaluationError: The text is not an unsigned integer of 64 bits.
    """
    if not _UNSIGNED.fullmatch(text) or int(text) >= 2**64:
        raise _failed("string", "uint")
    return Uint(text)


def double_of(text: str) -> float:
    """Return the floating-point number that a text represents.

    Raises:
        EvaluationError: The text is not a floating-point number, or one that is too large.
    """
    if not _DOUBLE.fullmatch(text):
        raise _failed("string", "double")
    found = float(text)
    if found in (float("inf"), float("-inf")) and "inf" not in text.lower():
        raise _failed("string", "double")
    return found


def text_of_bool(value: bool) -> str:
    """Return a boolean as the text `true` or `false`."""
    return "true" if value else "false"


def text_of_bytes(value: bytes) -> str:
    """Return the text whose UTF-8 encoding is `value`.

    Raises:
        EvaluationError: The bytes are not UTF-8.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def text_of_number(value: int | float) -> str:
    """Return a number as text."""
    return text_of_double(value) if isinstance(value, float) else str(int(value))


def seconds_since_epoch(time: Timestamp) -> int:
    """Return the whole seconds from the beginning of 1970 (UTC) to a time."""
    return time.nanoseconds // _BILLION


def timestamp_of(seconds: int) -> Timestamp:
    """Return the time `seconds` seconds after the beginning of 1970 (UTC).

    Raises:
        EvaluationError: The time is not in the years 1 to 9999.
    """
    return as_timestamp(seconds * _BILLION)


def nanoseconds(span: Duration) -> int:
    """Return the length of a duration in nanoseconds."""
    return span.nanoseconds


def int_from_uint(value: int) -> int:
    """Return an unsigned integer converted to a signed one.

    Raises:
        EvaluationError: The number is too large.
    """
    return as_int(int(value))


def uint_from_int(value: int) -> Uint:
    """Return an integer converted to an unsigned one.

    Raises:
        EvaluationError: The number is negative.
    """
    return as_uint(value)
