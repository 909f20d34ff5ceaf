# SPDX-License-Identifier: Apache-2.0
"""Merge patches (RFC 7386): computes the one that turns one object into another, whole or by field, and applies one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from apimachinery.equality import same_json


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch that turns `before` into `after`; it is empty if they do not differ.

    A list that differs is in the patch as a whole, because a merge patch cannot change a part of one. On either side a
    field that is None counts as absent, as a server treats it.
    """
    patch: dict[str, Any] = {}
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            if inner := merge_patch(old, new):
                patch[name] = inner
        elif not same_json(old, new, exact=False):
            patch[name] = new
    return patch


def merge_patched(target: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `target` to which `patch`, a merge patch, is applied. The arguments are not changed."""
    result = {**target}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            inner = result.get(name)
            result[name] = merge_patched(inner if isinstance(inner, Mapping) else {}, value)
        else:
            result[name] = value
    return result


@attrs.frozen
class ChangedField:
    """A field that differs between two objects.

    Attributes:
        path: The path of the field, such as `.spec.size`.
        old: Its value in the first object; None if it is absent.
        new: Its value in the second object; None if it is absent.
        patch: The merge patch that changes this field only.
    """

    path: str
    old: Any
    new: Any
    patch: dict[str, Any]


def changes_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ChangedField]:
    """Return the fields that differ between two objects.

    Nested objects are compared field by field. A list counts as one field, and so does an object that is absent on one
    side.
    """
    found = []
    for name in merge_patch(before, after):
        old, new = before.get(name), after.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            inner = changes_of(old, new)
            found += [ChangedField(f".{name}{each.path}", each.old, each.new, {name: each.patch}) for each in inner]
        else:
            found.append(ChangedField(f".{name}", old, new, {name: new}))
    return found
