# SPDX-License-Identifier: Apache-2.0
"""The controllers of the distribution of bundled controllers, which is found by its entry point if it is installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import cast

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.stop import Stop
from embedded_apiserver.server import APIServer

GROUP = "embedded_apiserver.beside"
"""The group of entry points. Each is a function that gets a host, a server and a token, and returns a function that
runs controllers until it is stopped.
"""
REMEDY = (
    "from a clone, pip install ./apimachinery ./apiserver '.[testing,cli,agent]' ./controllers; "
    "once they are released, pip install 'embedded-apiserver[workloads]'"
)
"""The command that installs the bundled controllers."""

Beside = Callable[[Host, APIServer, str], Callable[[Stop], None]]


def workloads() -> Beside:
    """Return the function that starts the workload controllers, from the distribution of bundled controllers.

    Raises:
        UsageError: The bundled controllers are not installed.
    """
    found = entry_points(group=GROUP, name="workloads")
    if not found:
        raise UsageError(f"workloads() needs the bundled controllers: {REMEDY}")
    return cast("Beside", next(iter(found)).load())
