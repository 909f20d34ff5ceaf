# SPDX-License-Identifier: Apache-2.0
"""The text of an amount that a server has computed, such as the sum of two quantities."""

from __future__ import annotations

from decimal import Decimal

from apimachinery.quantities import BINARY, canonical_quantity

_IN_BYTES = ("memory", "storage", "hugepages")


def quantity_text(resource: str, amount: Decimal) -> str:
    """Return an amount as a canonical quantity: with binary suffixes for a whole number of bytes of memory, storage or
    huge pages, otherwise with decimal ones.
    """
    text = format(amount, "f")
    if any(word in resource for word in _IN_BYTES) and amount == amount.to_integral_value():
        whole, steps = int(amount), 0
        while whole and whole % 1024 == 0 and steps < len(BINARY):
            whole, steps = whole // 1024, steps + 1
        return f"{whole}{BINARY[steps - 1] if steps else ''}"
    return canonical_quantity(text)
