# SPDX-License-Identifier: Apache-2.0
"""Installs what a manager declares on the embedded server of a test, as its manifests do on a cluster."""

from __future__ import annotations

from controller_runtime.client.client import Client
from controller_runtime.core.stop import Stop
from controller_runtime.manager.manager import Manager
from controller_runtime.webhooks.injecting import MUTATING, VALIDATING

_FIELD_MANAGER = "controller-runtime-webhooks"
_DEFINITIONS_TIMEOUT = 10.0  # seconds, of which the embedded server needs none


def install_declared(manager: Manager, client: Client) -> None:
    """Install the definitions and the webhooks of a manager that is about to start.

    Args:
        manager: Declares them.
        client: May write definitions and configurations, so that the manager needs no right to do so.
    """
    host = manager.host
    manager.definitions.install(Stop(host, "definitions"), host.monotonic() + _DEFINITIONS_TIMEOUT, client=client)
    manager.definitions.are_installed = False
    install_webhooks(manager, client)


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
