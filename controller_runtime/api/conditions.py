# SPDX-License-Identifier: Apache-2.0
"""Reads and updates the conditions in an object's status: a list with one entry for each type, such as `Ready`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from controller_runtime.api.objects import AnyObject, Cached, timestamp
from controller_runtime.core.errors import UNREADABLE, DecodeError

Condition = dict[str, Any]
"""One condition by its names on the wire: `type`, `status`, `reason`, `message`, `lastTransitionTime`, ..."""


class _Status(msgspec.Struct, gc=False):
    conditions: list[Condition] | None = None


class _WithStatus(msgspec.Struct, gc=False):
    status: _Status | None = None


_decoder = msgspec.json.Decoder(_WithStatus)


def conditions_of(obj: AnyObject) -> list[Condition]:
    """Return the conditions of an object in any form; empty if it has none. The caller may change them.

    Raises:
        DecodeError: The conditions are malformed.
    """
    if isinstance(obj, Cached):
        try:
            status = _decoder.decode(obj.raw).status
        except UNREADABLE as error:
            raise DecodeError(f"{obj.key}: {error}") from error
        return (status.conditions if status else None) or []
    status = _part(obj, "status")
    return [_plain(condition) for condition in _part(status, "conditions") or ()]


def condition_of(obj: AnyObject, type: str) -> Condition | None:  # noqa: A002 (the field's word)
    """Return the condition of one type, or None if the object has none. The caller may change it."""
    return next((condition for condition in conditions_of(obj) if condition.get("type") == type), None)


def with_condition(
    conditions: Iterable[Mapping[str, Any]],
    type: str,  # noqa: A002 (the field's word)
    status: str,
    *,
    reason: str,
    message: str = "",
    now: datetime,
    observed_generation: int | None = None,
) -> list[Condition]:
    """Return the conditions with one of them set; equal to `conditions` if that changes nothing.

    A condition that exists keeps its position, a new one comes last. `lastTransitionTime` changes only
    when `status` does, so it says since when the status has been what it is.

    Args:
        conditions: The present conditions. They are not changed.
        type: The type of the condition to set.
        status: `True`, `False` or `Unknown`, as text.
        reason: The reason as one CamelCase word, for programs.
        message: The reason as a sentence, for people.
        now: The `lastTransitionTime` if `status` changes.
        observed_generation: The `metadata.generation` that the status is based on; None keeps the present value.

    Raises:
        ValueError: `status` is not one of the three texts, or `now` has no time zone.
    """
    if status not in ("True", "False", "Unknown"):
        raise ValueError(f"condition {type}: the status ({status!r}) must be True, False or Unknown, as text")
    by_type = {condition["type"]: dict(condition) for condition in conditions}
    before = by_type.get(type, {})
    updated: Condition = {**before, "type": type, "status": status, "reason": reason, "message": message}
    if before.get("status") != status or not before.get("lastTransitionTime"):
        updated["lastTransitionTime"] = timestamp(now)
    if observed_generation is not None:
        updated["observedGeneration"] = observed_generation
    by_type[type] = updated
    return [*by_type.values()]


def _part(obj: Any, name: str) -> Any:
    """Return a field of a dict or an attribute of a model; None if it is absent."""
    return obj.get(name) if isinstance(obj, Mapping) else getattr(obj, name, None)


def _plain(condition: Any) -> Condition:
    """Return a condition as a new dict, by its names on the wire."""
    if isinstance(condition, Mapping):
        return dict(condition)
    is_model = hasattr(condition, "model_dump")  # the official client's
    plain: Condition = (
        condition.model_dump(mode="json", by_alias=True, exclude_none=True)
        if is_model
        else msgspec.to_builtins(condition)
    )
    return plain
