# SPDX-License-Identifier: Apache-2.0
"""A replica of the trial of `ring_trial.py`: it notes each effect with its fencing token, then signs the node.

`python ring_trial_replica.py KUBECONFIG NAME LOG LEASE DEADLINE RETRY`; its requests carry the name as `test (NAME)`.
"""

from __future__ import annotations

import sys
from typing import TextIO

import attrs

from controller_runtime import (
    Client,
    Controller,
    Host,
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
from controller_runtime.ring.ring import Ring

SIGNED = "signed"
"""The annotation with the name, when the reconcile began, and the numbers of the token, as the judge reads it."""


@attrs.frozen
class Signer(Reconciler):
    """Notes the effect outside of the cluster, and writes over any earlier value, naming no version."""

    host: Host
    ring: Ring
    client: Client
    name: str
    log: TextIO

    def reconcile(self, request: Request) -> Result:
        incarnation, epoch = self.ring.token().order
        begun = f"{self.host.now().timestamp():.6f}"
        self.log.write(f"{begun} {request.name} {incarnation} {epoch}\n")
        signed = {SIGNED: f"{self.name} {begun} {incarnation} {epoch}"}
        self.client.patch(NODES, request, {"metadata": {"annotations": signed}})
        return Result(requeue_after=0.5)


def main(kubeconfig: str, name: str, path: str, *times: str) -> None:
    """Run the replica until it is signalled."""
    host = SystemHost(name)
    manager = Manager(host, HTTPTransport(host, from_kubeconfig(kubeconfig)))
    lease, deadline, retry = map(float, times)
    ring = manager.ring("trial", RingBy.NAME, lease_duration=lease, renew_deadline=deadline, retry_period=retry)
    nodes = manager.lister(NODES, dict)
    with open(path, "a", buffering=1, encoding="utf-8") as log:
        signer = ring.shared(Signer(host, ring, manager.client, name, log))
        # Its own writes are no reason to write again.
        controller = Controller("signer", signer, workers=2).watch(NODES, lambda delta: delta.old is None)
        manager.add(controller.receive(ring.requests(nodes)))
        stop = Stop(host)
        with stop_on_signals(host, stop):
            manager.run(stop)


if __name__ == "__main__":
    main(*sys.argv[1:])
