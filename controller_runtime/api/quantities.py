# SPDX-License-Identifier: Apache-2.0
"""Parses quantities of resources as the API writes them: 2, 500m, 8Gi."""

from __future__ import annotations

import re
from decimal import Decimal

BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
"""The suffixes of the powers of 1024, in ascending order from 1024¹."""

QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))([KMGTPE]i|[numkMGTPE]?|[eE][+-]?\d{1,3})", re.ASCII)
"""Matches a whole quantity; the groups are its number and its suffix."""

# The powers of ten of the decimal suffixes; an exponent such as e3 is the other way to write one.
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def parse_quantity(text: str) -> Decimal:
    """Return the value of a quantity, exactly.

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
