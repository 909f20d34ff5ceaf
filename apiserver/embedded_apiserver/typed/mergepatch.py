# SPDX-License-Identifier: Apache-2.0
"""JSON merge patch, RFC 7386: null deletes a field, objects are merged, all other values replace the old one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def apply(current: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return `current` with a JSON merge patch applied; `current` itself if the patch has only the same Python objects.
    `current` is never modified.
    """
    before: dict[str, Any] = current if type(current) is dict else {}
    return with_changes(
        before, {name: apply(before.get(name), new) if type(new) is dict else new for name, new in patch.items()}
    )


def with_changes(before: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `before` with the fields in `changes` replaced; a value of None removes the field.

    The result is `before` itself if `changes` contains only the values (the same Python objects) that it has already,
    so that later checks can skip it.
    """
    real = {name: new for name, new in changes.items() if before.get(name) is not new}
    if not real:
        return before
    whole = {**before, **real}
    return {name: value for name, value in whole.items() if value is not None or name not in real}
