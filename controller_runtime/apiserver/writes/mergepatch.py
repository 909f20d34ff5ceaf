# SPDX-License-Identifier: Apache-2.0
"""Merge patch, RFC 7386: null deletes, objects merge, everything else replaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def apply(current: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    """`current` with `patch` merged into it; `current` itself if nothing changes, never modified."""
    before: dict[str, Any] = current if type(current) is dict else {}
    return with_changes(
        before, {name: apply(before.get(name), new) if type(new) is dict else new for name, new in patch.items()}
    )


def with_changes(before: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`before` with fields replaced, or removed where the change is None; `before` itself if there is no change."""
    real = {name: new for name, new in changes.items() if before.get(name) is not new}
    if not real:
        return before
    whole = {**before, **real}
    return {name: value for name, value in whole.items() if value is not None or name not in real}
