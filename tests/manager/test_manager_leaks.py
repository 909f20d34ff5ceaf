# SPDX-License-Identifier: Apache-2.0
"""A manager that has run leaves nothing behind: no thread, no socket, no file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import attrs
import pytest

from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.endpoints import Endpoints
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import EmbeddedCluster, a_node
from embedded_apiserver.server import APIServer
from embedded_apiserver.shell.identity import new_identity
from embedded_apiserver.shell.kubeconfig import kubeconfig, write_kubeconfig
from embedded_apiserver.shell.thread import LoopbackServer

pytestmark = pytest.mark.ends


class Idle(Reconciler):
    """Reconciles without doing anything."""

    def reconcile(self, request: Request) -> Result:
        return Result()


@attrs.frozen
class Telling(Reconciler):
    """Notes that it was called, and sends a request to the server."""

    client: Client
    called: Stop

    def reconcile(self, request: Request) -> Result:
        self.client.list(NODES)
        self.called.set()
        return Result()


def run_once(controllers: int) -> None:
    """Run a manager from its start to its stop, and request everything that it serves."""
    with EmbeddedCluster(SystemHost()) as cluster, Endpoints(metrics="127.0.0.1:0", probes="localhost:0") as endpoints:
        for number in range(controllers):
            cluster.manager.add(Controller(f"idle-{number}", Idle()).watch(NODES))
        cluster.user.create(NODES, a_node("a"))
        endpoints.serve(cluster.manager)
        cluster.start()


def open_files() -> list[str]:
    """Return what the descriptors of this process refer to, without the one that lists them."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:
            continue
    return sorted(found)


@pytest.mark.scenario("MG-14")
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc to count open files in")
def test_a_manager_of_50_controllers_started_and_stopped_100_times_leaks_nothing() -> None:
    """Threads, sockets and open files are the same as before, at whatever moment of the start it is stopped."""
    run_once(1)  # the standard library opens some files once and keeps them; they are open from here on
    threads, files = threading.active_count(), open_files()

    for _ in range(100):
        run_once(50)

    assert threading.active_count() == threads
    assert open_files() == files


@pytest.mark.scenario("MG-14")
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc to count open files in")
def test_a_manager_over_tls_started_and_stopped_100_times_leaves_no_connection(tmp_path: Path) -> None:
    """Its own stop closes the connections, because no other code closes the transport."""
    host = SystemHost()
    identity = new_identity(host.now())
    handler = APIServer(host, token=identity.token)
    threads, files = threading.active_count(), open_files()

    with LoopbackServer(host, handler, certificates=identity.certificates) as server:
        path = tmp_path / "kubeconfig"
        write_kubeconfig(path, kubeconfig(server.url, identity.certificates.authority, identity.token))
        transports = [
            HTTPTransport(host, from_kubeconfig(path)) for _ in range(100)
        ]  # kept, so that none closes itself
        for transport in transports:
            run_over_tls(host, transport)

    assert threading.active_count() == threads
    assert open_files() == files


def run_over_tls(host: SystemHost, transport: HTTPTransport) -> None:
    """Run a manager of 10 controllers, each with a connection, and stop it once one of them has reconciled."""
    manager = Manager(host, transport)
    stop, seen = Stop(host), Stop(host)
    for number in range(10):
        controller = Controller(f"telling-{number}", Telling(manager.client, seen))
        manager.add(controller.watch(NODES).every(3600.0, lambda: [ObjectKey("all")]))
    thread = spawn(host, stop, "manager", lambda: manager.run(stop))
    assert seen.wait(30.0)
    stop.set()
    thread.join_until(None)
    assert stop.failure is None
