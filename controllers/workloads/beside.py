# SPDX-License-Identifier: Apache-2.0
"""The controllers of workloads for a server of a test that runs no manager of its own."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.manager.manager import Manager
from controllers.shared.with_token import WithToken
from controllers.workloads.workloads import add_workloads
from embedded_apiserver import APIServer


def workloads_beside(host: Host, server: APIServer, token: str) -> Callable[[Stop], None]:
    """Return a function that runs the controllers of workloads, and nodes for their pods, on a server until a stop is
    set.

    Args:
        host: The server's host.
        server: The server.
        token: The bearer token of the administrator.
    """
    manager = Manager(host, InProcessTransport(host, WithToken(server, token)))
    add_workloads(manager)
    return manager.run
