# SPDX-License-Identifier: Apache-2.0
"""The kinds of patches that an API server accepts."""

from __future__ import annotations

import enum


class PatchType(enum.Enum):
    """The format of a patch; the value is its content type."""

    MERGE = "application/merge-patch+json"
    """A tree of the fields to change; null removes a field, and a list replaces the whole list. For every kind."""

    JSON = "application/json-patch+json"
    """A list of operations on paths; a `test` operation refuses the patch if a field has changed meanwhile."""

    STRATEGIC = "application/strategic-merge-patch+json"
    """A merge patch whose lists merge by their keys. For built-in kinds only; others answer 415."""
