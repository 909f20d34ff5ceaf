# SPDX-License-Identifier: Apache-2.0
"""Arithmetic in 64 bits: what does not fit fails, and never wraps around."""

from __future__ import annotations

import math

from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.values import Duration, Timestamp, Uint

_LEAST = -(2**63)
_MOST = 2**63 - 1
FIRST_SECOND = -62135596800
"""The seconds of 0001-01-01T00:00:00Z."""
LAST_SECOND = 253402300799
"""The seconds of 9999-12-31T23:59:59Z."""
_BILLION = 10**9


def as_int(value: int) -> int:
    """Return `value` unchanged if it fits into a signed integer of 64 bits.

    Raises:
        EvaluationError: The value does not fit.
    """
    if _LEAST <= value <= _MOST:
        return value
    raise EvaluationError("integer overflow")


def as_uint(value: int) -> Uint:
    """Return `value` as an unsigned integer of 64 bits.

    Raises:
        EvaluationError: The value is negative or does not fit.
    """
    if 0 <= value < 2**64:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def as_duration(nanoseconds: int) -> Duration:
    """Return a duration of this length, which must fit into 64 bits.

    Raises:
        EvaluationError: The length does not fit.
    """
    if _LEAST <= nanoseconds <= _MOST:
        return Duration(nanoseconds)
    raise EvaluationError("duration overflow")


def as_timestamp(nanoseconds: int) -> Timestamp:
    """Return the time at this number of nanoseconds since 1970.

    Raises:
        EvaluationError: The time is not in the years 1 to 9999.
    """
    if FIRST_SECOND * _BILLION <= nanoseconds < (LAST_SECOND + 1) * _BILLION:
        return Timestamp(nanoseconds)
    raise EvaluationError("timestamp overflow")


def quotient(one: int, other: int) -> int:
    """Return the quotient of two integers, rounded towards zero.

    Raises:
        EvaluationError: The divisor is 0, or the result does not fit into a signed integer of 64 bits.
    """
    if other == 0:
        raise EvaluationError("division by zero")
    found = abs(one) // abs(other)
    return as_int(found if (one < 0) is (other < 0) else -found)


def remainder(one: int, other: int) -> int:
    """Return the remainder of two integers, which has the sign of the dividend.

    Raises:
        EvaluationError: The divisor is 0, or the quotient does not fit into 64 bits.
    """
    if other == 0:
        raise EvaluationError("modulus by zero")
    if one == _LEAST and other == -1:
        raise EvaluationError("integer overflow")
    found = abs(one) % abs(other)
    return -found if one < 0 else found


def ratio(one: float, other: float) -> float:
    """Return the quotient of two floating-point numbers; for a division by zero infinity or NaN, as in IEEE 754."""
    if other != 0:
        return one / other
    if one == 0 or math.isnan(one) or math.isnan(other):
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1.0, other)


def whole(value: float) -> int:
    """Return a floating-point number without its fraction, as an integer.

    Raises:
        EvaluationError: The number is NaN, or not strictly between -2**63 and 2**63.
    """
    if math.isnan(value) or not float(_LEAST) < value < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(value)


def unsigned_whole(value: float) -> Uint:
    """Return a floating-point number without its fraction, as an unsigned integer.

    Raises:
        EvaluationError: The number is NaN, negative or too large.
    """
    if math.isnan(value) or not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def text_of_double(value: float) -> str:
    """Return a floating-point number as text with the fewest digits, as Go's `%g` formats it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, _, exponent = f"{value!r}".partition("e")
    sign = "-" if digits.startswith("-") else ""
    integral, _, fraction = digits.lstrip("-").partition(".")
    power = int(exponent or 0) + len(integral)
    significant = (integral + ("" if fraction == "0" and not exponent else fraction)).lstrip("0")
    if not significant:
        return f"{sign}0"
    power -= len(integral + ("" if fraction == "0" and not exponent else fraction)) - len(significant)
    significant = significant.rstrip("0")
    if -5 < power - 1 < 6:
        return sign + _plain(significant, power)
    tail = f".{significant[1:]}" if len(significant) > 1 else ""
    return f"{sign}{significant[0]}{tail}e{power - 1:+03d}"


def _plain(digits: str, power: int) -> str:
    if power <= 0:
        return f"0.{'0' * -power}{digits}"
    if len(digits) <= power:
        return digits + "0" * (power - len(digits))
    return f"{digits[:power]}.{digits[power:]}"
