# SPDX-License-Identifier: Apache-2.0
"""The time from the end of a leading process to the next leader's first write, over TLS: KUBECONFIG SIGNAL.

With the arguments KUBECONFIG replica NAME this program is one of the replicas.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable

import attrs

from apimachinery.errors import NotFound
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from benchmarks.harness import report
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.signals import stop_on_signals
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager

REPLICA = "replica"


@attrs.frozen
class Creator(Reconciler):
    """Creates a node, which shows that its replica leads."""

    client: Client

    def reconcile(self, request: Request) -> Result:
        self.client.create(NODES, {"metadata": {"name": request.name}})
        return Result()


def replicate(kubeconfig: str, name: str) -> None:
    """Run a replica until SIGTERM; its first write as the leader is a node of its name."""
    host = SystemHost(name)
    election = LeaderElectionConfig(name="failover", namespace="default", identity=name)
    manager = Manager(host, HTTPTransport(host, from_kubeconfig(kubeconfig)), leader_election=election)
    manager.add(Controller("creator", Creator(manager.client)).every(3600.0, lambda: [ObjectKey(name)]))
    stop = Stop(host)
    with stop_on_signals(host, stop):
        manager.run(stop)


def measure(kubeconfig: str, number: signal.Signals) -> float:
    """Return the seconds between the signal to the first leader and the second leader's first write."""
    host = SystemHost()
    never, client = Stop(host), Client(host, HTTPTransport(host, from_kubeconfig(kubeconfig)))

    def wait_for(check: Callable[[], object]) -> None:
        while not check():
            never.wait(0.01)

    def wrote(name: str) -> bool:
        try:
            client.get(NODES, ObjectKey(name), dict)
        except NotFound:
            return False
        return True

    def start(name: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", __spec__.name, kubeconfig, REPLICA, name])

    with start("one") as first:
        wait_for(lambda: wrote("one"))
        with start("two") as second:
            never.wait(8.0)  # time to start and to read the lease; there is no sign of it from outside
            first.send_signal(number)
            sent = time.perf_counter()
            wait_for(lambda: wrote("two"))
            took = time.perf_counter() - sent
            second.kill()
    client.transport.close()
    return took


def main() -> None:
    """Print the seconds, or be a replica."""
    kubeconfig, how, *name = sys.argv[1:]
    if how == REPLICA:
        replicate(kubeconfig, *name)
        return
    report({"s": measure(kubeconfig, signal.Signals[how])})


if __name__ == "__main__":
    main()
