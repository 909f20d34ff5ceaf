# SPDX-License-Identifier: Apache-2.0
"""The process of an embedded cluster's manager, which can be stopped gracefully, or killed as by `kill -9`."""

from __future__ import annotations

from typing import Protocol

from apimachinery.host import Host, Thread
from apimachinery.http import Handler
from apimachinery.stop import Stop, spawn
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Transport
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.severing import SeverableTransport
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.simulation import SimulatedHost
from controller_runtime.testing.simulation.system_faults import ScriptedFaults


class ManagerMachine(Protocol):
    """The machine on which the manager's processes run, one after the other, and its connection to the server."""

    @property
    def host(self) -> Host:
        """The host of the present process."""

    @property
    def is_alive(self) -> bool:
        """True while threads of the present process can run."""

    @property
    def is_usable(self) -> bool:
        """True until the machine has ended, as with a simulation that was given up."""

    def connect(self, server: Handler) -> Transport:
        """Return a transport of the present process to `server`."""

    def kill(self) -> bool:
        """Kill the process of the manager, and return True; return False if this machine cannot. Idempotent."""

    def restart(self) -> None:
        """Start another process after the present one was killed."""


class SystemMachine:
    """The real machine. Python cannot end a thread, so its process ends only when it is stopped."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.is_alive = self.is_usable = True

    def connect(self, server: Handler) -> Transport:
        """Return a transport that calls `server` on the thread of each caller."""
        return InProcessTransport(self.host, server)

    def kill(self) -> bool:
        """Return False: threads cannot be killed, so they run until they are stopped."""
        return False

    def restart(self) -> None:
        """Do nothing: the next process has the same host."""


class SimulatedMachine:
    """A machine of a simulation; each of its processes has its own host, so that it can crash alone.

    Requests travel through a simulated network without latency, and threads of the server's host handle them. So a
    request that was sent before its process is killed is still carried out, as on a real network.

    Args:
        host: The host of the first process.
        server_host: The host of the server.
    """

    def __init__(self, host: SimulatedHost, server_host: SimulatedHost) -> None:
        self.host = host
        self._server_host = server_host
        self._network = Network(host.simulation, ScriptedFaults(()), [], latency=0.0)
        self._server: Handler | None = None

    @property
    def is_alive(self) -> bool:
        """True until the host crashes or the simulation ends."""
        return self.is_usable and not self.host.crashed

    @property
    def is_usable(self) -> bool:
        """True until the simulation ends, or was given up because a thread was stuck."""
        return not self.host.scheduler.closed

    def connect(self, server: Handler) -> Transport:
        """Return a transport over the network, on which `server` answers from now on.

        If another one answered before, the connections to it are broken.
        """
        if server is not self._server:
            self._server = server
            self._network.serve(self._server_host, server)
        return NetworkTransport(self._network, self.host)

    def kill(self) -> bool:
        """Crash the host, close its connections as an operating system does, and return True."""
        self.host.simulation.crash(self.host)
        self._network.hang_up(self.host)
        return True

    def restart(self) -> None:
        """Replace the host by a new one (`cluster`, then `cluster#2`), which shares nothing with its predecessor."""
        self.host = self.host.simulation.restart(self.host)


class ManagerProcess:
    """Runs one manager on its own thread.

    Args:
        machine: The machine that runs it.
        transport: The transport to the server.

    Attributes:
        host: The host of the process.
        transport: The manager's transport: the given one, until the process is killed.

    Threads: one.
    """

    def __init__(self, machine: ManagerMachine, transport: Transport) -> None:
        self.host = machine.host
        self.transport = SeverableTransport(transport)
        self._machine = machine
        self._stop = Stop(self.host, "cluster stop")
        self._thread: Thread | None = None
        self._is_killed = False

    def refuse_second_start(self) -> None:
        """Raise an error if the process has been started.

        Raises:
            RuntimeError: `start` has been called.
        """
        if self._thread is not None:
            raise RuntimeError("the cluster's manager has been started already: call start() once")

    def start(self, manager: Manager) -> None:
        """Run the manager until the process is stopped or killed."""
        self._thread = spawn(self.host, self._stop, "manager", lambda: manager.run(self._stop))

    def stop(self) -> None:
        """Stop the manager gracefully and wait for its end; raise the error that ended it if it failed. Idempotent."""
        if self._is_killed or not self._machine.is_alive:
            return
        self._stop.set()
        self._join()
        if self._stop.failure is not None:
            raise self._stop.failure

    def kill(self) -> None:
        """End the process as `kill -9` does: no further request leaves it, so its lease stays held. Idempotent.

        On the real machine this waits until the manager's threads have ended, except those that hang. The error of a
        killed manager is ignored.
        """
        if self._is_killed:
            return
        self._is_killed = True
        self.transport.sever()
        if not self._machine.kill():
            self._stop.cancel()
            self._join()

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join_until(None)


def machine_of(host: Host) -> tuple[ManagerMachine, Host]:
    """Return the machine of the manager, and the host of the server and of the test's client."""
    if not isinstance(host, SimulatedHost):
        return SystemMachine(host), host
    server_host = host.simulation.server_host(host)
    return SimulatedMachine(host, server_host), server_host
