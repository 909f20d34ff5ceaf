# SPDX-License-Identifier: Apache-2.0
"""Numbers that a spec gives as such or as a percentage of the replicas."""

from __future__ import annotations

IntOrPercent = int | str


def scaled(value: IntOrPercent, total: int, *, round_up: bool) -> int:
    """Return the number for a value that is a number or a percentage of `total`, such as 2 for `25%` of 8."""
    if isinstance(value, int):
        return value
    part = int(value.removesuffix("%")) * total
    return -(-part // 100) if round_up else part // 100
