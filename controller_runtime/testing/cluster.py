# SPDX-License-Identifier: Apache-2.0
"""A cluster in one process: an embedded API server without a socket, and a manager that runs on it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from controller_runtime.apiserver.server import APIServer
from controller_runtime.apiserver.upkeep.upkeep import Upkeep
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Transport
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.stop import Stop, spawn
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.faults import Faults, FaultyTransport
from controller_runtime.testing.recording import RecordingTransport

_DEFINITIONS_TIMEOUT = 10.0  # seconds, of which the embedded server needs none


class EmbeddedCluster:
    """Runs a manager on an embedded API server in this process.

    On a `SystemHost` it is the quickest way to try a controller. On a simulated host it is the way to
    test one: time moves when the test lets it, and every run with the same seed is the same.

    Entering starts nothing: add controllers to `manager`, then call `start`. Leaving stops
    the manager, and raises the error that ended it if it failed.

    Args:
        host: The host that the server and the manager run on.
        server: An API server that exists already, to run another manager on its objects.
        transport: The manager's transport; by default it calls the server directly.
        faults: The faults of the manager's requests; none by default.
        leader_election: The manager's leader election, for several managers on one server.
        garbage_collection: Also do what a controller manager does for every object, from `start` until `stop`: delete
            objects that have lost their last owner, honor propagation policies, and empty namespaces that are
            deleted. Changes are handled a tenth of a second after they are made, in virtual time too. If several
            clusters share one server, set it for one of them.

    Attributes:
        server: The API server.
        transport: Records the manager's requests, for assertions.
        manager: The manager; add controllers to it.
        user: A client of the same server for the test, without faults and not recorded.
    """

    def __init__(
        self,
        host: Host,
        *,
        server: APIServer | None = None,
        transport: Transport | None = None,
        faults: Faults | None = None,
        leader_election: LeaderElectionConfig | None = None,
        garbage_collection: bool = False,
    ) -> None:
        self.host = host
        self.server = server or APIServer(host)
        transport = transport or InProcessTransport(host, self.server)
        if faults is not None:
            transport = FaultyTransport(host, transport, faults)
        self.transport = RecordingTransport(transport)
        self.manager = Manager(host, self.transport, leader_election=leader_election)
        self.user = Client(host, InProcessTransport(host, self.server))
        self._stop = Stop(host, "cluster stop")
        self._upkeep = Upkeep(host, self.server) if garbage_collection else None
        self._threads: list[Thread] = []

    @property
    def client(self) -> Client:
        """The manager's client, whose requests have faults and are recorded."""
        return self.manager.client

    def start(self) -> None:
        """Run the manager on a thread of its own, and garbage collection on another if it was asked for.

        The definitions that `Manager.install` was asked for are on the server once this returns.
        """
        if self._threads:
            raise RuntimeError("the cluster's manager has been started already: call start() once")
        deadline = self.host.monotonic() + _DEFINITIONS_TIMEOUT
        self.manager.definitions.install(self._stop, deadline, client=self.user)
        self._threads.append(spawn(self.host, self._stop, "manager", lambda: self.manager.run(self._stop)))
        if (upkeep := self._upkeep) is not None:
            self._threads.append(spawn(self.host, self._stop, "upkeep", lambda: upkeep.run(self._stop)))

    def stop(self) -> None:
        """Stop the manager and wait until it has ended; raise the error that ended it if it failed. Idempotent."""
        self._stop.set()
        for thread in self._threads:
            thread.join_until(None)
        if self._stop.failure is not None:
            raise self._stop.failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
