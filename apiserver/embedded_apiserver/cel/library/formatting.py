# SPDX-License-Identifier: Apache-2.0
"""Texts from a pattern and values, such as `'%d of %s'.format([3, 'four'])`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from embedded_apiserver.cel import types
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.numbers import text_of_double
from embedded_apiserver.cel.times import text_of_duration, text_of_timestamp
from embedded_apiserver.cel.types import Kind, Type
from embedded_apiserver.cel.values import Duration, Timestamp, Value, type_of
from embedded_apiserver.quoting import quoted

_CLAUSE = re.compile(r"(?:\.([0-9]*))?(.)", re.DOTALL)
_DIGITS = 6  # after the point, unless a clause says how many
_MOST_DIGITS = 1_000
_LONGEST = 1_000_000  # characters; more than what a call may cost on a real server
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_RAISED = str.maketrans(
    "0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
)  # a real server takes no notice of the digits that `%.2e` asks for

REFUSALS = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
"""For each clause, the values that it takes."""


def formatted(pattern: str, values: list[Value]) -> str:
    """Return a pattern with its formatting clauses, such as `%d`, replaced by values.

    Raises:
        EvaluationError: A clause is unknown, has no value, or has a value of a wrong type; or the result is too long.
    """
    made: list[str] = []
    at = used = length = 0
    while at < len(pattern):
        end = pattern.find("%", at)
        if end < 0:
            made.append(pattern[at:])
            break
        made.append(pattern[at:end])
        if pattern.startswith("%%", end):
            made.append("%")
            at = end + 2
            continue
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        if end + 1 == len(pattern):
            raise EvaluationError("unexpected end of string")
        at, letter, digits = clause(pattern, end + 1)
        try:
            text = _CLAUSES[letter](values[used], digits)
        except EvaluationError as error:
            raise EvaluationError(f"error during formatting: {error}") from None
        used, length = used + 1, length + len(text)
        if length > _LONGEST:
            raise EvaluationError("operation cancelled: actual cost limit exceeded")
        made.append(text)
    return "".join(made)


def clause(pattern: str, start: int) -> tuple[int, str, int]:
    """Parse the formatting clause after a `%`; return the offset of its end, its letter, and its precision.

    Raises:
        EvaluationError: The clause is invalid.
    """
    unparsed = "could not parse formatting clause: "
    match = _CLAUSE.match(pattern, start)
    if match is None:
        raise EvaluationError(f"{unparsed}error while parsing precision: could not find end of precision specifier")
    digits, letter = match.groups()
    if digits == "" or (digits and (len(digits) > len(str(_MOST_DIGITS)) or int(digits) > _MOST_DIGITS)):
        text = f"error while converting precision to integer: strconv.Atoi: parsing {quoted(digits)}: invalid syntax"
        raise EvaluationError(f"{unparsed}error while parsing precision: {text}")
    if letter not in _CLAUSES:
        raise EvaluationError(f'{unparsed}unrecognized formatting clause "{letter}"')
    return match.end(), letter, _DIGITS if digits is None else int(digits)


def _refused(letter: str, value: Value) -> EvaluationError:
    return EvaluationError(f"{REFUSALS[letter]}, was given {type_of(value).name}")


def _decimal(value: Value, _: int) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(int(value))
    raise _refused("d", value)


def _float(value: Value, letter: str) -> float:
    if isinstance(value, str) and value in _NUMBERS:
        return _NUMBERS[value]
    if isinstance(value, float):
        return value
    raise _refused(letter, value)


def _fixed(value: Value, digits: int) -> str:
    number = _float(value, "f")
    return format(number, f",.{digits}f") if math.isfinite(number) else _infinite(number)


def _infinite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _scientific(value: Value, _: int) -> str:
    number = _float(value, "e")
    if not math.isfinite(number):
        return _infinite(number)
    mantissa, _e, power = format(number, f".{_DIGITS}e").partition("e")
    sign = "-" if power.startswith("-") else ""
    return f"{mantissa}×10{(sign + power.lstrip('+-').zfill(2)).translate(_RAISED)}"


def _binary(value: Value, _: int) -> str:
    if isinstance(value, int):
        return format(int(value), "b")
    raise _refused("b", value)


def _hexadecimal(value: Value, _: int) -> str:
    if isinstance(value, (str, bytes)):
        return (value.encode() if isinstance(value, str) else value).hex()
    if isinstance(value, int) and not isinstance(value, bool):
        return format(int(value), "x")
    raise _refused("x", value)


def _octal(value: Value, _: int) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return format(int(value), "o")
    raise _refused("o", value)


def text_of(value: Value, _: int = 0) -> str:
    """Return the text of a value as formatted by `%s`.

    Raises:
        EvaluationError: The value has no text form.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return text_of_double(value)
        case str():
            return value
        case bytes():
            return _decoded(value)
        case Duration():
            return text_of_duration(value)
        case Timestamp():
            return text_of_timestamp(value)
        case Type():
            return value.name
        case list():
            return f"[{', '.join(map(_inner, value))}]"
        case dict():
            pairs = sorted((_key(key), _inner(item)) for key, item in value.items())
            return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"
    raise _refused("s", value)


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError(
            'could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string'
        ) from None


def _inner(value: Value) -> str:
    """Return a value inside a list or a map as `%s` shows it: a literal."""
    match value:
        case str():
            return quoted(value)
        case bytes():
            return f"b{quoted(_decoded(value))}"
        case float():
            if not math.isfinite(value):
                return quoted("NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf")
            return format(value, f".{_DIGITS}f")
        case Timestamp():
            return f"timestamp({quoted(text_of_timestamp(value))})"
        case Duration():
            return f"duration({quoted(text_of_duration(value))})"
    if type_of(value).kind is Kind.OPAQUE:
        raise EvaluationError(f"no formatting function for {type_of(value).name}")
    return text_of(value)


def _key(key: Value) -> str:
    if isinstance(key, float):
        raise EvaluationError(f"no formatting function for map key of type {types.DOUBLE.name}")
    return _inner(key)


_CLAUSES: dict[str, Callable[[Value, int], str]] = {
    "s": text_of,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hexadecimal,
    "X": lambda value, digits: _hexadecimal(value, digits).upper(),
    "o": _octal,
}
