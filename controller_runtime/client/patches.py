# SPDX-License-Identifier: Apache-2.0
"""The kinds of patches an API server takes."""

from __future__ import annotations

import enum


class PatchType(enum.Enum):
    """How a patch says what changes; the value is its content type."""

    MERGE = "application/merge-patch+json"
    """A tree of what changes; null removes, a list replaces the whole list. Works for every kind."""

    JSON = "application/json-patch+json"
    """A list of operations on paths; with `test` it refuses what has changed meanwhile."""

    STRATEGIC = "application/strategic-merge-patch+json"
    """A merge patch whose lists merge by their keys; built-in kinds alone take it (others answer 415)."""
