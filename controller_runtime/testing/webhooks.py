# SPDX-License-Identifier: Apache-2.0
"""Registers the webhooks of a manager with the embedded server of a test, as its manifests do on a cluster."""

from __future__ import annotations

from controller_runtime.client.client import Client
from controller_runtime.manager.manager import Manager
from controller_runtime.webhooks.injecting import MUTATING, VALIDATING

_FIELD_MANAGER = "controller-runtime-webhooks"


def install_webhooks(manager: Manager, client: Client) -> None:
    """Apply the configurations of a manager's webhooks; nothing if it declares none.

    Args:
        manager: Declares the webhooks.
        client: May write configurations.

    Raises:
        NoSuchKind: The server does not serve configurations of webhooks.
    """
    if not manager.has_webhooks:
        return
    kinds = {each.kind: each for each in (MUTATING, VALIDATING)}
    for obj in manager.webhooks.installed_objects():
        client.apply(kinds[obj["kind"]], obj, field_manager=_FIELD_MANAGER, force=True)
