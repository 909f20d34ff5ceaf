# SPDX-License-Identifier: Apache-2.0
"""The difference between two objects, as a merge patch (RFC 7386) that makes one of the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What to patch `before` with to get `after`; empty when nothing differs.

    A list that differs is in it whole. None means absent on either side, as it does to a server.
    """
    patch: dict[str, Any] = {}
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            if inner := merge_patch(old, new):
                patch[name] = inner
        elif not _same(old, new):
            patch[name] = new
    return patch


def _same(old: Any, new: Any) -> bool:
    """Equal as JSON: True is not 1."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return not merge_patch(old, new)
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(_same(a, b) for a, b in zip(old, new, strict=True))
    return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)
