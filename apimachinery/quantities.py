# SPDX-License-Identifier: Apache-2.0
"""Parses quantities of resources as the API writes them: 2, 500m, 8Gi; and finds the one way to write each."""

from __future__ import annotations

import functools
import re
from decimal import Decimal

BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
"""The suffixes of the powers of 1024, in ascending order from 1024¹."""

QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))([KMGTPE]i|[numkMGTPE]?|[eE][+-]?\d{1,3})", re.ASCII)
"""Matches a whole quantity; the groups are its number and its suffix."""

# The powers of ten of the decimal suffixes; an exponent such as e3 is the other way to write one.
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def parse_quantity(text: str) -> Decimal:
    """Return the exact value of a resource quantity such as `2`, `500m` or `8Gi`.

    Raises:
        ValueError: `text` is not a quantity.
    """
    match = QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity such as 2, 500m or 8Gi")
    number, suffix = Decimal(match[1]), match[2]
    if suffix in BINARY:
        return number * Decimal(1024) ** (BINARY.index(suffix) + 1)
    return number.scaleb(_DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:]))


_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_NANO = -9  # the finest power of ten that a server keeps
_LARGEST = (1 << 63) - 1  # the largest amount with a binary suffix
_FAST_DIGITS = 18  # a number of so many digits fits into 64 bits


@functools.lru_cache(4096)
def canonical_quantity(text: str, finest: int = _NANO) -> str:
    """Return a resource quantity in the form in which a server stores it: `0.5` becomes `500m`, `1024Mi` becomes `1Gi`.

    A text that a server regards as canonical is returned unchanged, even if it has a sign or leading zeros.

    Args:
        text: The quantity.
        finest: An exponent: the amount is rounded, away from zero, to a multiple of 10 to this power.

    Raises:
        ValueError: `text` is not a quantity.
    """
    match = QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity such as 2, 500m or 8Gi")
    number, suffix = match[1], match[2]
    whole, _, fraction = number.lstrip("+-").partition(".")
    digits = (whole.lstrip("0") or "0") + fraction
    is_binary, is_negative = suffix in BINARY, number.startswith("-")
    if is_binary:
        steps = BINARY.index(suffix) + 1
        # As a server estimates it: a number of these digits times the suffix fits into 64 bits.
        if not fraction and int(digits) & 7 and 14 - len(digits) - 3 * steps >= 0:
            return text
        mantissa, power = int(digits) << 10 * steps, -len(fraction)
    else:
        exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
        mantissa, power = int(digits), exponent - len(fraction)
        is_short = len(digits) <= _FAST_DIGITS and power >= _NANO
        if is_short and power >= finest and power % 3 == 0 and not digits.endswith("000") and digits[0] != "0":
            return text
    has_exponent = suffix not in _DECIMAL and not is_binary
    spelled = ("-" if is_negative and mantissa else "") + _spelled(mantissa, power, finest, is_binary, has_exponent)
    # A server reads what it has written once more, and then as a decimal number if no binary suffix is left.
    return canonical_quantity(spelled, finest) if is_binary and spelled[-1].isdigit() else spelled


def _spelled(mantissa: int, power: int, finest: int, is_binary: bool, has_exponent: bool) -> str:
    """Return the canonical spelling of `mantissa` times ten to the `power`, which is not negative."""
    if power < finest:
        mantissa, power = -(-mantissa // 10 ** (finest - power)), finest
    if not mantissa:
        return "0"
    while mantissa % 10 == 0:
        mantissa, power = mantissa // 10, power + 1
    if is_binary and power >= 0:
        amount = min(mantissa * 10**power, _LARGEST)
        if amount >= 1024:
            steps = 0
            while amount % 1024 == 0 and steps < len(BINARY):
                amount, steps = amount // 1024, steps + 1
            return f"{amount}{BINARY[steps - 1] if steps else ''}"
    while power % 3 or (not has_exponent and power > max(_SUFFIXES)):
        mantissa, power = mantissa * 10, power - 1
    if has_exponent:
        return f"{mantissa}e{power}" if power else str(mantissa)
    return f"{mantissa}{_SUFFIXES[power]}"
