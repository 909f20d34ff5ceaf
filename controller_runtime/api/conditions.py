# SPDX-License-Identifier: Apache-2.0
"""Reads and updates the conditions in an object's status: a list with one entry for each type, such as `Ready`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import attrs
import msgspec

from apimachinery.errors import UNREADABLE, DecodeError
from apimachinery.models import is_model, json_of
from apimachinery.objects import AnyObject, Cached, meta, timestamp

Condition = dict[str, Any]
"""One condition by its names on the wire: `type`, `status`, `reason`, `message`, `lastTransitionTime`, ..."""


class _Status(msgspec.Struct, gc=False, rename="camel"):
    conditions: list[Condition] | None = None
    observed_generation: int | None = None


class _WithStatus(msgspec.Struct, gc=False):
    status: _Status | None = None


_decoder = msgspec.json.Decoder(_WithStatus)


def conditions_of(obj: AnyObject) -> list[Condition]:
    """Return copies of the conditions of an object, which may have any form; empty if it has none.

    Raises:
        DecodeError: The conditions are malformed.
    """
    if isinstance(obj, Cached):
        return _status_of(obj).conditions or []
    status = _part(obj, "status")
    return [_plain(condition) for condition in _part(status, "conditions") or ()]


def condition_of(obj: AnyObject, type: str) -> Condition | None:  # noqa: A002 (the field's word)
    """Return a copy of the condition whose type is `type`; None if the object has none.

    Raises:
        DecodeError: The conditions are malformed.
    """
    return next((condition for condition in conditions_of(obj) if condition.get("type") == type), None)


@attrs.frozen
class ObjectCondition:
    """A predicate: does an object have a condition of this type with this status? Made by `condition`.

    Call it with an object in any form, or with None for an absent object. It returns True if the condition has the
    status and is up to date. A condition is out of date if it was observed at an earlier `metadata.generation` than the
    current one. As for `kubectl wait`, that generation is `observedGeneration` of the condition, or else of the status.

    Attributes:
        type: The type of the condition, such as `Ready`.
        status: The expected status: `True`, `False` or `Unknown`, as text.
    """

    type: str
    status: str = "True"

    def __str__(self) -> str:
        return f"{self.type}={self.status}"

    def __call__(self, obj: AnyObject | None) -> bool:
        """Return whether the condition of `obj` has the status and is up to date; False if `obj` is None."""
        if obj is None or (found := condition_of(obj, self.type)) is None:
            return False
        return found.get("status") == self.status and not _is_old(obj, found)

    def state_of(self, obj: AnyObject | None) -> str:
        """Return the current state of the condition in words, for messages.

        `obj` is None if the object does not exist.
        """
        if obj is None:
            return "it does not exist"
        found = condition_of(obj, self.type)
        if found is None:
            return f"it has no condition {self.type}"
        why = ": ".join(str(found[part]) for part in ("reason", "message") if found.get(part))
        old = ", of an earlier generation" if _is_old(obj, found) else ""
        return f"{self.type} is {found.get('status')}{old}" + (f" ({why})" if why else "")


def condition(type: str, status: str = "True") -> ObjectCondition:  # noqa: A002 (the field's word)
    """Return a predicate for `Client.wait`: the condition `type` of an object has `status`, and is up to date."""
    return ObjectCondition(type, status)


def _is_old(obj: AnyObject, found: Condition) -> bool:
    """Return whether a condition reports an earlier generation of its object than the present one."""
    observed = found.get("observedGeneration")
    if observed is None:
        status = _status_of(obj) if isinstance(obj, Cached) else _part(obj, "status")
        observed = _part(status, "observedGeneration" if isinstance(status, Mapping) else "observed_generation")
    return observed is not None and observed < meta(obj).generation


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
    """Return a copy of `conditions` in which the condition `type` is set; the copy is equal if that changes nothing.

    A condition that exists keeps its position, a new one comes last. `lastTransitionTime` changes only when `status`
    does, so it is the time since which the status has its value.

    Args:
        conditions: The current conditions. They are not changed.
        type: The type of the condition to set.
        status: `True`, `False` or `Unknown`, as text.
        reason: The reason as one CamelCase word, for programs.
        message: The reason as a sentence, for people.
        now: The `lastTransitionTime` if `status` changes.
        observed_generation: The `metadata.generation` that the status is based on; None keeps the value of the existing
            condition.

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


def _status_of(obj: Cached) -> _Status:
    """Return the status of an object; an empty one if it has none."""
    try:
        return _decoder.decode(obj.raw).status or _Status()
    except UNREADABLE as error:
        raise DecodeError(f"{obj.key}: {error}") from error


def _part(obj: Any, name: str) -> Any:
    """Return a field of a dict or an attribute of a model; None if it is absent."""
    return obj.get(name) if isinstance(obj, Mapping) else getattr(obj, name, None)


def _plain(condition: Any) -> Condition:
    """Return a condition as a new dict, by its names on the wire."""
    if isinstance(condition, Mapping):
        return dict(condition)
    plain: Condition = json_of(condition) if is_model(condition) else msgspec.to_builtins(condition)
    return plain
