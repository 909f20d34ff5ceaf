# SPDX-License-Identifier: Apache-2.0
"""A replica as a process: while it leads, eight workers write to one object, each about twenty times a second.

They always are about to write, so one that is frozen and woken has eight writes at hand.

`python replica.py KUBECONFIG NAME [LEASE DEADLINE RETRY]`; it exits with 3 once it has lost the leadership.
"""

from __future__ import annotations

import sys

import attrs

from controller_runtime import (
    Client,
    Controller,
    LeaderElectionConfig,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    Stop,
    SystemHost,
    stop_on_signals,
)
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.errors import LeadershipLost
from controller_runtime.resources import NODES

LOST = 3
WRITTEN = ObjectKey("written")


@attrs.frozen
class Writer(Reconciler):
    """Writes its name over any earlier value."""

    client: Client
    name: str
    stopping: Stop

    def reconcile(self, request: Request) -> Result:
        self.stopping.wait(0.05)
        self.client.patch(NODES, WRITTEN, {"metadata": {"annotations": {"writer": self.name}}})
        return Result(requeue_after=0.0)


def main(kubeconfig: str, name: str, *seconds: str) -> int:
    host = SystemHost(name)
    lease, deadline, retry = map(float, seconds or ("15", "10", "2"))
    election = LeaderElectionConfig(
        name="writers",
        namespace="default",
        identity=name,
        lease_duration=lease,
        renew_deadline=deadline,
        retry_period=retry,
    )
    manager = Manager(host, HTTPTransport(host, from_kubeconfig(kubeconfig)), leader_election=election)
    requests = [ObjectKey(f"worker-{number}") for number in range(8)]
    writer = Writer(manager.client, name, manager.stopping)
    manager.add(Controller("writer", writer, workers=len(requests)).every(3600.0, lambda: requests))
    stop = Stop(host)
    try:
        with stop_on_signals(host, stop):
            manager.run(stop)
    except LeadershipLost:
        return LOST
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
