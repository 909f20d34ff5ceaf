# SPDX-License-Identifier: Apache-2.0
"""Installs the definitions and webhooks of a manager on the embedded server of a test, as its manifests do on a
cluster.
"""

from __future__ import annotations

from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.manager.manager import Manager
from controller_runtime.webhooks.installing import install

_DEFINITIONS_TIMEOUT = 10.0  # seconds, of which the embedded server needs none


def install_declared(manager: Manager, client: Client) -> None:
    """Install the definitions and the webhooks of a manager that is about to start.

    Args:
        manager: The manager, which declares them.
        client: A client that may write definitions and webhook configurations, so that the manager needs no permission.

    Raises:
        NoSuchKind: The server does not serve webhook configurations.
    """
    host = manager.host
    manager.definitions.install(Stop(host, "definitions"), host.monotonic() + _DEFINITIONS_TIMEOUT, client=client)
    manager.definitions.are_installed = False
    install_webhooks(manager, client)


def install_webhooks(manager: Manager, client: Client) -> None:
    """Apply the configurations of a manager's webhooks, which answer from now on; do nothing if it declares none.

    They answer before the manager's own thread starts, so that a test may write as soon as the cluster has started.

    Args:
        manager: The manager, which declares the webhooks.
        client: A client that may write webhook configurations.

    Raises:
        NoSuchKind: The server does not serve webhook configurations.
    """
    if manager.declared_webhooks:
        install(client, manager.webhooks.installed_objects())
        manager.webhooks.start_in_process()
