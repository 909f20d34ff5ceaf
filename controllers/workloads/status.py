# SPDX-License-Identifier: Apache-2.0
"""Writing the status of a workload: only if it changes, and only of the object that was judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apimachinery.errors import NotFound
from apimachinery.objects import Cached, ObjectKey, ObjectMeta
from controller_runtime.api.resources import Resource
from controller_runtime.client.client import Client

Status = dict[str, Any]
"""A status as the API has it. Fields whose values are zero or None are left out, as Go does for `omitempty`."""


def filled(**fields: Any) -> Status:
    """Return a status with those fields that are not None, zero or empty."""
    return {name: value for name, value in fields.items() if value not in (None, 0, [], {}, "")}


def write_status(
    client: Client, resource: Resource[Any], metadata: ObjectMeta, before: Mapping[str, Any], status: Status
) -> Cached | None:
    """Write a status if it differs from `before`, and return the object as stored; None if nothing was written.

    The patch requires the uid, so that a newer object of the same name is not changed.
    """
    if before == status:
        return None
    patch = _patch(before, status)
    key = ObjectKey(metadata.name, metadata.namespace)
    try:
        return client.patch(resource, key, {"metadata": {"uid": metadata.uid}, "status": patch}, subresource="status")
    except NotFound:
        return None


def _patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return a merge patch from one state to another: null removes what is there no more."""
    made: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        present = before.get(name)
        made[name] = _patch(present, value) if isinstance(value, dict) and isinstance(present, dict) else value
    return made
