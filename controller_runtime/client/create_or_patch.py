# SPDX-License-Identifier: Apache-2.0
"""Creates an object or patches it into a wanted state, with the fewest and smallest writes."""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from apimachinery.errors import NotFound
from apimachinery.objects import Cached, ObjectKey
from apimachinery.plain_functions import synchronous
from controller_runtime.api.differ import merge_patch
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.client.client import Client

Mutate = Callable[[dict[str, Any]], None]
"""Edits an object in place."""


class Change(enum.Enum):
    """The writes that `create_or_patch` made."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    UPDATED = "updated"
    UPDATED_STATUS = "updatedStatus"
    """The object and its status were updated, each by its own write."""
    UPDATED_STATUS_ONLY = "updatedStatusOnly"


class Made(NamedTuple):
    """The result of `create_or_patch`.

    Attributes:
        change: The writes that were made.
        object: The object as returned by the last write, or by the read if nothing was written.
    """

    change: Change
    object: dict[str, Any]


def create_or_patch(client: Client, resource: Kind[Any], key: ObjectKey, mutate: Mutate) -> Made:
    """Read an object from the server, let `mutate` edit it, and write the difference.

    The difference is written as a merge patch that requires the version which was read. A change of the status is
    written by a separate patch to the `status` subresource. If nothing differs, nothing is written. Fields that
    `mutate` does not change are not written, so changes of other clients to them are kept.

    Args:
        client: Reads and writes.
        resource: The object's resource, or its declared class.
        key: The object's name and namespace.
        mutate: Edits the object as a dict, in place; if the object does not exist, the dict has only its apiVersion,
            kind, name and namespace.

    Raises:
        ValueError: `mutate` gave the object another name or namespace.
        UsageError: `mutate` is an `async def`, or returned a coroutine.
        Conflict: Another client changed the object between the read and the write.
        AlreadyExists: Another client created the object between the read and the write.
        Exception: `mutate` raised it; then nothing is written.
    """
    known = resource_of(resource)
    mutate = synchronous("create_or_patch", mutate)
    try:
        before = client.get(known, key, dict)
    except NotFound:
        return _create(client, known, key, mutate)
    wanted = _mutated(before, key, mutate)
    main, status = _differences(before, wanted)
    made = before
    if main:
        made = _patched(client, known, key, main, before)
    if status:
        made = _patched(client, known, key, status, made, "status")
    match bool(main), bool(status):
        case False, False:
            return Made(Change.UNCHANGED, made)
        case True, False:
            return Made(Change.UPDATED, made)
        case False, True:
            return Made(Change.UPDATED_STATUS_ONLY, made)
        case _:
            return Made(Change.UPDATED_STATUS, made)


def _create(client: Client, resource: Resource[Any], key: ObjectKey, mutate: Mutate) -> Made:
    metadata = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    bare = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    wanted = _mutated(bare, key, mutate)
    made = _decoded(client.create(resource, wanted))
    status, has = wanted.get("status") or {}, made.get("status") or {}
    # If the kind has the `status` subresource, the server dropped the status at the creation.
    if merge_patch({name: has.get(name) for name in status}, status):
        made = _patched(client, resource, key, {"status": status}, made, "status")
    return Made(Change.CREATED, made)


def _mutated(before: dict[str, Any], key: ObjectKey, mutate: Mutate) -> dict[str, Any]:
    wanted = copy.deepcopy(before)
    mutate(wanted)
    metadata = wanted.get("metadata") or {}
    named = ObjectKey(metadata.get("name") or "", metadata.get("namespace") or "")
    if named != key:
        raise ValueError(f"mutate must not rename an object: {key} became {named}")
    return wanted


def _differences(before: dict[str, Any], wanted: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the patch of the object without its status, and that of its status."""
    patch = merge_patch(before, wanted)
    status = {"status": patch.pop("status")} if "status" in patch else {}
    return patch, status


def _patched(
    client: Client,
    resource: Resource[Any],
    key: ObjectKey,
    patch: dict[str, Any],
    before: dict[str, Any],
    subresource: str = "",
) -> dict[str, Any]:
    """Patch the object if its resourceVersion is still that of `before`, and return the object."""
    metadata = {**patch.get("metadata", {}), "resourceVersion": before["metadata"]["resourceVersion"]}
    return _decoded(client.patch(resource, key, {**patch, "metadata": metadata}, subresource=subresource))


def _decoded(cached: Cached) -> dict[str, Any]:
    obj: dict[str, Any] = msgspec.json.decode(cached.raw)
    return obj
