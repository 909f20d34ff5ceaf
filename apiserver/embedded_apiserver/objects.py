# SPDX-License-Identifier: Apache-2.0
"""Readers of the parts of a stored object, which they never modify."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]


def with_status_of(old: Object, new: Object) -> Object:
    """Return a copy of `new` with the status of `old`; without a status if `old` has none."""
    rest = {name: value for name, value in new.items() if name != "status"}
    return {**rest, "status": old["status"]} if "status" in old else rest


def filled(value: Object, missing: Object) -> Object:
    """Return `value` with the fields of `missing` that `value` lacks; `value` itself if it lacks none."""
    return value if missing.keys() <= value.keys() else {**missing, **value}


def part(obj: Object, name: str) -> Mapping[str, Any]:
    """Return a top-level field of an object, such as its `spec`; an empty mapping if the field is missing or null."""
    return obj.get(name) or {}
