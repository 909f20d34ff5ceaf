# SPDX-License-Identifier: Apache-2.0
"""Writes the configurations of webhooks to a server that is the program's own: embedded, or that of a test."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from apimachinery.errors import NotFound
from apimachinery.objects import ObjectKey
from controller_runtime.client.client import Client
from controller_runtime.webhooks.injecting import MUTATING, VALIDATING

FIELD_MANAGER = "controller-runtime-webhooks"
"""The owner of the fields of installed configurations."""

_KINDS = {each.kind: each for each in (MUTATING, VALIDATING)}


def install(client: Client, objects: Sequence[Mapping[str, Any]]) -> None:
    """Apply webhook configurations to a server.

    Args:
        client: Sends the requests; it must have the right to write them.
        objects: The configurations, made by `configurations`.

    Raises:
        NoSuchKind: The server does not serve webhook configurations.
    """
    for obj in objects:
        client.apply(_KINDS[obj["kind"]], obj, field_manager=FIELD_MANAGER, force=True)


def uninstall(client: Client, name: str) -> None:
    """Delete the webhook configurations called `name`, so that the server does not call a program that has ended."""
    for resource in _KINDS.values():
        with contextlib.suppress(NotFound):
            client.delete(resource, ObjectKey(name))
