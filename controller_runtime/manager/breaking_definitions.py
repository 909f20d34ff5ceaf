# SPDX-License-Identifier: Apache-2.0
"""Finds breaking changes of a definition by comparing it with the server's, and counts the affected stored objects."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apimachinery.errors import APIError, ConnectionLost, DecodeError, NotFound
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.client.client import Client
from controller_runtime.crd.breaking import breaking_changes
from controller_runtime.crd.definitions import DEFINITIONS

_Objects = Sequence[Mapping[str, Any]]


def breaking_on_server(client: Client, body: Mapping[str, Any]) -> list[str]:
    """Return the breaking changes that a definition would make, as texts with the number of affected objects.

    The stored objects are listed to count them. Without the right to list them there is no number.

    Args:
        client: Reads the stored definition, if there is one, and lists objects.
        body: The definition to install.

    Raises:
        APIError: The server refuses to return its definition.
        ConnectionLost: The server could not be reached.
    """
    try:
        stored = client.get(DEFINITIONS, ObjectKey(body["metadata"]["name"]))
    except NotFound:
        return []
    objects_of = functools.cache(functools.partial(_objects, client, stored))
    changes = breaking_changes(stored, body)
    return [f"{each}{_counted(each.concerns, objects_of(each.version))}" for each in changes]


def _objects(client: Client, stored: Mapping[str, Any], version: str) -> _Objects | None:
    spec = stored["spec"]
    namespaced = spec["scope"] == "Namespaced"
    resource = Resource[Any](spec["group"], version, spec["names"]["kind"], spec["names"]["plural"], namespaced)
    try:
        return client.list(resource, view=dict)
    except (APIError, ConnectionLost, DecodeError):  # the changes are told without their numbers
        return None


def _counted(concerns: Callable[[Any], bool], objects: _Objects | None) -> str:
    if objects is None:
        return ""
    return f" ({sum(map(concerns, objects))} of {len(objects)} stored objects)"
