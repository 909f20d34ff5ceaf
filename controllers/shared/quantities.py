# SPDX-License-Identifier: Apache-2.0
"""Amounts of resources as the API writes them: 2, 500m, 8Gi. Compared by their value, written in one form."""

from __future__ import annotations

import math
from decimal import Decimal

from controller_runtime.api.quantities import BINARY, parse_quantity

__all__ = ["in_bytes", "in_units", "parse_quantity"]


def in_bytes(amount: int) -> str:
    """A number of bytes, with the largest binary suffix that keeps it exact."""
    suffix = ""
    for larger in BINARY:
        if amount == 0 or amount % 1024:
            break
        amount, suffix = amount // 1024, larger
    return f"{amount}{suffix}"


def in_units(amount: Decimal) -> str:
    """A number of things such as cores, in thousandths where it is not whole; less than one is rounded up."""
    thousandths = math.ceil(amount.scaleb(3))
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)
