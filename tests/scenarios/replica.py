# SPDX-License-Identifier: Apache-2.0
"""A replica as a process: while it leads it writes to one object as fast as it is asked to, ten times a second.

`python replica.py KUBECONFIG NAME [LEASE DEADLINE RETRY]`; it exits with 3 once it has lost the leadership.
"""

from __future__ import annotations

import signal
import sys

import attrs

from controller_runtime import (
    NODES,
    Client,
    Controller,
    LeaderElectionConfig,
    LeadershipLost,
    Manager,
    Reconciler,
    Request,
    Result,
    Stop,
    SystemHost,
)
from controller_runtime.client.configuration import from_kubeconfig
from controller_runtime.client.http import HTTPTransport

LOST = 3
WRITTEN = Request("written")


@attrs.frozen
class Writer(Reconciler):
    """Writes its name, whatever there is."""

    client: Client
    name: str

    def reconcile(self, request: Request) -> Result:
        self.client.patch(NODES, request, {"metadata": {"annotations": {"writer": self.name}}})
        return Result()


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
    manager.add(Controller("writer", Writer(manager.client, name)).every(0.1, lambda: [WRITTEN], jitter=0.0))
    stop = Stop(host)
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    try:
        manager.run(stop)
    except LeadershipLost:
        return LOST
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
