# SPDX-License-Identifier: Apache-2.0
"""Cells of disruption budgets."""

from __future__ import annotations

from embedded_apiserver.kinds.cells import (
    NAMED,
    Cell,
    Cells,
    at,
    value_at,
)


def _text_at(path: str, absent: str) -> Cell:
    """Return a cell with the text of a number or a percentage at a path."""
    return lambda obj, now: absent if (value := value_at(obj, path)) is None else str(value)


BUDGETS: Cells = {
    **NAMED,
    "Min Available": _text_at("spec.minAvailable", "N/A"),
    "Max Unavailable": _text_at("spec.maxUnavailable", "N/A"),
    "Allowed Disruptions": at("status.disruptionsAllowed", 0),
}
