# SPDX-License-Identifier: Apache-2.0
"""A reconciler that notes its requests, and all that a controller needs to start without a manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import attrs

from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer


@attrs.frozen
class Noting(Reconciler):
    """Notes its requests."""

    seen: list[str] = attrs.field(factory=list)
    extra: Callable[[], Result] = Result

    def reconcile(self, request: Request) -> Result:
        self.seen.append(str(request))
        return self.extra()


@attrs.frozen
class Bench:
    """A server, a client, informers, and the stops of the informers and of the controller."""

    sim: Simulation
    host: SimulatedHost
    client: Client
    informers: Informers
    stop: Stop
    informers_stop: Stop

    @classmethod
    def on(cls, sim: Simulation) -> Self:
        host = sim.host("r0")
        transport = InProcessTransport(host, APIServer(host))
        return cls(sim, host, Client(host, transport), Informers(host, transport), Stop(host), Stop(host, "informers"))

    def end(self) -> None:
        self.stop.set()
        self.informers_stop.set()
        self.sim.settle()

    def create(self, *names: str) -> None:
        for name in names:
            self.client.create(NODES, {"metadata": {"name": name}})

    def annotate(self, name: str, zone: str) -> None:
        self.client.patch(NODES, ObjectKey(name), {"metadata": {"annotations": {"zone": zone}}})

    def start(self, controller: Controller) -> None:
        controller.prepare(self.informers)
        self.informers.start(self.informers_stop)
        self.informers.wait_for_sync(self.stop, 10.0)
        controller.start(self.host, self.informers, self.stop, self.host.monotonic() + 10.0)
        self.sim.settle()
