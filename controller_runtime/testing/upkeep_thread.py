# SPDX-License-Identifier: Apache-2.0
"""Garbage collection beside an embedded API server."""

from __future__ import annotations

from controller_runtime.apiserver.server import APIServer
from controller_runtime.apiserver.upkeep.upkeep import Upkeep
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.stop import Stop, spawn


class UpkeepThread:
    """Runs garbage collection on the server's host. Threads: one."""

    def __init__(self, host: Host, server: APIServer) -> None:
        self._host = host
        self._upkeep = Upkeep(host, server)
        self._stop = Stop(host, "upkeep stop")
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start the thread, unless it runs already."""
        if self._thread is None:
            self._thread = spawn(self._host, self._stop, "upkeep", lambda: self._upkeep.run(self._stop))

    def stop(self) -> None:
        """Stop the thread and wait for its end; raise the error that ended it if it failed. Idempotent."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join_until(None)
        if self._stop.failure is not None:
            raise self._stop.failure
