# SPDX-License-Identifier: Apache-2.0
"""The other parts of a cluster besides its API server: garbage collection, and controllers of workloads with nodes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import cast

from apimachinery.errors import UsageError
from apimachinery.host import Host, Thread
from apimachinery.stop import Stop, spawn
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.core.extras import remedy
from controller_runtime.manager.manager import Manager, Setup
from embedded_apiserver import APIServer, Upkeep

_WORKLOADS = "controllers.workloads.workloads"


class Beside:
    """Runs other parts of a cluster on the server's host, so that they continue when the cluster's manager ends.

    Args:
        host: The server's host.
        server: The server.
        garbage_collection: True to collect garbage.
        workloads: True to run the controllers of workloads, which includes garbage collection.

    Raises:
        UsageError: The distribution with the controllers of workloads is not installed.

    Threads: one.
    """

    def __init__(self, host: Host, server: APIServer, garbage_collection: bool, workloads: bool) -> None:
        self._host = host
        self._stop = Stop(host, "stop of what runs beside the server")
        self._tasks: dict[str, Callable[[Stop], None]] = {}
        self._threads: list[Thread] = []
        if garbage_collection or workloads:
            self._tasks["upkeep"] = Upkeep(host, server).run
        if workloads:
            manager = Manager(host, InProcessTransport(host, server))
            _add_workloads()(manager)
            self._tasks["workloads"] = manager.run

    def start(self) -> None:
        """Start the threads, unless they have been started."""
        if not self._threads:
            self._threads = [
                spawn(self._host, self._stop, name, partial(run, self._stop)) for name, run in self._tasks.items()
            ]

    def stop(self) -> None:
        """Stop the threads and wait for their end; raise the error of a thread that failed. Idempotent."""
        self._stop.set()
        for thread in self._threads:
            thread.join_until(None)
        if self._stop.failure is not None:
            raise self._stop.failure


def _add_workloads() -> Setup:
    # The controllers are a distribution of their own, above this one: imported by those who ask for them.
    try:
        module = importlib.import_module(_WORKLOADS)
    except ModuleNotFoundError as error:
        needed = f"workloads=True needs the bundled controllers: {remedy(controllers=True)}"
        raise UsageError(f"{needed} ({error})") from error
    return cast("Setup", module.add_workloads)
