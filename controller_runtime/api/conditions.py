# SPDX-License-Identifier: Apache-2.0
"""Status conditions: what an object says about itself, as a list with one entry for each type."""

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
    """The conditions of any form of an object, the caller's own; empty when it has none.

    Raises:
        DecodeError: They are malformed.
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
    """The condition of one type, if the object has it; the caller's own."""
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
    """The conditions with one of them said anew; equal to what was given if it says nothing new.

    Its place is kept, a new one is last. `lastTransitionTime` moves only when `status`
    changes, so that it tells for how long things have been as they are.

    Args:
        conditions: Those there are, not modified.
        type: Which condition to set.
        status: `True`, `False` or `Unknown`.
        reason: Why, in one CamelCase word.
        message: Why, for people.
        now: When a change of `status` is said to have been.
        observed_generation: The generation that was looked at; None leaves what is there.

    Raises:
        ValueError: `status` is none of the three, or `now` has no time zone.
    """
    if status not in ("True", "False", "Unknown"):
        raise ValueError(f"condition {type}: the status ({status!r}) must be True, False or Unknown, as text")
    by_type = {condition["type"]: dict(condition) for condition in conditions}
    before = by_type.get(type, {})
    said: Condition = {**before, "type": type, "status": status, "reason": reason, "message": message}
    if before.get("status") != status or not before.get("lastTransitionTime"):
        said["lastTransitionTime"] = timestamp(now)
    if observed_generation is not None:
        said["observedGeneration"] = observed_generation
    by_type[type] = said
    return [*by_type.values()]


def _part(obj: Any, name: str) -> Any:
    return obj.get(name) if isinstance(obj, Mapping) else getattr(obj, name, None)


def _plain(condition: Any) -> Condition:
    if isinstance(condition, Mapping):
        return dict(condition)
    is_model = hasattr(condition, "model_dump")  # the official client's
    plain: Condition = (
        condition.model_dump(mode="json", by_alias=True, exclude_none=True)
        if is_model
        else msgspec.to_builtins(condition)
    )
    return plain
