# SPDX-License-Identifier: Apache-2.0
"""A replica of a ring as a process: it writes its name into each node that it owns, ten times a second.

`python ring_replica.py KUBECONFIG NAME LEASE DEADLINE RETRY`; its requests carry the name as `test (NAME)`.
"""

from __future__ import annotations

import sys

import attrs

from controller_runtime import (
    Client,
    Controller,
    Manager,
    Reconciler,
    Request,
    Result,
    RingBy,
    Stop,
    SystemHost,
    stop_on_signals,
)
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.resources import NODES


@attrs.frozen
class Signer(Reconciler):
    """Writes its name over any earlier value, naming no version: a second owner would show."""

    client: Client
    name: str

    def reconcile(self, request: Request) -> Result:
        self.client.patch(NODES, request, {"metadata": {"annotations": {"signed": self.name}}})
        return Result(requeue_after=0.1)


def main(kubeconfig: str, name: str, lease: str, deadline: str, retry: str) -> None:
    host = SystemHost(name)
    manager = Manager(host, HTTPTransport(host, from_kubeconfig(kubeconfig)))
    ring = manager.ring(
        "signers",
        RingBy.NAME,
        identity=name,
        lease_duration=float(lease),
        renew_deadline=float(deadline),
        retry_period=float(retry),
    )
    nodes = manager.lister(NODES, dict)
    signer = ring.shared(Signer(manager.client, name))
    # Its own writes are no reason to write again.
    controller = Controller("signer", signer, workers=4).watch(NODES, lambda delta: delta.old is None)
    manager.add(controller.receive(ring.requests(nodes)))
    stop = Stop(host)
    with stop_on_signals(host, stop):
        manager.run(stop)


if __name__ == "__main__":
    main(*sys.argv[1:])
