# SPDX-License-Identifier: Apache-2.0
"""The merge patch between an object as it was read and as it is wanted.

A class may know fewer fields than the server has. A merge patch of the fields that differ leaves all others alone, with
one exception: it replaces lists as a whole. So in a list of objects the fields that the class does not know are taken
from the object as it was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from apimachinery.objects import Cached
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.differ import merge_patch, merge_patched
from controller_runtime.crd.declaration import declaration_of
from controller_runtime.crd.types import CustomResource
from controller_runtime.crd.writing import Whole, written

C = TypeVar("C", bound=CustomResource)
_Raw = Mapping[str, Any]


def changes(before: C | Cached | _Raw, after: C, *, replace_lists: bool = False) -> dict[str, Any]:
    """Return the merge patch that turns `before` into `after`, for `Client.patch`; empty if they do not differ.

    The patch has the resourceVersion of `before`, so that the server refuses it if the object has changed meanwhile.
    Otherwise it has only those fields of the class that differ. A field that is None in `after` is removed.

    Args:
        before: The object as it was read: an instance of the class, or the whole object as a `Cached` or a dict.
        after: The desired object.
        replace_lists: Replace a list of objects that differs by the list in `after`, even if fields that the class does
            not have would be lost. Lists of `Condition` are always replaced, because that class has all fields.

    Raises:
        ValueError: A list of objects differs, and `before` is not the whole object. Or the elements of the two lists
            cannot be matched, because the list has no keys.
    """
    declared = declaration_of(type(after))
    raw: _Raw | None = None
    if isinstance(before, CustomResource):
        known: CustomResource = before
    else:
        encoded = before.raw if isinstance(before, Cached) else msgspec.json.encode(before)
        raw, known = msgspec.json.decode(encoded), decoder_for(type(after), declared.resource)(encoded)
    old, new = written(known, defaults=True), written(after, defaults=True)
    patch = merge_patch(old, new)
    if not patch:
        return {}
    if not replace_lists:
        grafted: dict[str, Any] = graft(patch, old, raw, declared.schema, type(after).__name__)
        patch = grafted
    version = known.metadata.resource_version
    return {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": version}} if version else patch


def graft(patch: _Raw, old: _Raw, raw: _Raw | None, schema: _Raw, path: str) -> dict[str, Any]:
    """Return the patch with unknown fields added to elements of lists, since a patch replaces lists as a whole.

    Args:
        patch: The patch of an object.
        old: The object before the patch, with the fields that its class has.
        raw: The same object with all its fields; None if they are unknown.
        schema: The schema of the object.
        path: The path of the object, for messages.
    """
    made: dict[str, Any] = {}
    for name, value in patch.items():
        before, here = old.get(name), f"{path}.{name}"
        inner = schema.get("properties", {}).get(name) or schema.get("additionalProperties") or {}
        whole = None if raw is None else raw.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            # An object that only the class's default stands for has nothing that could be lost.
            made[name] = graft(value, before, {} if raw is not None and whole is None else whole, inner, here)
        elif isinstance(value, list) and isinstance(before, list) and before and not _are_known_whole(value):
            if raw is None:
                raise ValueError(
                    f"{here}: a patch replaces this list as a whole, with fields that its class may not know; give "
                    "changes() the object as it was read (a Cached or a dict), or replace_lists=True"
                )
            made[name] = _graft_list(value, before, whole or [], inner, here)
        else:
            made[name] = value
    return made


def _are_known_whole(items: list[Any]) -> bool:
    """Return whether no element has fields that its class does not know: plain values, and classes that have all."""
    return all(isinstance(item, Whole) or not isinstance(item, Mapping | list) for item in items)


def _graft_list(new: list[Any], old: list[Any], raw: list[Any], schema: _Raw, path: str) -> list[Any]:
    inner = schema.get("items") or {}
    partners = _partners(new, old, schema.get("x-kubernetes-list-map-keys", ()), path)
    made = []
    for item, index in zip(new, partners, strict=True):
        if index is None or not isinstance(item, Mapping):
            made.append(item)
            continue
        patch = merge_patch(old[index], item)
        made.append(merge_patched(raw[index], graft(patch, old[index], raw[index], inner, f"{path}[{index}]")))
    return made


def _partners(new: list[Any], old: list[Any], keys: tuple[str, ...] | list[str], path: str) -> list[int | None]:
    """Return for each element of `new` the index of the same element in `old`; None for an element that was added.

    Elements are the same if their keys are. Without keys, the ones that did not change are the same, and those between
    them in their order, if there are as many before as after.
    """
    if keys:
        places = {_identity(item, keys): index for index, item in enumerate(old)}
        return [places.get(_identity(item, keys)) for item in new]
    start = 0
    while start < min(len(new), len(old)) and new[start] == old[start]:
        start += 1
    end = 0
    while end < min(len(new), len(old)) - start and new[-1 - end] == old[-1 - end]:
        end += 1
    added, removed = len(new) - start - end, len(old) - start - end
    if added and removed and added != removed:
        raise ValueError(
            f"{path}: the elements cannot be matched, because the list has no keys; declare it with list_map(…), or "
            "patch it by a dict"
        )
    middle: list[int | None] = [*range(start, start + added)] if removed else [None] * added
    return [*range(start), *middle, *range(len(old) - end, len(old))]


def _identity(item: Any, keys: tuple[str, ...] | list[str]) -> tuple[Any, ...]:
    return tuple(item.get(key) for key in keys)
