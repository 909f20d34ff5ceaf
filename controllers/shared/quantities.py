# SPDX-License-Identifier: Apache-2.0
"""Amounts of resources as the API writes them, such as 2, 500m or 8Gi: parsed to their value, written in one form."""

from __future__ import annotations

import math
import re
from decimal import Decimal

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([KMGTPE]i|[numkMGTPE]?|[eE][+-]?\d{1,3})", re.ASCII)
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def parse_quantity(text: str) -> Decimal:
    """Return the value of a quantity.

    Raises:
        ValueError: `text` is not a quantity.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity such as 2, 500m or 8Gi")
    number, suffix = Decimal(match[1]), match[2]
    if suffix in _BINARY:
        return number * Decimal(1024) ** (_BINARY.index(suffix) + 1)
    return number.scaleb(_DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:]))


def format_bytes(amount: int) -> str:
    """Return a number of bytes as a quantity, with the largest binary suffix that keeps it exact."""
    suffix = ""
    for larger in _BINARY:
        if amount == 0 or amount % 1024:
            break
        amount, suffix = amount // 1024, larger
    return f"{amount}{suffix}"


def format_count(amount: Decimal) -> str:
    """Return a number, such as of cores, as a quantity: in thousandths, rounded up, unless it is whole."""
    thousandths = math.ceil(amount.scaleb(3))
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)
