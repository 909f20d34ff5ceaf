# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' functions of quantities such as `1.5Gi`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from apimachinery.quantities import BINARY, QUANTITY
from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import Function, Library, Overload
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.types import BOOL, DOUBLE, INT, STRING
from embedded_apiserver.cel.values import Opaque, Value

_QUANTITY = types.opaque("kubernetes.Quantity")
_SHAPE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eEinumkKMGTP]*[-+]?[0-9]*", re.ASCII)
_MALFORMED = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_POWERS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_NANO = -9  # the finest power of ten
_LARGEST = (1 << 63) - 1
_FAST_DIGITS = 18  # a number of so many digits fits into 64 bits
_LONGEST_NUMBER = 4_000  # digits; Python refuses to convert longer ones


class Quantity(Opaque):
    """A resource quantity, the value of the CEL type `kubernetes.Quantity`: `value` × 10 ** `scale`.

    Attributes:
        value: The digits, as an integer.
        scale: The power of ten.
        is_small: True if a real API server stores the quantity in 64 bits; only then can it be converted to an integer.
    """

    __slots__ = ("is_small", "scale", "value")
    type = _QUANTITY

    def __init__(self, value: int, scale: int, *, is_small: bool) -> None:
        self.value, self.scale, self.is_small = value, scale, is_small

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and compared(self, other) == 0

    def __hash__(self) -> int:
        return hash(self.value)

    def at(self, scale: int) -> int:
        """Return the digits for another scale, which must not be greater than that of the quantity."""
        return int(self.value * 10 ** (self.scale - scale))


def quantity(text: str) -> Quantity:
    """Return the quantity that a text represents.

    Raises:
        EvaluationError: The text is not a quantity.
    """
    if not _SHAPE.fullmatch(text) or len(text) > _LONGEST_NUMBER:
        raise EvaluationError(_MALFORMED)
    match = QUANTITY.fullmatch(text)
    if match is None:
        raise EvaluationError("unable to parse quantity's suffix")
    number, suffix = match[1], match[2]
    whole, _, fraction = number.lstrip("+-").partition(".")
    digits = (whole.lstrip("0") or "0") + fraction
    sign = -1 if number.startswith("-") else 1
    if suffix in BINARY:
        return _binary(sign, int(digits), len(digits), len(fraction), BINARY.index(suffix) + 1)
    power = _POWERS[suffix] if suffix in _POWERS else int(suffix[1:])
    scale = power - len(fraction)
    if len(digits) <= _FAST_DIGITS and scale >= _NANO:
        return Quantity(sign * int(digits), scale, is_small=True)
    return _rounded(sign, int(digits), scale)


def _binary(sign: int, number: int, digits: int, fraction: int, steps: int) -> Quantity:
    amount = number << 10 * steps
    if not fraction and 14 - digits - 3 * steps >= 0:
        return Quantity(sign * amount, 0, is_small=True)
    made = _rounded(1, amount, -fraction)
    if made.scale <= 0 and made.value > _LARGEST * 10**-made.scale:
        made = Quantity(_LARGEST, 0, is_small=False)
    return Quantity(sign * made.value, made.scale, is_small=False)


def _rounded(sign: int, number: int, scale: int) -> Quantity:
    """Return a quantity that is rounded up to a multiple of the finest amount."""
    if scale < _NANO:
        number, scale = -(-number // 10 ** (_NANO - scale)), _NANO
    return Quantity(sign * number, scale, is_small=False)


def compared(one: Quantity, other: Quantity) -> int:
    """Return -1, 0 or 1 if `one` is less than, equal to, or greater than `other`."""
    scale = min(one.scale, other.scale)
    first, second = one.at(scale), other.at(scale)
    return (first > second) - (first < second)


def _whole(value: Quantity) -> int | None:
    if not value.is_small or value.scale < 0:
        return None
    made = value.at(0)
    return made if -_LARGEST - 1 <= made <= _LARGEST else None


def _as_integer(value: Quantity) -> int:
    found = _whole(value)
    if found is None:
        raise EvaluationError("cannot convert value to integer")
    return found


def _as_float(value: Quantity) -> float:
    try:
        return float(value.value) * 10.0**value.scale
    except OverflowError:
        return float("inf") if value.value > 0 else float("-inf")


def _added(sign: int) -> Callable[[Quantity, Value], Quantity]:
    def added(one: Quantity, other: Value) -> Quantity:
        more = other if isinstance(other, Quantity) else Quantity(other, 0, is_small=True)
        if not more.value:
            return one
        if not one.value:
            return Quantity(sign * more.value, more.scale, is_small=more.is_small)
        scale = min(one.scale, more.scale)
        total = one.at(scale) + sign * more.at(scale)
        is_small = one.is_small and more.is_small and -_LARGEST - 1 <= total <= _LARGEST
        return Quantity(total, scale, is_small=is_small)

    return added


def is_quantity(text: str) -> bool:
    """Return whether a text is a quantity."""
    try:
        quantity(text)
    except EvaluationError:
        return False
    return True


def _parsing(name: str, id_: str, result: types.Type, call: Callable[..., Value]) -> Function:
    made = Overload(id_, (STRING,), result, call, cost=costs.read(), estimate=costs.read_estimate())
    return Function(name, (made,))


def _method(
    name: str, id_: str, result: types.Type, call: Callable[..., Any], *more: types.Type, member: bool = True
) -> Function:
    made = Overload(
        *(id_, (_QUANTITY, *more), result, call), member=member, cost=costs.nominal, estimate=costs.nominal_estimate
    )
    return Function(name, (made,))


QUANTITIES = Library(
    (
        _parsing("quantity", "string_to_quantity", _QUANTITY, quantity),
        _parsing("isQuantity", "is_quantity_string", BOOL, is_quantity),
        _method("sign", "quantity_sign", INT, lambda one: (one.value > 0) - (one.value < 0), member=False),
        _method(
            *("isGreaterThan", "quantity_is_greater_than", BOOL, lambda one, other: compared(one, other) > 0, _QUANTITY)
        ),
        _method("isLessThan", "quantity_is_less_than", BOOL, lambda one, other: compared(one, other) < 0, _QUANTITY),
        _method("compareTo", "quantity_compare_to", INT, compared, _QUANTITY),
        _method("asApproximateFloat", "quantity_get_float", DOUBLE, _as_float),
        _method("asInteger", "quantity_get_int", INT, _as_integer),
        _method("isInteger", "quantity_is_integer", BOOL, lambda one: _whole(one) is not None),
        _method("add", "quantity_add", _QUANTITY, _added(1), _QUANTITY),
        _method("add", "quantity_add_int", _QUANTITY, _added(1), INT),
        _method("sub", "quantity_sub", _QUANTITY, _added(-1), _QUANTITY),
        _method("sub", "quantity_sub_int", _QUANTITY, _added(-1), INT),
    )
)
"""The functions of quantities."""
