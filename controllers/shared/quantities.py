# SPDX-License-Identifier: Apache-2.0
"""Writes amounts of resources, one form for each value; `apimachinery.quantities` reads them."""

from __future__ import annotations

import math
from decimal import Decimal

from apimachinery.quantities import BINARY


def format_bytes(amount: int) -> str:
    """Return a number of bytes as a quantity, with the largest binary suffix that keeps it exact."""
    suffix = ""
    for larger in BINARY:
        if amount == 0 or amount % 1024:
            break
        amount, suffix = amount // 1024, larger
    return f"{amount}{suffix}"


def format_count(amount: Decimal) -> str:
    """Return a number, such as of cores, as a quantity: whole, or else in thousandths (`1500m`), rounded up."""
    thousandths = math.ceil(amount.scaleb(3))
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)
