# SPDX-License-Identifier: Apache-2.0
"""Making an object as one wants it, whether it is there or not, with the fewest and smallest writes."""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from controller_runtime.api.differ import merge_patch
from controller_runtime.api.objects import Cached, ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.client.client import Client
from controller_runtime.core.errors import NotFound

Mutate = Callable[[dict[str, Any]], None]


class Change(enum.Enum):
    """What `create_or_patch` wrote."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    UPDATED = "updated"
    UPDATED_STATUS = "updatedStatus"
    """Both the object and its status."""
    UPDATED_STATUS_ONLY = "updatedStatusOnly"


class Made(NamedTuple):
    """How an object was made as wanted, and the object as the server has it now."""

    change: Change
    object: dict[str, Any]


def create_or_patch(client: Client, resource: Resource[Any], key: ObjectKey, mutate: Mutate) -> Made:
    """Have `mutate` say what an object should be, and write what differs from what it is.

    The object is read from the server, not from a cache. What differs goes as a merge patch
    for that version alone, the status apart from the rest, as it does where the kind has
    a `status` subresource; if nothing differs, nothing is written. Fields that
    `mutate` does not touch are left alone, whoever set them.

    Args:
        client: Reads and writes.
        resource: The object's collection.
        key: Its name.
        mutate: Edits the object in place: what is on the server, or, where nothing is, a dict
            with kind and name alone.

    Raises:
        ValueError: `mutate` gave the object another name or namespace.
        Conflict: The object was changed between the read and the write.
        AlreadyExists: Or created.
        Exception: What `mutate` raises; then nothing is written.
    """
    try:
        before = client.get(resource, key, dict)
    except NotFound:
        return _create(client, resource, key, mutate)
    wanted = _mutated(before, key, mutate)
    main, status = _differences(before, wanted)
    made = before
    if main:
        made = _patched(client, resource, key, main, before)
    if status:
        made = _patched(client, resource, key, status, made, "status")
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
    if merge_patch({name: has.get(name) for name in status}, status):  # a subresource, which creating leaves out
        made = _patched(client, resource, key, {"status": status}, made, "status")
    return Made(Change.CREATED, made)


def _mutated(before: dict[str, Any], key: ObjectKey, mutate: Mutate) -> dict[str, Any]:
    wanted = copy.deepcopy(before)
    mutate(wanted)
    metadata = wanted.get("metadata") or {}
    named = ObjectKey(metadata.get("name") or "", metadata.get("namespace") or "")
    if named != key:
        raise ValueError(f"{key} was to be edited, but not to become {named}")
    return wanted


def _differences(before: dict[str, Any], wanted: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The patch of the object, and the patch of its status."""
    patch = merge_patch(before, wanted)
    status = {"status": patch.pop("status")} if "status" in patch else {}
    return patch, status


def _patched(
    client: Client,
    resource: Resource[Any],
    key: ObjectKey,
    patch: dict[str, Any],
    of: dict[str, Any],
    subresource: str = "",
) -> dict[str, Any]:
    """Patch the object as long as it is still what it was in `of`."""
    metadata = {**patch.get("metadata", {}), "resourceVersion": of["metadata"]["resourceVersion"]}
    return _decoded(client.patch(resource, key, {**patch, "metadata": metadata}, subresource=subresource))


def _decoded(cached: Cached) -> dict[str, Any]:
    obj: dict[str, Any] = msgspec.json.decode(cached.raw)
    return obj
