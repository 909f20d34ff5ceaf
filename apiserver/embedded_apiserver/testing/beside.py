# SPDX-License-Identifier: Apache-2.0
"""The controllers that are installed next to this distribution, found by their entry point."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import cast

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.stop import Stop
from embedded_apiserver.server import APIServer

GROUP = "embedded_apiserver.beside"
"""The group of entry points: each is a function of a host, a server and a token that returns what runs until a stop."""
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
